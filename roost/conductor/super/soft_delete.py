"""Reclaims soft-deleted servers after a time, and sends cells the soft deletes that they missed.

Called by ``sweeper.py``. The wanted state of a server is in the API database, and each step here
names its generation (column ``turns``): so a restore that comes first wins, and however many
super-conductors do this concurrently, each server is reclaimed once.
"""

import dataclasses
import datetime
import itertools
import logging
from collections.abc import Collection

from roost import exception
from roost.cells import Cells
from roost.cells import cell as cells_cell
from roost.context import project_context
from roost.db.api import instance_mappings
from roost.db.api import soft_delete as mappings
from roost.db.cell import soft_delete as rows
from roost.db.engine import Database, retried
from roost.objects import InstanceMapping

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class SoftDeletes:
    """Handles soft-deleted servers.

    :param retained_for: seconds for which they can be restored; 0: until a user deletes them
    :param doubted: servers whose mappings are old copies: their cells have a later generation
    """

    database: Database
    cells: Cells
    retained_for: float
    doubted: set[str] = dataclasses.field(default_factory=set)

    def reclaim(self) -> None:
        """Queue servers for delete that were soft-deleted so long ago."""
        if not self.retained_for:
            return
        retained_for = datetime.timedelta(seconds=self.retained_for)
        marker = 0
        while True:
            due = self.database.query(mappings.list_due, retained_for=retained_for, marker=marker)
            if not due:
                break
            marker = due[-1][0]
            for _, mapping in due:
                if self._is_due(mapping):
                    self._queue(mapping)

    def _is_due(self, mapping: InstanceMapping) -> bool:
        """Return whether its cell has no later generation, such as a restore.

        While the cell is unavailable, no: it is checked again later.
        """
        uuid = str(mapping.instance_uuid)
        try:
            with self.cells.get(_cell_of(mapping)).database.read() as session:
                in_cell = rows.find(session, uuid)
        except exception.RoostError as error:
            LOG.info("[instance: %s] not reclaimed now: %s", uuid, error.message)
            return False
        if in_cell is None or in_cell.turn <= mapping.turns:
            return True
        if uuid not in self.doubted:
            self.doubted.add(uuid)
            LOG.error("[instance: %s] not reclaimed, its mapping is an old copy: run roost-manage"
                      " audit --repair", uuid)  # fmt: skip
        return False

    def sync_cells(self, *, but_not: Collection[str]) -> None:
        """Send unsynced soft deletes and restores to their cells.

        :param but_not: unavailable cells, which get them later
        """
        marker = 0
        while True:
            with self.database.read() as session:
                page = mappings.list_unsynced(session, marker=marker, but_not_in=but_not)
            if not page:
                break
            marker = page[-1][0]
            found = sorted((mapping for _, mapping in page), key=_cell_of)
            for _cell, some in itertools.groupby(found, _cell_of):
                self._sync(list(some))

    def _sync(self, some: Collection[InstanceMapping]) -> None:
        """Sync one cell; after an error the rest waits, too."""
        for mapping in some:
            try:
                self._sync_one(mapping)
            except exception.RoostError as error:
                LOG.warning("[instance: %s] not synced: %s", mapping.instance_uuid, error.message)
                return

    def _sync_one(self, mapping: InstanceMapping) -> None:
        uuid, turn = str(mapping.instance_uuid), int(mapping.turns)
        cell, context = self.cells.get(_cell_of(mapping)), project_context(mapping.project_id)
        if mapping.put_away_at is None:
            done = cells_cell.restore(cell, context, uuid, turn=turn)
        else:
            done = cells_cell.soft_delete(cell, context, uuid, turn=turn) or self._queue(mapping)
        if done:
            self.database.write(mappings.note_synced, uuid, turn=turn)

    @retried
    def _queue(self, mapping: InstanceMapping) -> bool:
        """Queue an instance for delete, if its generation has not changed since."""
        uuid = str(mapping.instance_uuid)
        with self.database.begin() as session:
            queued = instance_mappings.queue_for_delete(session, uuid, turn=int(mapping.turns))
        if queued is not None:
            LOG.info("[instance: %s] soft-deleted at %s, deleted now", uuid, mapping.put_away_at)
        return queued is not None


def _cell_of(mapping: InstanceMapping) -> str:
    return str(mapping.cell_uuid)
