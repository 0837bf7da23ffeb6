"""The history of a cell's database (cell0 included)."""
