"""roost-metadata: tells guests of themselves over HTTP, at 169.254.169.254.

``app.py`` serves, ``identity.py`` learns which guest asks, ``guests.py`` reads it from its cell,
``documents.py`` makes what it reads, by ``roost.guestdata``.

May import ``cells``, ``guestdata``, ``db`` and below.
"""
