"""What the conductors of a cell do: they read its database and no other."""
