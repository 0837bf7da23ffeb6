"""Services (daemons) as JSON, their Nova names, and their numeric ids before 2.53."""

import datetime
import uuid
from collections.abc import Mapping
from typing import Any, Final

from roost.api.pagination import micros
from roost.objects import Service

FORCED_DOWN: Final = 11
UUIDS: Final = 53
COMPUTE: Final = "roost-compute"
CELL_CONDUCTOR: Final = "roost-cell-conductor"
SCHEDULER: Final = "roost-scheduler"
SCHEDULERS: Final = "schedulers"  # shown as the host of all schedulers
SCHEDULERS_UUID: Final = str(uuid.uuid5(uuid.NAMESPACE_OID, SCHEDULERS))
# The names that clients, dashboards and Tempest expect, of the daemons that report to a cell.
NOVA_NAMES: Final[Mapping[str, str]] = {
    COMPUTE: "nova-compute",
    CELL_CONDUCTOR: "nova-conductor",
    SCHEDULER: "nova-scheduler",
}
_OWN: Final = {nova: own for own, nova in NOVA_NAMES.items()}


def own_name(binary: str) -> str:
    """Return our name of a daemon that clients may call by its Nova name."""
    return _OWN.get(binary, binary)


def host_status(service: Service | None, *, up: bool) -> str:
    """Return the ``host_status`` of a server on the host of this service."""
    if service is None:
        return "UNKNOWN"
    if not up:
        return "DOWN"
    return "MAINTENANCE" if service.disabled else "UP"


def full(
    service: Service,
    *,
    version: int,
    zones: Mapping[str, str],
    up: bool,
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Return a daemon of the list.

    :param zones: by host, of the hosts that are not in the zone that they report
    :param names: the names of daemons to show, by our own
    """
    shown = {
        "id": service.uuid if version >= UUIDS else number(service),
        "binary": names.get(service.binary, service.binary),
        "host": service.host,
        "zone": zone(service, zones),
        "status": "disabled" if service.disabled else "enabled",
        "state": "up" if up else "down",
        "updated_at": micros(service.last_seen_up),
        "disabled_reason": service.disabled_reason,
    }
    if version >= FORCED_DOWN:
        shown["forced_down"] = service.forced_down
    return shown


def schedulers(
    now: datetime.datetime, *, up: bool, version: int, names: Mapping[str, str]
) -> dict[str, Any]:
    """Return all schedulers as one daemon: they report to no cell, and any of them may answer."""
    all_of_them = Service.of(
        uuid=SCHEDULERS_UUID,
        host=SCHEDULERS,
        binary=SCHEDULER,
        availability_zone=None,
        disabled=False,
        disabled_reason=None,
        forced_down=False,
        created_at=now,
        last_seen_up=now,
    )
    shown = full(all_of_them, version=version, zones={}, up=up, names=names)
    return shown if up else {**shown, "updated_at": None}


def zone(service: Service, zones: Mapping[str, str]) -> str:
    """Return the zone of a daemon.

    :param zones: by host, of the hosts that are not in the zone that they report
    """
    own = service.availability_zone or "internal"
    return zones.get(service.host, own) if service.binary == COMPUTE else own


def number(service: Service) -> int:
    """Return the numeric id of a service before 2.53, derived from the uuid."""
    return small(service.uuid)


def small(identity: str) -> int:
    """Return a small number for a uuid, always the same; two uuids may collide."""
    return uuid.UUID(identity).int % 2**31
