"""Which daemons of a cell are alive: the interface, heartbeats in a database, groups by tooz."""
