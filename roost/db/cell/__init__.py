"""A cell's database (cell0's, too): its instances and all that belongs to them.

``models.py`` has the tables; ``instances.py`` changes rows by compare and swap, ``operations.py``
has what is under way, with its leases; ``actions.py`` and ``faults.py`` have what users read of
both; ``services.py`` has the daemons of the cell and their heartbeats.
"""
