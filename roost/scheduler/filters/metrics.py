"""Hosts that do not measure what the metrics weigher looks at."""

from collections.abc import Collection, Hashable
from typing import Any, Self

import numpy as np

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Refusal
from roost.scheduler.filters.demands import DemandsFilter
from roost.scheduler.request import Request
from roost.scheduler.weighers.metrics import ratios_of


class MetricsFilter(DemandsFilter):
    """Refuses hosts that lack one of the metrics."""

    name = "metrics"

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = sorted(names)

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(ratios_of(options))

    def applies_to(self, request: Request) -> bool:
        return bool(self._names)

    def key(self, request: Request) -> Hashable:
        return None

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal(f"does not measure {name}", np.isnan(hosts.metric(name)))
            for name in self._names
        ]
