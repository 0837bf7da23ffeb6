"""One module per daemon and tool: reads options, assembles the parts, runs them.

Open the daemon's file (``api.py``, ``super_conductor.py``, ``cell_conductor.py``,
``scheduler.py``, ``compute.py``, ``metadata.py``, ``consoleproxy.py``): its ``build`` is the whole
object graph. ``_parts.py`` makes common parts, ``_database.py`` a daemon's own database;
``_daemon.py`` is a running daemon, ``_waiting.py`` its startup checks, ``_run.py`` the process,
signals and systemd; ``_http.py`` and ``_granian.py`` are the HTTP servers.
``manage/`` is roost-manage.

May import every package but ``rig``; nothing but ``rig`` and tests imports it.
"""
