"""Servers, and what is done to them; ``servers.py`` has the class that answers first."""
