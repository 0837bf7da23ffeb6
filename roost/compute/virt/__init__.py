"""What runs the guests.

``driver.py`` is the seam (entry points ``roost.compute.virt``): a core that every driver has, and
small protocols for what only some can; to have one is the capability. ``live_migration.py`` is the
seam of guests that change hosts while they run, ``capabilities.py`` tells the scheduler what a
driver can, as traits. ``fake/`` pretends, ``libvirt/`` is real. Drivers know objects and their own
options, neither RPC nor databases nor schedulers.
"""
