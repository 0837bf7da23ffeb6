"""The end of an instance whose guest is gone from its host.

Before: ``compute/delete.py`` destroyed the guest and called here.
"""

import dataclasses
import logging
from collections.abc import Sequence

from roost import exception
from roost.context import RequestContext
from roost.db.cell import burial, instances
from roost.db.engine import Database
from roost.objects import InstanceActionEvent
from roost.rpc.compute import Compute
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Deletion:
    """Buries instances of this cell. All it needs arrives here."""

    database: Database
    scheduler: SchedulerClient
    compute: Compute

    def finish(
        self,
        context: RequestContext,
        instance_uuid: str,
        host: str,
        events: Sequence[InstanceActionEvent],
    ) -> None:
        """Release the claim, then bury the row; or tell the host that has the instance by now.

        The claim goes first: a row that is still there will bring us here again, so nothing leaks.
        """
        with self.database.read() as session:
            instance = instances.find(session, instance_uuid)
        if instance is not None and instance.host not in (host, None):
            self._tell(context, instance_uuid, str(instance.host))
            return
        self.scheduler.release_claims(context, instance_uuids=[instance_uuid])
        with self.database.begin() as session:
            if burial.bury(session, instance_uuid, events):
                LOG.info("%s: deleted from %s", instance_uuid, host)

    def _tell(self, context: RequestContext, instance_uuid: str, host: str) -> None:
        """Cast a hint to the host that has it now; the sweeper sends a lost one again."""
        try:
            self.compute.on(host).terminate_instance(context, instance_uuid=instance_uuid)
        except exception.Unavailable as error:
            LOG.warning("%s: %s does not know yet that it ends: %s", instance_uuid, host, error)
