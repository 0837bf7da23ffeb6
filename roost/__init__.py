"""Roost: a compute control plane that asks cells of hosts to run servers.

``cmd/`` assembles the daemons; they communicate by the interfaces of ``rpc/``. A boot goes
through ``api/servers/create.py``, ``conductor/super/boot_service.py``, ``scheduler/``,
``conductor/super/boot.py``, ``compute/operations/build.py``, and
``conductor/cell/operations/builds.py`` where a host fails. All SQL is in ``db/``, the values sent
over the bus are in ``objects/``; what can be done to a server, and the moves between its states,
are in ``operations/``. A package imports only from the layers below it: ``setup.cfg`` lists them,
from ``rig`` at the top to ``context.py`` and ``exception.py``.
"""

from typing import Final

__version__: Final = "0.1.0"
