"""Stopping, starting, rebooting, pausing, suspending, soft-deleting and restoring guests.

Before: the API wrote the task into the instance's row and cast here. After: the row has the guest's
actual state, whether that is the requested one or not.

Safe to repeat at any point: the host checks the row first, so a message of a finished task does
nothing. A task that cannot be finished stays in the row, and the cell requests it again.
"""

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.compute.leases import Lease, LostLease
from roost.compute.virt.driver import PausesGuests, SuspendsGuests, VirtDriver
from roost.context import RequestContext
from roost.objects import InstanceActionEvent

LOG = logging.getLogger(__name__)


def _pauses(virt: VirtDriver) -> PausesGuests:
    if not isinstance(virt, PausesGuests):
        raise exception.Unsupported("The hypervisor of this server cannot pause it.")
    return virt


def _suspends(virt: VirtDriver) -> SuspendsGuests:
    if not isinstance(virt, SuspendsGuests):
        raise exception.Unsupported("The hypervisor of this server cannot suspend it.")
    return virt


_DO: Final[Mapping[str, Callable[[VirtDriver, str], None]]] = {
    states.POWERING_OFF: lambda virt, uuid: virt.power_off(uuid),
    states.POWERING_ON: lambda virt, uuid: virt.power_on(uuid),
    states.REBOOTING: lambda virt, uuid: virt.reboot(uuid, hard=False),
    states.REBOOTING_HARD: lambda virt, uuid: virt.reboot(uuid, hard=True),
    states.PAUSING: lambda virt, uuid: _pauses(virt).pause(uuid),
    states.UNPAUSING: lambda virt, uuid: _pauses(virt).unpause(uuid),
    states.SUSPENDING: lambda virt, uuid: _suspends(virt).suspend(uuid),
    states.RESUMING: lambda virt, uuid: _suspends(virt).resume(uuid),
    states.SOFT_DELETING: lambda virt, uuid: virt.power_off(uuid),
    states.RESTORING: lambda virt, uuid: virt.power_on(uuid),
}
_STEPS: Final = {
    states.POWERING_OFF: "compute.power_off",
    states.POWERING_ON: "compute.power_on",
    states.REBOOTING: "compute.reboot",
    states.REBOOTING_HARD: "compute.reboot",
    states.PAUSING: "compute.pause",
    states.UNPAUSING: "compute.unpause",
    states.SUSPENDING: "compute.suspend",
    states.RESUMING: "compute.resume",
    states.SOFT_DELETING: "compute.soft_delete",
    states.RESTORING: "compute.restore",
}


def change(
    host: Host, *, context: RequestContext, instance_uuid: str, task: str, lease: Lease
) -> None:
    """Do a task of an instance, and report the guest's state; nothing else may work on it.

    :raises roost.exception.Unavailable: when the conductor does not answer
    """
    if task not in _DO or not _is_under(host, context, instance_uuid, task):
        LOG.info("[instance: %s] no longer %s on %s", instance_uuid, task, host.name)
        return
    LOG.info("[instance: %s] %s begins on %s", instance_uuid, task, host.name)
    timeline = InstanceEvents(host.name)
    try:
        why = _try(host, instance_uuid, task, lease=lease, timeline=timeline)
    except LostLease as error:
        LOG.info("[instance: %s] no longer %s: %s", instance_uuid, task, error.message)
        return
    _report(host, context, instance_uuid, task, events=timeline.events, why=why)


def _try(
    host: Host, instance_uuid: str, task: str, *, lease: Lease, timeline: InstanceEvents
) -> str | None:
    """Do the task, and return why it failed, if it did.

    :raises LostLease: when the task is no longer this host's
    """
    try:
        with timeline.step(_STEPS[task]):
            lease.check()
            _DO[task](host.virt, instance_uuid)
    except LostLease:
        raise
    except exception.RoostError as error:
        LOG.warning("[instance: %s] %s failed: %s", instance_uuid, task, error.message)
        return exception.reason(error)
    except Exception as error:
        LOG.exception("[instance: %s] %s failed", instance_uuid, task)
        return exception.reason(error)
    return None


def as_found(virt: VirtDriver, instance_uuid: str) -> dict[str, Any]:
    """Return a guest's power state (None: no guest) and whether it is rescued, for the report.

    NOSTATE: the hypervisor cannot describe it.
    """
    try:
        guest = virt.describe(instance_uuid)
    except exception.NotFound:
        return {"power_state": None}
    except Exception:
        LOG.exception("[instance: %s] hypervisor cannot describe the guest", instance_uuid)
        return {"power_state": states.NOSTATE}
    return {"power_state": guest.power_state, "rescued": guest.rescued}


def _is_under(host: Host, context: RequestContext, instance_uuid: str, task: str) -> bool:
    """Check, by an empty update, whether the row has that task."""
    try:
        host.conductor.instance_update(
            context,
            instance_uuid=instance_uuid,
            changes={},
            expected={"host": host.name, "task_state": task},
            events=[],
        )
    except (exception.Conflict, exception.NotFound):
        return False
    return True


def _report(
    host: Host,
    context: RequestContext,
    instance_uuid: str,
    task: str,
    *,
    events: Sequence[InstanceActionEvent],
    why: str | None,
) -> None:
    """Report the guest's state to the conductor; retry, because only this host knows it."""
    send = functools.partial(
        host.conductor.report_power,
        context,
        instance_uuid=instance_uuid,
        host=host.name,
        expected={"task_state": task},
        events=list(events),
        reason=why,
        **as_found(host.virt, instance_uuid),
    )
    try:
        host.patience.retry(f"[instance: {instance_uuid}] {task}", send, stopping=host.stopping)
    except (exception.Conflict, exception.NotFound) as error:
        # reported before and the answer lost, or deleted, or given up by the conductor
        LOG.info("[instance: %s] no longer %s: %s", instance_uuid, task, error.message)
    else:
        LOG.info("[instance: %s] %s is done on %s", instance_uuid, task, host.name)
