"""Networks of the local driver for real guests: a Linux bridge each, on hosts of libvirt.

What there is on a host follows from the records of what its guests are plugged into (``ports.py``),
and from nothing else: ``driver.py`` keeps those and has each network be as they say, ``segment.py``
knows what belongs to one. ``dhcp.py`` gives addresses, ``metadata.py`` leads guests to
roost-metadata, ``filters.py`` and ``firewall.py`` say what may pass; ``system.py`` runs the
commands. All of it may be done again at any time.
"""
