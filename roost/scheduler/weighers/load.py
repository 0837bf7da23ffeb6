"""Weighers by the number of instances and operations, failed builds, and hypervisor version."""

from collections.abc import Hashable
from typing import ClassVar, Final

from roost.scheduler.columns import Columns, Floats, Ints
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher


class _LoadWeigher(Weigher):
    """Weighs a count: 0 gives 0, ``half`` gives 0.5, more approaches 1."""

    half: ClassVar[int]

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        counts = self.count(hosts)
        weights: Floats = counts / (counts + self.half)
        return weights

    def count(self, hosts: Columns) -> Ints:
        """Return the count of each host."""
        raise NotImplementedError


class NumInstancesWeigher(_LoadWeigher):
    """Prefers hosts with many instances; with a negative multiplier, those with few."""

    name = "num_instances"
    by_usage = True
    half = 50

    def count(self, hosts: Columns) -> Ints:
        return hosts.instances


class IoOpsWeigher(_LoadWeigher):
    """Prefers busy hosts; with a negative multiplier, the usual one, idle hosts."""

    name = "io_ops"
    half = 8

    def count(self, hosts: Columns) -> Ints:
        return hosts.io_operations


class BuildFailureWeigher(_LoadWeigher):
    """Prefers hosts with fewer failed builds since the last success."""

    name = "build_failure"
    half = 1

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        return -super().weigh(request, hosts)

    def count(self, hosts: Columns) -> Ints:
        return hosts.failed_builds


_HALF: Final = 10_000_000  # version 10.0.0


class HypervisorVersionWeigher(Weigher):
    """Prefers hosts with a newer hypervisor, for clouds during an upgrade."""

    name = "hypervisor_version"

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        versions = hosts.number_by_profile(lambda profile: profile.hypervisor_version)
        return versions / (versions + _HALF)
