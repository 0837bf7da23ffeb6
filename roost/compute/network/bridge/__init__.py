"""Networks of the local driver for real guests: a Linux bridge each, on hosts of libvirt.

What there is on a host follows from the records of what its guests are plugged into, and from
nothing else: ``driver.py`` keeps those and has each network be as they say, ``segment.py`` knows
what belongs to one. All of it may be done again at any time.
"""
