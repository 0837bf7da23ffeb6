"""The RPC interfaces of all daemons, each declared once; and the message bus.

``interface.py`` makes clients and servers from a declaration; ``compute.py``,
``cell_conductor.py``, ``super_conductor.py`` and ``scheduler.py`` are the declarations.
``transport.py`` is a bus on oslo.messaging, ``server.py`` serves an interface on it,
``consumer_check.py`` checks that a server still receives messages, ``access.py`` checks callers.
``oslo_driver.py`` is the only module that uses private parts of oslo.messaging.

May import ``objects`` and below: no databases.
"""
