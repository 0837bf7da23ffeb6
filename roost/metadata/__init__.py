"""roost-metadata: serves metadata to guests over HTTP, at 169.254.169.254.

``app.py`` serves, ``identity.py`` identifies the guest that sends a request, ``guests.py`` reads it
from its cell, ``documents.py`` makes its documents with ``roost.guestdata``.

May import ``cells``, ``guestdata``, ``db`` and below.
"""
