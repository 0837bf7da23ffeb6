"""Offloads shelved servers that their hosts have kept for long enough.

Called by ``sweeper.py``. Any number of conductors may do so: each server is offloaded once. A host
that is down is left without it, and removes what it has when it is up again.
"""

import dataclasses
import logging
import uuid

from roost import exception
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.context import RequestContext, project_context
from roost.db.cell import instances, operations
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.objects import Instance, InstanceAction
from roost.operations.shelve_kinds import SHELVE_OFFLOAD

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Offloads:
    """Begins the offloads that are due.

    :param seconds: that a shelved server stays on its host, by the database's clock; -1: for ever
    """

    database: Database
    outcomes: OperationOutcomes
    seconds: float

    def sweep(self) -> None:
        if self.seconds < 0:
            return
        for instance in self.database.query(instances.list_shelved, seconds=self.seconds):
            self._offload(project_context(instance.project_id), instance)

    def _offload(self, context: RequestContext, instance: Instance) -> None:
        record = InstanceAction(
            instance_uuid=instance.uuid,
            action=SHELVE_OFFLOAD.action,
            request_id=context.request_id,
            user_id=None,
            project_id=instance.project_id,
            start_time=utcnow(),
            finish_time=None,
            message=None,
            events=[],
        )
        begin = operations.start
        try:
            operation = self.database.write(begin, SHELVE_OFFLOAD, record, uuid=str(uuid.uuid4()))
        except (exception.Conflict, exception.NotFound) as error:
            LOG.info("[instance: %s] not offloaded by itself: %s", instance.uuid, error.message)
            return
        LOG.info("[instance: %s] offloaded %d s after it was shelved", instance.uuid, self.seconds)
        self.outcomes.send(context, operation)
