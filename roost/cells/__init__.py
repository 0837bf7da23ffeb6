"""Cells as the API level sees them: a database, a bus and the hosts on it.

Used by api, super-conductor and roost-manage. An unavailable cell costs them at most one bounded
wait, usually none, since cells are probed. ``registry.py`` opens cells by their mappings,
``cell.py`` is one cell and the operations in it, ``host_breakers.py`` guards the calls to hosts,
``security_groups.py`` copies security groups into cells.

May import ``rpc``, ``db`` and below; never ``api`` or ``conductor``.
"""

from roost.cells.cell import CallLimits, Cell
from roost.cells.registry import Cells

__all__ = ["CallLimits", "Cell", "Cells"]
