"""A cell's database: its instances and all that belongs to them."""
