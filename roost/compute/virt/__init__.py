"""What runs the guests: the driver interface, and who speaks it."""
