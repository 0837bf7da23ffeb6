"""Operations on existing guests.

``runner.py`` runs each kind of operation (``roost/operations/kinds.py``), ``operation.py`` is one
at work; ``power.py``, ``rebuild.py`` and ``snapshot.py`` have their steps. ``delete.py`` destroys
guests, ``interfaces.py`` attaches and detaches interfaces, ``consoles.py`` serves console logs and
remote consoles.
"""
