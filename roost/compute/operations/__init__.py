"""What this host does for its servers.

``operation_queue.py`` gives each operation its turn. ``build.py`` builds; ``runner.py`` runs all
other kinds (``roost/operations/kinds.py``), ``operation.py`` is one at work; ``power.py``,
``rebuild.py`` and ``snapshot.py`` have their steps. ``delete.py`` destroys guests,
``interfaces.py`` attaches and detaches interfaces, ``consoles.py`` serves console logs and remote
consoles.
"""
