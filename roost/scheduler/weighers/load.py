"""How much goes on at a host, how well it went lately, and how new its hypervisor is."""

from collections.abc import Hashable
from typing import ClassVar, Final

from roost.scheduler.columns import Columns, Floats, Ints
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher


class _LoadWeigher(Weigher):
    """The more there are, the nearer to 1; ``half`` of them weigh a half."""

    half: ClassVar[int]

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        counts = self.count(hosts)
        weights: Floats = counts / (counts + self.half)
        return weights

    def count(self, hosts: Columns) -> Ints:
        """Return how many there are."""
        raise NotImplementedError


class NumInstancesWeigher(_LoadWeigher):
    """Prefers hosts with many instances; with a negative multiplier, those with few."""

    name = "num_instances"
    by_usage = True
    half = 50

    def count(self, hosts: Columns) -> Ints:
        return hosts.used_of("instances")


class IoOpsWeigher(_LoadWeigher):
    """Prefers busy hosts; with a negative multiplier, which is what is wanted, quiet ones."""

    name = "io_ops"
    half = 8

    def count(self, hosts: Columns) -> Ints:
        return hosts.io_operations


class BuildFailureWeigher(_LoadWeigher):
    """Holds the builds that failed in a row last against a host."""

    name = "build_failure"
    half = 1

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        return -super().weigh(request, hosts)

    def count(self, hosts: Columns) -> Ints:
        return hosts.failed_builds


_HALF: Final = 10_000_000  # version 10.0.0


class HypervisorVersionWeigher(Weigher):
    """Prefers hosts with a newer hypervisor: for upgrades that live with old hosts for a while."""

    name = "hypervisor_version"

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        versions = hosts.number_by_profile(lambda profile: profile.hypervisor_version)
        return versions / (versions + _HALF)
