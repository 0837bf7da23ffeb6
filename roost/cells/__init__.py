"""Cells as those above them see them: a database, a bus and the hosts on it.

Used by what stands outside all cells: api, super-conductor, roost-manage. A cell that is
unavailable costs them one bounded wait, then nothing; mostly not that, since ``registry.Watch``
probes cells. ``registry.py`` opens cells by their mappings, ``cell.py`` is one of them and what is
done in it, ``limits.py`` bounds who waits for its hosts, ``security_groups.py`` copies groups into
it.

May import ``rpc``, ``db`` and below; never ``api`` or ``conductor``.
"""

from roost.cells.cell import CallLimits, Cell
from roost.cells.registry import Cells, Watch

__all__ = ["CallLimits", "Cell", "Cells", "Watch"]
