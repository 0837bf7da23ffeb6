"""Reclaims soft-deleted servers after a time, and settles soft deletes and restores.

Called by ``sweeper.py``. A server is queued for delete only as its mapping was read: so a restore
that comes first wins, and however many super-conductors do this, each server is reclaimed once.
"""

import dataclasses
import datetime
import functools
import itertools
import logging
from collections.abc import Callable, Collection, Sequence

from roost import exception, states
from roost.cells import Cell, Cells
from roost.cells import cell as cells_cell
from roost.context import project_context
from roost.db.api import instance_mappings
from roost.db.api import soft_delete as mappings
from roost.db.cell import instances
from roost.db.engine import Database, retried
from roost.objects import InstanceMapping

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class SoftDeletes:
    """Handles soft-deleted servers.

    :param retained_for: seconds for which they can be restored; 0: until a user deletes them
    """

    database: Database
    cells: Cells
    retained_for: float

    def settle(self, *, but_not: Collection[str]) -> None:
        """Have cells begin the soft deletes and restores that they missed.

        :param but_not: unavailable cells, whose instances are settled later
        """
        find = functools.partial(mappings.list_unsettled, but_not_in=but_not)
        self._by_cell(find, self._settle_in_cell)

    def reclaim(self) -> None:
        """Queue servers for delete that were soft-deleted so long ago."""
        if self.retained_for:
            retained_for = datetime.timedelta(seconds=self.retained_for)
            find = functools.partial(mappings.list_due, retained_for=retained_for)
            self._by_cell(find, self._reclaim_in_cell)

    def _by_cell(
        self,
        find: Callable[..., list[tuple[int, InstanceMapping]]],
        act: Callable[[Cell, Sequence[InstanceMapping]], None],
    ) -> None:
        """Carry out ``act`` for each cell of each page; after an error the cell's rest waits."""
        marker = 0
        while page := self.database.query(find, marker=marker):
            marker = page[-1][0]
            found = sorted((mapping for _, mapping in page), key=_cell_of)
            for cell_uuid, some in itertools.groupby(found, _cell_of):
                try:
                    act(self.cells.get(cell_uuid), [*some])
                except exception.RoostError as error:
                    LOG.warning("cell %s: soft deletes wait: %s", cell_uuid, error.message)

    def _settle_in_cell(self, cell: Cell, unsettled: Sequence[InstanceMapping]) -> None:
        for mapping in unsettled:
            context = project_context(mapping.project_id)
            begun = cells_cell.settle_soft_delete(cell, self.database, context, mapping)
            if not begun and mapping.put_away_at is not None:
                self._queue(mapping)

    def _reclaim_in_cell(self, cell: Cell, due: Sequence[InstanceMapping]) -> None:
        """Reclaim those that the cell has soft-deleted: else one of both databases is old."""
        uuids = [mapping.instance_uuid for mapping in due]
        found = cell.database.query(instances.list_live, uuids)
        away = {one.uuid for one in found if states.is_soft_deleted(one.vm_state, one.task_state)}
        for mapping in due:
            if mapping.instance_uuid in away:
                self._queue(mapping)
            else:
                LOG.warning("[instance: %s] not reclaimed, not soft-deleted in its cell: run"
                            " roost-manage audit --repair", mapping.instance_uuid)  # fmt: skip

    @retried
    def _queue(self, mapping: InstanceMapping) -> None:
        """Queue an instance for delete, if it was not restored since."""
        uuid = str(mapping.instance_uuid)
        with self.database.begin() as session:
            queued = instance_mappings.queue_for_delete(session, uuid, as_it_was=mapping)
        if queued is not None:
            LOG.info("[instance: %s] soft-deleted at %s, deleted now", uuid, mapping.put_away_at)


def _cell_of(mapping: InstanceMapping) -> str:
    return str(mapping.cell_uuid)
