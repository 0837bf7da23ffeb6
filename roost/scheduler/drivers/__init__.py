"""Scheduler drivers, which choose hosts: their interface, and one module per kind.

``filter.py`` has the default, which places one instance after the other, and chance; ``solver.py``
places the instances of one request together. ``[scheduler] driver`` names one,
``scheduler/plugins.py`` makes it with the configured filters and weighers. Drivers get values of
``scheduler`` and do no I/O.
"""

from typing import Protocol, Self

from roost.scheduler.engine import Decision, Engine
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request


class Driver(Protocol):
    """Chooses hosts by the configured filters and weighers; does no I/O."""

    engine: Engine
    """The filters and weighers, for explanations."""

    def twin(self) -> Self:
        """Return an equal driver that shares no state."""
        ...

    def decide(self, request: Request, hosts: HostColumns) -> Decision:
        """Choose a host for each instance without one, all or none.

        The instances' resources are taken from ``hosts``: :func:`roost.scheduler.engine.take`.
        """
        ...

    def why_not(self, request: Request, hosts: HostColumns, row: int) -> str | None:
        """Return why one host cannot take an instance of the request now; None: it can."""
        ...
