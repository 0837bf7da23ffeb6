"""Leads browsers to consoles of servers: roost-consoleproxy is made of this."""
