"""The history of the API-level database. Tables of today: ``db/api/models.py``."""
