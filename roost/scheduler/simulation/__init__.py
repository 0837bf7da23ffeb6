"""Capacity planning: what a recorded stream of VMs would make of a fleet, decided as in earnest.

A *trace* says when VMs come and go and what they take, an *inventory* which hosts there are. A
*replay* places one after the other with a driver; its *course* is what followed from that over
time, and the *report* is the course in a few figures; each is a module of that name. ``study.py``
compares several ways to place and is the way in for ``roost-manage placement simulate``;
``plot.py`` draws, ``amounts.py`` rounds.

Values in, values out: no database, no options, no clock but the one that counts how fast it went.
"""
