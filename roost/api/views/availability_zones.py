"""Availability zones as JSON."""

from collections.abc import Iterable
from typing import Any

from roost.api.views.base import micros
from roost.api.views.services import COMPUTE
from roost.objects import HostReport


def brief(hosts: Iterable[HostReport]) -> dict[str, Any]:
    """Return the zones; one is available when any of its hosts is."""
    return _zones(hosts, with_hosts=False)


def full(hosts: Iterable[HostReport]) -> dict[str, Any]:
    """Return the zones with their hosts."""
    return _zones(hosts, with_hosts=True)


def _zones(hosts: Iterable[HostReport], *, with_hosts: bool) -> dict[str, Any]:
    by_zone: dict[str, list[HostReport]] = {}
    for host in hosts:
        by_zone.setdefault(host.availability_zone, []).append(host)
    return {
        "availabilityZoneInfo": [
            {
                "zoneName": zone,
                "zoneState": {"available": any(host.enabled for host in by_zone[zone])},
                "hosts": _hosts(by_zone[zone]) if with_hosts else None,
            }
            for zone in sorted(by_zone)
        ]
    }


def _hosts(hosts: list[HostReport]) -> dict[str, Any]:
    return {
        host.host: {
            COMPUTE: {
                "active": host.enabled,
                "available": host.up,
                "updated_at": micros(host.reported_at),
            }
        }
        for host in hosts
    }
