"""Keeps new servers off hosts under maintenance."""

from collections.abc import Collection
from typing import Any, Self

from oslo_config import cfg

from roost.scheduler.columns import HostView
from roost.scheduler.filters import HostFilter
from roost.scheduler.request import Request

OPTIONS = [
    cfg.ListOpt(
        "maintenance_hosts",
        default=[],
        help="Filter maintenance: names of hosts that get no new servers for now.",
    ),
]


class MaintenanceFilter(HostFilter):
    """Refuses the hosts that the option names."""

    name = "maintenance"

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = frozenset(hosts)

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(options.maintenance_hosts)

    def applies_to(self, request: Request) -> bool:
        return bool(self._hosts)

    def why_not(self, request: Request, host: HostView) -> str | None:
        return "under maintenance" if host.host in self._hosts else None


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Groups and their options."""
    return [("scheduler", OPTIONS)]
