"""A cell's database (cell0's, too): its instances and all that belongs to them.

``models.py`` has the tables; ``instances.py`` changes rows by compare and swap, ``leases.py`` says
whose work a task is, ``builds.py`` a build; ``actions.py`` and ``faults.py`` are what users read
of both; ``services.py`` are the daemons of the cell and their heartbeats.
"""
