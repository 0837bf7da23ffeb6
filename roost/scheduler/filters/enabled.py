"""Hosts that take nothing now."""

from collections.abc import Hashable

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Refusal
from roost.scheduler.filters.demands import DemandsFilter
from roost.scheduler.request import Request


class EnabledFilter(DemandsFilter):
    """Refuses hosts that an operator closed, and those that are down."""

    name = "enabled"

    def key(self, request: Request) -> Hashable:
        return None

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [Refusal("disabled", ~hosts.enabled), Refusal("down", ~hosts.up)]
