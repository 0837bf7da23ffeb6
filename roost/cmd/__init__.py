"""One file per daemon and tool: reads options, puts the parts together, runs them.

Open the daemon's file (``api.py``, ``super_conductor.py``, ``cell_conductor.py``,
``scheduler.py``, ``compute.py``, ``metadata.py``, ``consoleproxy.py``): its ``build`` is the whole
object graph. ``_parts.py`` makes what several have, ``_daemon.py`` is a running daemon,
``_waiting.py`` what it waits for before it serves, ``_run.py`` the process, signals and systemd;
``_http.py`` and ``_granian.py`` are the servers of HTTP. ``manage/`` is roost-manage.

May import every room but ``rig``; nothing but ``rig`` and tests imports it.
"""
