"""Deletion of an instance on this host: its guest, its claim, and then its row.

Safe to repeat at any point. A delete that fails leaves the row in ``deleting``, and the cell
requests it again.
"""

import functools
import logging

from roost import exception, states
from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.context import RequestContext

LOG = logging.getLogger(__name__)


def is_due(host: Host, *, context: RequestContext, instance_uuid: str) -> bool:
    """Return whether the row says that the instance is on this host and being deleted.

    A message alone does not destroy a guest: it may be late, or from an unauthorized sender.

    :raises roost.exception.Unavailable: when the conductor does not answer for a long time
    """
    ask = functools.partial(
        host.conductor.has_task,
        context,
        instance_uuid=instance_uuid,
        host=host.name,
        tasks=[states.DELETING],
    )
    return host.patience.retry(f"[instance: {instance_uuid}] delete", ask, stopping=host.stopping)


def terminate(host: Host, *, context: RequestContext, instance_uuid: str) -> None:
    """Destroy the guest and let the conductor delete the row; no build of it may be under way.

    Call it only if :func:`is_due`.

    :raises roost.exception.Unavailable: when the conductor does not answer for a long time
    """
    timeline = InstanceEvents(host.name)
    try:
        with timeline.step("compute.destroy"):
            host.destroy(instance_uuid)
    except Exception:
        LOG.exception("[instance: %s] delete failed, guest could not be destroyed", instance_uuid)
        _report_failure(host, context, instance_uuid=instance_uuid, timeline=timeline)
        return
    host.tracker.vacate(instance_uuid)
    finish = functools.partial(
        host.conductor.finish_delete,
        context,
        instance_uuid=instance_uuid,
        host=host.name,
        events=timeline.events,
    )
    try:
        host.patience.retry(f"[instance: {instance_uuid}] delete", finish, stopping=host.stopping)
    except exception.NotFound:
        LOG.info("[instance: %s] deleted before", instance_uuid)
    else:
        LOG.info("[instance: %s] deleted from %s", instance_uuid, host.name)
    host.tracker.forget(instance_uuid)  # not before the conductor knows: see resource_tracker


def _report_failure(
    host: Host, context: RequestContext, *, instance_uuid: str, timeline: InstanceEvents
) -> None:
    """Report the failed step as an event; the row does not change."""
    try:
        host.conductor.instance_update(
            context,
            instance_uuid=instance_uuid,
            changes={},
            expected={"host": host.name, "task_state": states.DELETING},
            events=timeline.events,
        )
    except exception.RoostError as error:
        LOG.info(
            "[instance: %s] failed delete could not be reported: %s",
            instance_uuid,
            error.message,
        )
