"""The cell-conductor. It reads and writes the database of its cell and no other.

``manager.py`` serves the RPC interface for hosts; ``builds.py`` begins and ends builds,
``reschedule.py`` takes the next alternate, ``operations/`` takes operations to their end,
``guest_reports.py`` writes what guests did by themselves, ``liveness.py`` reports to schedulers
which hosts are up, ``sweeper.py`` takes up builds and operations whose lease has expired.

Never imports ``roost.db.api`` or ``roost.cells``: import-linter keeps that.
"""
