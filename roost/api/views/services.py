"""Daemons as JSON."""

import datetime
import uuid
from typing import Any, Final

from roost.api.views.base import micros
from roost.objects import Service

FORCED_DOWN: Final = 11
UUIDS: Final = 53
COMPUTE: Final = "roost-compute"


def is_up(service: Service, *, now: datetime.datetime, down_time: float) -> bool:
    """Tell whether a daemon was heard of in the last ``down_time`` seconds and not forced down."""
    silent = (now - service.last_seen_up).total_seconds()
    return silent <= down_time and not service.forced_down


def host_status(service: Service | None, *, now: datetime.datetime, down_time: float) -> str:
    """Return what a server tells of its host."""
    if service is None:
        return "UNKNOWN"
    if not is_up(service, now=now, down_time=down_time):
        return "DOWN"
    return "MAINTENANCE" if service.disabled else "UP"


def full(
    service: Service, *, version: int, now: datetime.datetime, down_time: float
) -> dict[str, Any]:
    """Return a daemon of the list."""
    shown = {
        "id": service.uuid if version >= UUIDS else number(service),
        "binary": service.binary,
        "host": service.host,
        "zone": service.availability_zone or "internal",
        "status": "disabled" if service.disabled else "enabled",
        "state": "up" if is_up(service, now=now, down_time=down_time) else "down",
        "updated_at": micros(service.last_seen_up),
        "disabled_reason": service.disabled_reason,
    }
    if version >= FORCED_DOWN:
        shown["forced_down"] = service.forced_down
    return shown


def number(service: Service) -> int:
    """Return a small number for clients from before uuids. It follows from the uuid."""
    return uuid.UUID(service.uuid).int % 2**31
