"""What each daemon offers over the bus, declared once; and the bus itself."""
