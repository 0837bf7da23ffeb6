"""The cell-conductor. It reads and writes the database of its cell and no other.

``manager.py`` serves the RPC interface for hosts; ``operations/`` takes operations to their end,
builds among them; ``interfaces.py`` changes what ports instances have, ``guest_reports.py`` writes
what guests did by themselves, ``liveness.py`` reports to schedulers which hosts are up,
``sweeper.py`` takes up operations whose lease has expired.

Never imports ``roost.db.api`` or ``roost.cells``: import-linter keeps that.
"""
