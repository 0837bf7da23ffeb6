"""Which daemons of a cell are alive.

``driver.py`` is the seam (entry points ``roost.servicegroup``); ``db.py`` are heartbeats in the
cell's database, ``tooz.py`` groups of Redis, etcd, ZooKeeper or memcached. Imports no database:
who has one hands it in.
"""
