"""Where a guest gets its interfaces from: the driver interface, and who speaks it."""
