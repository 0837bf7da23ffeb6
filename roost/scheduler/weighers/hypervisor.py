"""Newer hypervisors."""

from collections.abc import Hashable
from typing import Final

from roost.scheduler.columns import Columns, Floats
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher

_HALF: Final = 10_000_000  # version 10.0.0


class HypervisorVersionWeigher(Weigher):
    """Prefers hosts with a newer hypervisor: for upgrades that live with old hosts for a while."""

    name = "hypervisor_version"

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        versions = hosts.number_by_profile(lambda profile: profile.hypervisor_version)
        return versions / (versions + _HALF)
