"""What drivers have in common that leave filters and weighers to the engine."""

from collections.abc import Sequence
from typing import Any, Self

from roost.scheduler.decision import Decision
from roost.scheduler.engine import Engine
from roost.scheduler.filters import AnyFilter
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weighing


class GreedyDriver:
    """Places one instance after the other, each on what is best by then."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def from_options(
        cls, options: Any, *, filters: Sequence[AnyFilter], weighers: Sequence[Weighing]
    ) -> Self:
        """Make the driver of ``[scheduler]`` and of the plug-ins that it names."""
        return cls(Engine(filters, weighers, best_of=options.best_of))

    def twin(self) -> Self:
        return type(self)(self.engine.twin())

    def decide(self, request: Request, hosts: Hosts) -> Decision:
        return self.engine.decide(request, hosts)

    def why_not(self, request: Request, hosts: Hosts, row: int) -> str | None:
        return self.engine.why_not(request, hosts, row)
