"""Confirms migrations and resizes whose users have neither confirmed nor reverted them in time.

Called by ``sweeper.py``. Any number of conductors may do so: each move is confirmed once.
"""

import dataclasses
import logging
import uuid
from collections.abc import Callable, Collection

from roost import exception
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.context import RequestContext, project_context
from roost.db.cell import migrations, operations
from roost.db.engine import Database, retried
from roost.db.types import utcnow
from roost.objects import InstanceAction, Migration, Operation
from roost.objects.migration import CONFIRMING, FINISHED
from roost.operations.kinds import CONFIRM_RESIZE

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Confirmations:
    """Confirms moves.

    :param seconds: that users have; 0: for ever
    """

    database: Database
    outcomes: OperationOutcomes
    seconds: float

    def sweep(self, surely_down: Callable[[Collection[str]], Collection[str]]) -> None:
        """Begin to confirm the moves that have waited too long, and whose new hosts are up.

        :param surely_down: returns which of some hosts are certainly down
        """
        if not self.seconds:
            return
        hosts = self.database.query(migrations.destinations_of_unconfirmed)
        if not hosts:
            return
        down = surely_down(hosts)
        due = self.database.query(
            migrations.list_unconfirmed, seconds=self.seconds, but_not_on=down
        )
        for migration in due:
            self._confirm(migration)

    def _confirm(self, migration: Migration) -> None:
        context = project_context(migration.project_id)
        try:
            operation = self._begin(context, migration, str(uuid.uuid4()))
        except (exception.Conflict, exception.NotFound) as error:
            LOG.info("[instance: %s] not confirmed by itself: %s",
                     migration.instance_uuid, error.message)  # fmt: skip
            return
        LOG.info("[instance: %s] %s after %d s, as its user did nothing",
                 migration.instance_uuid, CONFIRM_RESIZE, self.seconds)  # fmt: skip
        self.outcomes.send(context, operation)

    @retried
    def _begin(self, context: RequestContext, migration: Migration, uuid: str) -> Operation:
        record = InstanceAction(
            instance_uuid=migration.instance_uuid,
            action=CONFIRM_RESIZE.action,
            request_id=context.request_id,
            user_id=None,
            project_id=migration.project_id,
            start_time=utcnow(),
            finish_time=None,
            message=None,
            events=[],
        )
        with self.database.begin() as session:
            operation = operations.start(
                session, CONFIRM_RESIZE, record, uuid=uuid, migration=migration
            )
            status = {"status": CONFIRMING}
            migrations.update(session, migration.uuid, status, expected=[FINISHED, CONFIRMING])
        return operation
