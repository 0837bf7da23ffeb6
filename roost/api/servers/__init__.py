"""Servers, and what is done to them.

``servers.py`` answers first: show, update, addresses, topology. ``create.py`` accepts a boot
(``scheduler_hints``, ``block_devices``, ``guest_config`` and ``networking`` judge its parts),
``lists.py`` pages over cells, ``delete.py`` ends a server or soft-deletes it. ``actions.py`` is
the table of actions; ``tasks.py`` begins one on a host by compare and swap, ``rebuild.py``,
``images.py`` and ``consoles.py`` are those with more to say. ``host_calls.py`` asks hosts, with a
bound. ``policies.py``, ``schemas.py`` and ``views.py`` are shared by all of these; the other
modules (tags, metadata, interfaces, locks, ...) have their own.

Knows networks by ``roost/api/networking/driver.py``, images by ``roost/image/driver.py``.
"""
