"""A hypervisor that only pretends: for the embedded rig, tests and chaos runs.

``driver.py`` keeps guests as files, so that a killed host finds them again; ``faults.py`` makes it
slow or fail as options say, ``inventory.py`` is the hardware it pretends to have, ``console.py``
and ``migration.py`` its consoles and moves.
"""
