"""The history of the scheduler's database. Tables of today: ``db/scheduler/models.py``."""
