"""A simulated hypervisor: for the embedded rig, tests and chaos runs.

``driver.py`` stores guests as files, so that a killed host finds them again; ``faults.py`` delays
or fails steps on demand, ``inventory.py`` is the simulated hardware, ``console.py`` and
``migration.py`` simulate consoles and live migrations.
"""
