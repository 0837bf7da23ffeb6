"""The cell-conductor's sweeper: takes up operations whose lease has expired.

``operations/outcomes.py`` goes on with each: while its host is up, it is sent there again; when
that is down, a build goes to another host, and all else ends or goes on without it. So no instance
stays in the task of a dead worker. The super-conductor's sweeper is ``conductor/super/sweeper.py``.
"""

import dataclasses
import logging
import random
from collections.abc import Callable, Collection

from roost import exception
from roost.conductor.cell.operations.confirmations import Confirmations
from roost.conductor.cell.operations.offloads import Offloads
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.context import current, project_context
from roost.db.cell import operations
from roost.db.cell.operations import OverdueOperation
from roost.db.engine import Database, retried

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class CellSweeper:
    """Takes up the operations of a cell whose lease has expired. Any number may run.

    :param confirmations: confirms moves whose users do not
    :param offloads: offloads servers that were shelved long enough ago
    :param surely_down: returns which of some hosts are certainly down
    :param lease_seconds: length of a lease. Half of it is for the delivery of a message, and for a
        sweep: a host that received the message renews its lease within a third.
    """

    database: Database
    outcomes: OperationOutcomes
    confirmations: Confirmations
    offloads: Offloads
    surely_down: Callable[[Collection[str]], Collection[str]]
    lease_seconds: float

    def sweep(self) -> None:
        self.confirmations.sweep(self.surely_down)
        self.offloads.sweep()
        overdue = self._take()
        if overdue:
            down = self.surely_down({each.host for each in overdue if each.host is not None})
            self._take_up(overdue, down)

    @retried
    def _take(self) -> list[OverdueOperation]:
        with self.database.begin() as session:
            return operations.take_overdue(session, seconds=self.lease_seconds / 2)

    def _take_up(self, overdue: list[OverdueOperation], down: Collection[str]) -> None:
        """Take up operations; a timeout postpones others of the kind, which would time out, too."""
        random.shuffle(overdue)  # so that not always the same is postponed
        postponed: set[str] = set()
        for one in overdue:
            if one.kind in postponed:
                continue
            context = project_context(one.project_id, request_id=one.request_id)
            with current(context):
                try:
                    self.outcomes.overdue(context, one, is_down=one.host in down)
                except exception.Timeout as error:
                    LOG.warning("[instance: %s] %s postponed, and all others: %s",
                                one.instance_uuid, one.kind, error.message)  # fmt: skip
                    postponed.add(one.kind)
                except exception.RoostError as error:
                    LOG.warning("[instance: %s] %s postponed: %s",
                                one.instance_uuid, one.kind, error.message)  # fmt: skip
                except Exception:
                    LOG.exception("[instance: %s] %s postponed", one.instance_uuid, one.kind)
