"""Hosts that take nothing now."""

from roost.scheduler.filters import Refusal
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request


class EnabledFilter:
    """Refuses hosts that an operator closed, and those that have gone silent."""

    name = "enabled"
    guards = ("enabled",)

    def applies_to(self, request: Request) -> bool:
        return True

    def refuse(self, request: Request, hosts: Hosts) -> list[Refusal]:
        return [
            Refusal("disabled", ~hosts.enabled),
            Refusal("down", hosts.reported_at < request.alive_since),
        ]
