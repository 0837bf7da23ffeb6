"""What each daemon offers over the bus, declared once; and the bus itself.

``interface.py`` makes clients and servers of a declaration; ``compute.py``, ``cell_conductor.py``,
``super_conductor.py`` and ``scheduler.py`` are the declarations. ``transport.py`` is a bus by
oslo.messaging, ``server.py`` serves an interface on it, ``consumer_check.py`` finds out whether it
still gets messages, ``access.py`` who may call what. ``oslo_driver.py`` is what must be known of
oslo.messaging's inside, in one place.

May import ``objects`` and below: no databases.
"""
