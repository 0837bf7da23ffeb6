"""What the conductors of a cell do. They read and write its database and no other.

``manager.py`` is the table of contents of what hosts may ask; ``builds.py`` begins and ends
builds, ``reschedule.py`` takes the next alternate, ``task_outcomes.py`` takes in how actions
ended, ``delete.py`` ends deletes, ``liveness.py`` reports to schedulers which hosts are up,
``sweeper.py`` takes up whatever lost its worker.

Never imports ``roost.db.api`` or ``roost.cells``: import-linter keeps that.
"""
