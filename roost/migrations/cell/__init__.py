"""The history of a cell's database (cell0 included). Tables of today: ``db/cell/models.py``."""
