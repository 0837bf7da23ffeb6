"""Schema of what neighbours tell of servers."""

from typing import Any, Final

from roost.api.schemas.base import TEXT, UUID, of
from roost.api.validation import Schema
from roost.objects import external_event as events

_ALWAYS: Final = (
    events.VIF_PLUGGED,
    events.VIF_UNPLUGGED,
    events.VIF_DELETED,
    events.NETWORK_CHANGED,
)
_SINCE: Final = {
    51: events.VOLUME_EXTENDED,
    76: events.POWER_UPDATE,
    82: events.ACCELERATOR_BOUND,
    93: events.VOLUME_REIMAGED,
}
MOST: Final = 1000  # of one request


def _document(minor: int) -> dict[str, Any]:
    names = [*_ALWAYS, *(name for since, name in _SINCE.items() if since <= minor)]
    statuses = [events.COMPLETED, events.FAILED, events.IN_PROGRESS]
    event = {
        "name": {"type": "string", "enum": names},
        "server_uuid": UUID,
        "status": {"type": "string", "enum": statuses},
        "tag": TEXT,
    }
    listed = of(event, required=["name", "server_uuid"])
    return dict(
        of(
            {"events": {"type": "array", "minItems": 1, "maxItems": MOST, "items": listed}},
            required=["events"],
        )
    )


CREATE: Final = Schema({minor: _document(minor) for minor in (1, *_SINCE)})
