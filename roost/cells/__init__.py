"""Cells as those above them see them: a database, a bus and the hosts on it.

Used by what stands outside all cells: api, super-conductor, roost-manage. A cell that is away costs
them one bounded wait, then nothing; and mostly not that, since somebody looks at them before.
"""

from roost.cells.breaker import CallLimits
from roost.cells.cell import Cell
from roost.cells.registry import Cells, Watch

__all__ = ["CallLimits", "Cell", "Cells", "Watch"]
