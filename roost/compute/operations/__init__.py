"""What is done to a guest that is there, a module per kind of thing."""
