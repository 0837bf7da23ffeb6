"""What became of events, as Compute's JSON."""

from typing import Any

from roost.objects import ExternalEvent


def told(event: ExternalEvent, *, code: int) -> dict[str, Any]:
    """Return an event as it was sent, and whether somebody takes care of it."""
    shown = {
        "name": event.name,
        "server_uuid": event.instance_uuid,
        "status": event.status,
        "code": code,
    }
    return shown if event.tag is None else {**shown, "tag": event.tag}
