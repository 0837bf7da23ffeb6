"""Filters by the state of hosts: disabled, down, at a limit, or without a needed metric."""

from collections.abc import Collection, Hashable
from typing import Any, ClassVar, Self

import numpy as np

from roost.objects.report_parts import metric
from roost.scheduler.columns import Columns, Floats, Ints, Membership
from roost.scheduler.filters import Filter, Miss, Refusal, RequirementsFilter
from roost.scheduler.request import Request
from roost.scheduler.weighers.metrics import ratios_of


class EnabledFilter(RequirementsFilter):
    """Refuses hosts that are disabled or down, or of which nothing is known."""

    name = "enabled"

    def key(self, request: Request) -> Hashable:
        return None

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal("disabled", ~hosts.enabled),
            Refusal("down", ~hosts.up),
            Refusal("what is stored of it cannot be read", ~hosts.readable),
        ]


class _LoadFilter(Filter):
    """Refuses hosts where a count has reached its limit.

    :param most: the limit; aggregate metadata of the option's name, of several the smallest,
        replaces it
    """

    option: ClassVar[str]
    reason: ClassVar[str]
    things: ClassVar[str]

    def __init__(self, *, most: int) -> None:
        self._most = most

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(most=getattr(options, cls.option))

    def key(self, request: Request) -> Hashable:
        return None

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [Refusal(self.reason, self.count(hosts) >= self._limits(hosts))]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        counts, limits = self.count(hosts), self._limits(hosts)
        row = int((counts - limits).argmin())
        most = int(limits if isinstance(limits, int) else limits[row])
        return Miss(row, f"{counts[row]} {self.things}, at most {most}")

    def count(self, hosts: Columns) -> Ints:
        """Return the count of each host."""
        raise NotImplementedError

    def _limits(self, hosts: Columns) -> int | Floats:
        if not hosts.shared.says(self.option):
            return self._most

        def limit(membership: Membership) -> float:
            own = membership.smallest(self.option)
            return self._most if own is None else own

        return hosts.number_by_membership(limit)


class NumInstancesFilter(_LoadFilter):
    """Limits the number of instances."""

    name = "num_instances"
    by_usage = True
    option = "max_instances_per_host"
    reason, things = "too many instances", "instances"

    def count(self, hosts: Columns) -> Ints:
        return hosts.instances


class IoOpsFilter(_LoadFilter):
    """Limits concurrent I/O operations such as builds, as the host last reported them."""

    name = "io_ops"
    option = "max_io_ops_per_host"
    reason, things = "too many operations under way", "operations under way"

    def count(self, hosts: Columns) -> Ints:
        return hosts.io_operations


class MetricsFilter(RequirementsFilter):
    """Refuses hosts that lack one of the metrics."""

    name = "metrics"

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = sorted(names)
        self.reads = [metric(each) for each in self._names]

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
