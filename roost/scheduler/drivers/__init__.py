"""How hosts are chosen: the interface of drivers, and one module per way to choose.

``filter.py`` has the default, which places one instance after the other, and chance; ``solver.py``
places the many instances of one request together. ``[scheduler] driver`` names one,
``scheduler/plugins.py`` makes it with the filters and weighers in force. Drivers see values of
``scheduler`` and open nothing.
"""

from typing import Protocol, Self

from roost.scheduler.engine import Decision, Engine
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request


class Driver(Protocol):
    """Chooses hosts. Made with the filters and weighers in force; gets values, opens nothing."""

    engine: Engine
    """The filters and weighers, for those who explain."""

    def twin(self) -> Self:
        """Return the same driver, with no memory in common."""
        ...

    def decide(self, request: Request, hosts: HostColumns) -> Decision:
        """Choose a host for each instance without one, all or none.

        What the chosen hosts give is taken from ``hosts``: :func:`roost.scheduler.engine.take`.
        """
        ...

    def why_not(self, request: Request, hosts: HostColumns, row: int) -> str | None:
        """Return why one host cannot take an instance of the request now; None: it can."""
        ...
