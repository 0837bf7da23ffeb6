"""Availability zones as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from roost.api.views.base import micros
from roost.objects import HostReport


def brief(hosts: Iterable[HostReport], zones: Mapping[str, str]) -> dict[str, Any]:
    """Return the zones; one is available when any of its hosts is.

    :param zones: by host; one that is left out is in the zone that it names itself
    """
    return _shown(hosts, zones, compute=None)


def full(hosts: Iterable[HostReport], zones: Mapping[str, str], *, compute: str) -> dict[str, Any]:
    """Return the zones with their hosts.

    :param compute: the name of the daemon that each host has
    """
    return _shown(hosts, zones, compute=compute)


def _shown(
    hosts: Iterable[HostReport], zones: Mapping[str, str], *, compute: str | None
) -> dict[str, Any]:
    by_zone: dict[str, list[HostReport]] = {}
    for host in hosts:
        by_zone.setdefault(zones.get(host.host, host.availability_zone), []).append(host)
    return {
        "availabilityZoneInfo": [
            {
                "zoneName": zone,
                "zoneState": {"available": any(host.enabled for host in by_zone[zone])},
                "hosts": _hosts(by_zone[zone], compute) if compute else None,
            }
            for zone in sorted(by_zone)
        ]
    }


def _hosts(hosts: list[HostReport], compute: str) -> dict[str, Any]:
    return {
        host.host: {
            compute: {
                "active": host.enabled,
                "available": host.up,
                "updated_at": micros(host.reported_at),
            }
        }
        for host in hosts
    }
