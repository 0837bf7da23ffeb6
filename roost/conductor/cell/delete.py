"""Finishes the delete of an instance: releases claim and ports, and deletes the row.

Before: ``compute/operations/delete.py`` destroyed the guest and called here; or the sweeper saw
that the host is down. Both release the ports of an external network service, too.
"""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Protocol

from roost import exception, states
from roost.conductor.failures import instant_event
from roost.conductor.notifications import ServerNotifications
from roost.context import RequestContext
from roost.db.cell import instances, purge
from roost.db.engine import Database
from roost.objects import InstanceActionEvent
from roost.rpc.compute import Compute
from roost.scheduler.client import CellSchedulerClient


class ExternalPorts(Protocol):
    """The ports that a network service has for instances."""

    def free(self, instance_uuid: str) -> int:
        """Release all ports of an instance; repeatable. Return how many there were.

        :raises roost.exception.Unavailable: when the service cannot do it now
        """


class NoExternalPorts:
    """For cells without a network service: all ports are rows."""

    def free(self, instance_uuid: str) -> int:
        return 0


NONE = NoExternalPorts()


LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Deletion:
    """Deletes instances of this cell.

    :param host: the name of this conductor's host, for the instances' history
    """

    host: str
    database: Database
    scheduler: CellSchedulerClient
    compute: Compute
    notifications: ServerNotifications
    outside_ports: ExternalPorts = NONE

    def finish(
        self,
        context: RequestContext,
        instance_uuid: str,
        host: str,
        events: Sequence[InstanceActionEvent],
    ) -> None:
        """Release claim and ports, then delete the row; or notify the instance's new host.

        The row is deleted last: while it exists, the delete is repeated, so nothing leaks.

        :raises roost.exception.Conflict: when the instance is not in task state deleting
        """
        instance = self.database.query(instances.find, instance_uuid)
        if instance is not None and instance.task_state != states.DELETING:
            raise exception.Conflict(f"The instance {instance_uuid} is not being deleted.")
        if instance is not None and instance.host not in (host, None):
            self._notify_host(context, instance_uuid, str(instance.host))
            return
        self._release(context, instance_uuid)
        if self.database.write(purge.delete_with_record, instance_uuid, events):
            LOG.info("[instance: %s] deleted from %s", instance_uuid, host)
            self.notifications.deleted(context, instance_uuid)

    def finish_alone(self, context: RequestContext, instance_uuid: str, *, why: str) -> None:
        """Delete an instance without its host.

        :param why: why the host does not take part, for the log and the event
        """
        self._release(context, instance_uuid)
        name = "cell-conductor.local_delete"
        event = instant_event(name, host=self.host, result="Success", details=why)
        if self.database.write(purge.delete_with_record, instance_uuid, [event]):
            LOG.warning("[instance: %s] deleted without its host: %s", instance_uuid, why)
            self.notifications.deleted(context, instance_uuid)

    def _release(self, context: RequestContext, instance_uuid: str) -> None:
        self.scheduler.release_claims(context, instance_uuids=[instance_uuid])
        self.outside_ports.free(instance_uuid)

    def _notify_host(self, context: RequestContext, instance_uuid: str, host: str) -> None:
        """Cast to the instance's new host; the sweeper sends a lost message again."""
        try:
            self.compute.on(host).terminate_instance(context, instance_uuid=instance_uuid)
        except exception.Unavailable as error:
            LOG.warning(
                "[instance: %s] cast of the delete to host %s failed, the sweeper resends it: %s",
                instance_uuid, host, error,
            )  # fmt: skip
