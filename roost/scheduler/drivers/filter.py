"""The drivers that only use the engine's filters and weighers: the default one, and chance.

Chance takes any host that passes every filter: the baseline for comparisons.
"""

import sys
from collections.abc import Sequence
from typing import Any, Self

from roost.scheduler.engine import Decision, Engine
from roost.scheduler.filters import AnyFilter
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weighing


class GreedyDriver:
    """Places one instance after the other, each on the best host at that moment."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def from_options(
        cls, options: Any, *, filters: Sequence[AnyFilter], weighers: Sequence[Weighing]
    ) -> Self:
        """Make the driver from the options ``[scheduler]`` and the plug-ins that they name."""
        return cls(Engine(filters, weighers, best_of=options.best_of))

    def twin(self) -> Self:
        return type(self)(self.engine.twin())

    def decide(self, request: Request, hosts: HostColumns) -> Decision:
        return self.engine.decide(request, hosts)

    def why_not(self, request: Request, hosts: HostColumns, row: int) -> str | None:
        return self.engine.why_not(request, hosts, row)


class FilterDriver(GreedyDriver):
    """The default driver: greedy."""


class ChanceDriver(GreedyDriver):
    """Chooses at random among the hosts that pass."""

    @classmethod
    def from_options(
        cls,
        options: Any,  # noqa: ARG003 - the same for all drivers
        *,
        filters: Sequence[AnyFilter],
        weighers: Sequence[Weighing],  # noqa: ARG003
    ) -> Self:
        return cls(Engine(filters, (), best_of=sys.maxsize))
