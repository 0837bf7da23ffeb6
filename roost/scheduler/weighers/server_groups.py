"""Weighers by server groups with soft affinity or soft anti-affinity."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from roost.scheduler.columns import Columns, Floats
from roost.scheduler.filters import ASK_AGAIN
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher


class _GroupWeigher(Weigher):
    """Weighs the members on a host, as a share of those on the host with the most."""

    policy: ClassVar[str]
    sign: ClassVar[int]

    def applies_to(self, request: Request) -> bool:
        group = request.spec.group
        return group is not None and group.policy == self.policy

    def key(self, request: Request) -> Hashable:
        return ASK_AGAIN

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        most = max(request.group_counts.values(), default=0)
        if not most:
            return np.zeros(len(hosts))
        counts = hosts.numbers_at(request.group_counts).astype(np.float64)
        return counts * (self.sign / most)


class SoftAffinityWeigher(_GroupWeigher):
    """Prefers hosts with many members."""

    name, policy, sign = "soft_affinity", "soft-affinity", 1


class SoftAntiAffinityWeigher(_GroupWeigher):
    """Prefers hosts with few members."""

    name, policy, sign = "soft_anti_affinity", "soft-anti-affinity", -1
