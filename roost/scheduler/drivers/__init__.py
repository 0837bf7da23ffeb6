"""How hosts are chosen: the interface of drivers, each in its own module."""

from typing import Protocol

from roost.scheduler.engine import Decision
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request


class Driver(Protocol):
    """Chooses hosts. Made with the filters and weighers in force; gets values, changes nothing."""

    guards: frozenset[str]
    """What a commit must check again of each host that it gives an instance to: ``enabled``, and
    the resources that may not be oversubscribed."""

    def decide(self, request: Request, hosts: Hosts) -> Decision:
        """Choose a host for each instance without one, all or none; must not change ``hosts``."""
        ...
