"""The ``bridge`` network driver: local networks for real guests on libvirt, a Linux bridge each.

The state of a host follows only from the records of its guests' ports (``ports.py``): ``driver.py``
writes those and applies them to each network, ``segment.py`` has the devices of a network.
``dhcp.py`` serves addresses, ``metadata.py`` proxies requests of guests to roost-metadata,
``filters.py`` and ``firewall.py`` apply security groups; ``system.py`` runs the commands. Every
operation may be repeated at any time.
"""
