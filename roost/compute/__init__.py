"""One host: builds and ends its guests, and reports what it has. Reaches data only by its cell."""
