"""What flavors and images ask of a host: their words and values, and what these come to."""
