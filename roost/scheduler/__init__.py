"""Places instances, and nothing else. Others know ``client.py`` only; the rest is the service."""
