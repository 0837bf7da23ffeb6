"""Roost: a compute control plane that asks cells of hosts to run servers.

The daemons are put together in ``cmd/`` and talk by the interfaces of ``rpc/``. A boot goes
through ``api/servers/create.py``, ``conductor/super/boot.py``, ``scheduler/``,
``compute/build.py``, and ``conductor/cell/reschedule.py`` where a host fails. All SQL is in
``db/``, what crosses the wire in ``objects/``, what may follow what in ``states.py``. A room
imports only from the floors below it: ``setup.cfg`` has them, from ``rig`` at the top to
``context.py`` and ``exception.py``.
"""
