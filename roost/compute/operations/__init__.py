"""What a host does to a guest that is there: a module per kind of operation.

``tasks.py`` runs rebuild, rescue, image and password, ``power.py`` power actions; ``rebuild.py``
and ``snapshot.py`` are the steps of theirs. ``delete.py`` ends guests, ``interfaces.py`` attaches
and detaches, ``consoles.py`` shows what a guest says and leads people to it.
"""
