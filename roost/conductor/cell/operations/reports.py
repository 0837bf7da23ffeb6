"""What hosts report of operations and of guests, and the error that a server may be in then."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from roost.db.cell import faults, guest_config
from roost.db.engine import Session
from roost.db.types import utcnow
from roost.objects import InstanceActionEvent, InstanceFault, NetworkInfo
from roost.operations.advance import Outcome

NO_GUEST: Final = "The guest of this server was not found on its host."


@dataclasses.dataclass(frozen=True)
class ObservedGuest:
    """A guest as its host found it: its power state, None: there is none; and the host's events.

    ``vm_state``: of a server with this guest; None: the hypervisor cannot describe it. ``reason``:
    why the task failed, for the user.
    """

    host: str
    power_state: int | None
    vm_state: str | None = None
    events: Sequence[InstanceActionEvent] = ()
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class StepReport:
    """The end of a step, as its host reports it.

    ``handover``: what the destination has prepared for the source, as JSON. ``network_info``: the
    interfaces as the host has plugged them. ``code``: of the error with which it failed;
    ``details``: why it failed, for administrators. ``config_drive``: of a build, whether the guest
    has one, whoever has required it.
    """

    found: ObservedGuest
    outcome: Outcome
    handover: str | None = None
    network_info: NetworkInfo | None = None
    code: str | None = None
    details: str | None = None
    config_drive: bool = False


def note_error(
    session: Session,
    instance_uuid: str,
    found: ObservedGuest,
    *,
    events: Sequence[InstanceActionEvent],
) -> None:
    """Write why a server is in ERROR, and forget what only its guest was to know."""
    failed = [each for each in events if each.details and each.result == "Error"]
    fault = InstanceFault(
        instance_uuid=instance_uuid,
        code=500,
        message=found.reason or NO_GUEST,
        details="; ".join(map(_as_text, failed)) or None,
        host=found.host,
        created_at=utcnow(),
    )
    guest_config.forget_secrets(session, instance_uuid)
    faults.add(session, fault)


def _as_text(event: InstanceActionEvent) -> str:
    return f"{event.start_time:%Y-%m-%dT%H:%M:%SZ} {event.host}: {event.details}"
