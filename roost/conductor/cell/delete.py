"""The end of an instance whose guest is gone from its host, or whose host is.

Before: ``compute/operations/delete.py`` destroyed the guest and called here; or the sweeper saw
that the host is down. Ports that are no rows of the cell are released, whichever way it ends.
"""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Protocol

from roost import exception, states
from roost.conductor.failures import instant_event
from roost.context import RequestContext
from roost.db.cell import instances, purge
from roost.db.engine import Database, retried
from roost.objects import InstanceActionEvent
from roost.rpc.compute import Compute
from roost.scheduler.client import CellSchedulerClient


class ExternalPorts(Protocol):
    """What a network service keeps for instances."""

    def free(self, instance_uuid: str) -> int:
        """Let all ports of an instance go; safe to repeat. Return how many there were.

        :raises roost.exception.Unavailable: when that cannot be done now
        """


class NoExternalPorts:
    """All ports are rows."""

    def free(self, instance_uuid: str) -> int:
        return 0


NONE = NoExternalPorts()


LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Deletion:
    """Buries instances of this cell. All it needs arrives here.

    :param host: the name of this conductor's host, for the instances' history
    """

    host: str
    database: Database
    scheduler: CellSchedulerClient
    compute: Compute
    outside_ports: ExternalPorts = NONE

    def finish(
        self,
        context: RequestContext,
        instance_uuid: str,
        host: str,
        events: Sequence[InstanceActionEvent],
    ) -> None:
        """Release claim and ports, then bury the row; or tell the host that has it by now.

        They go first: a row that is still there will bring us here again, so nothing leaks.

        :raises roost.exception.Conflict: when the row does not say that it is being deleted
        """
        with self.database.read() as session:
            instance = instances.find(session, instance_uuid)
        if instance is not None and instance.task_state != states.DELETING:
            raise exception.Conflict(f"The instance {instance_uuid} is not being deleted.")
        if instance is not None and instance.host not in (host, None):
            self._notify_host(context, instance_uuid, str(instance.host))
            return
        self._release(context, instance_uuid)
        if self._bury(instance_uuid, events):
            LOG.info("%s: deleted from %s", instance_uuid, host)

    def finish_alone(self, context: RequestContext, instance_uuid: str, *, why: str) -> None:
        """End an instance without its host.

        :param why: nobody asks the host
        """
        self._release(context, instance_uuid)
        if self._bury(instance_uuid, [self._alone(why)]):
            LOG.warning("%s: deleted without its host: %s", instance_uuid, why)

    def _release(self, context: RequestContext, instance_uuid: str) -> None:
        self.scheduler.release_claims(context, instance_uuids=[instance_uuid])
        self.outside_ports.free(instance_uuid)

    def _alone(self, why: str) -> InstanceActionEvent:
        name = "cell-conductor.local_delete"
        return instant_event(name, host=self.host, result="Success", details=why)

    @retried
    def _bury(self, instance_uuid: str, events: Sequence[InstanceActionEvent]) -> bool:
        with self.database.begin() as session:
            return purge.delete_with_record(session, instance_uuid, events)

    def _notify_host(self, context: RequestContext, instance_uuid: str, host: str) -> None:
        """Cast a hint to the host that has it now; the sweeper sends a lost one again."""
        try:
            self.compute.on(host).terminate_instance(context, instance_uuid=instance_uuid)
        except exception.Unavailable as error:
            LOG.warning("%s: %s does not know yet that it ends: %s", instance_uuid, host, error)
