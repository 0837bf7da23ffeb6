"""Service groups: which daemons of a cell are alive.

``driver.py`` is the plug-in interface (entry points ``roost.servicegroup``); ``db.py`` uses
heartbeats in the cell's database, ``tooz.py`` groups in Redis, etcd, memcached or files.
Imports no database: callers pass the services.
"""
