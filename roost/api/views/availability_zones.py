"""Availability zones as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from roost.api.views.base import micros
from roost.api.views.services import COMPUTE
from roost.objects import HostReport


def brief(hosts: Iterable[HostReport], zones: Mapping[str, str]) -> dict[str, Any]:
    """Return the zones; one is available when any of its hosts is.

    :param zones: by host; one that is left out is in the zone that it names itself
    """
    return _shown(hosts, zones, with_hosts=False)


def full(hosts: Iterable[HostReport], zones: Mapping[str, str]) -> dict[str, Any]:
    """Return the zones with their hosts."""
    return _shown(hosts, zones, with_hosts=True)


def _shown(
    hosts: Iterable[HostReport], zones: Mapping[str, str], *, with_hosts: bool
) -> dict[str, Any]:
    by_zone: dict[str, list[HostReport]] = {}
    for host in hosts:
        by_zone.setdefault(zones.get(host.host, host.availability_zone), []).append(host)
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
