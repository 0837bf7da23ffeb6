"""Operations on existing guests: a module per kind of operation.

``tasks.py`` runs rebuild, rescue, image and password tasks, ``power.py`` power actions;
``rebuild.py`` and ``snapshot.py`` have the steps of theirs. ``delete.py`` destroys guests,
``interfaces.py`` attaches and detaches interfaces, ``consoles.py`` serves console logs and remote
consoles.
"""
