"""The default driver: what passes every filter, best weight first."""

from collections.abc import Sequence

from roost.scheduler import engine
from roost.scheduler.filters import Filter
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weighing


class FilterDriver:
    """Greedy: places one instance after the other on the host that is best by then."""

    def __init__(self, *, filters: Sequence[Filter], weighers: Sequence[Weighing]) -> None:
        self._filters = filters
        self._weighers = weighers
        self.guards: frozenset[str] = frozenset().union(*(each.guards for each in filters))

    def decide(self, request: Request, hosts: Hosts) -> engine.Decision:
        return engine.decide(request, hosts, filters=self._filters, weighers=self._weighers)
