"""Capacity planning: simulates a fleet under a recorded stream of VMs, with the real scheduler.

A *trace* has the arrivals, departures and sizes of VMs, an *inventory* the hosts. A *replay* places
one VM after the other with a driver; its *course* is the use of the hosts over time, and the
*report* has a few figures of the course; each is a module of that name. ``study.py`` compares
several drivers and is the entry point of ``roost-manage placement simulate``; ``plot.py`` draws,
``amounts.py`` rounds.

Pure functions: no database, no options, and no clock except to measure the speed.
"""
