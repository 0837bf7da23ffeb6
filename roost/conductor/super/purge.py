"""Purges servers that were deleted long ago: from the cells, then from the API database.

Any number of processes may do this concurrently, by hand or in a super-conductor. Each batch is a
transaction of its own. The rows of an unavailable cell stay until the next time, and so do their
mappings in the API database, so that lists of deleted servers still find their markers.
"""

import dataclasses
import datetime
import json
import logging
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from roost import exception
from roost.cells import Cell, Cells
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.db.cell import purge as rows
from roost.db.engine import Database, retried

LOG = logging.getLogger(__name__)
BATCH: Final = 100  # instances in a transaction


@dataclasses.dataclass(frozen=True)
class Archive:
    """A folder for copies of all rows before they are removed: JSON lines, a file per cell and day.

    A batch that several processes remove, or that is removed again, is in it several times.
    """

    folder: pathlib.Path

    def keep(self, cell: Cell, found: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Write rows, and return when they are on disk.

        :raises roost.exception.Unavailable: when that cannot be done
        """
        lines = [json.dumps({"table": table, **row}, default=str) for table, row in found]
        path = self.folder / f"{cell.uuid}-{datetime.datetime.now(datetime.UTC):%Y-%m-%d}.jsonl"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(os.open(path, flags, 0o600), "w") as file:
                file.write("".join(f"{line}\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise exception.Unavailable(f"the archive {path} cannot be written: {error}") from error


@dataclasses.dataclass(frozen=True)
class Purge:
    """Purges servers that were deleted some time ago.

    :param age: minimal time since their delete
    :param archive: stores their rows; None: the rows are lost
    :param batch: number of servers that one transaction removes
    :param dry_run: count them, and remove nothing
    """

    database: Database
    cells: Cells
    age: datetime.timedelta
    archive: Archive | None = None
    batch: int = BATCH
    dry_run: bool = False

    def run(self) -> Iterator[tuple[Cell, int | exception.Unavailable]]:
        """Purge each cell; yield it with the number of removed servers, or with the error."""
        for cell in self.cells.all():
            try:
                yield cell, self._purge(cell)
            except exception.Unavailable as error:
                yield cell, error
            except Exception as error:
                LOG.exception("the cell %s cannot be purged", cell.name)
                yield cell, exception.Unavailable(f"{type(error).__name__}: see the log")

    def run_all(self) -> None:
        """Purge all reachable cells.

        :raises roost.exception.Unavailable: when a cell could not be purged; all others were
        """
        failed = [error for _, error in self.run() if isinstance(error, exception.Unavailable)]
        if failed:
            raise failed[0]

    def _purge(self, cell: Cell) -> int:
        if self.dry_run:
            return cell.database.query(rows.count, self.age)
        removed = 0
        while done := self._purge_batch(cell):
            removed += done
        self._forget_mappings(cell)
        return removed

    def _purge_batch(self, cell: Cell) -> int:
        with cell.database.read() as session:
            uuids = rows.list_due(session, self.age, limit=self.batch)
            found = [*rows.read(session, uuids)] if self.archive is not None else []
        if self.archive is not None and uuids:
            self.archive.keep(cell, found)
        return self._remove(cell, uuids)

    @retried
    def _remove(self, cell: Cell, uuids: Sequence[str]) -> int:
        with cell.database.begin() as session:
            taken = rows.take(session, self.age, uuids)
            instances.remove(session, taken)
        return len(taken)

    def _forget_mappings(self, cell: Cell) -> None:
        """Delete the mappings of servers that their cell does not have any more."""
        kept = 0
        while page := self.database.query(
            instance_mappings.list_older_than,
            self.age,
            cell_uuid=cell.uuid,
            skip=kept,
            limit=self.batch,
        ):
            known = cell.database.query(instances.list_known, page)
            self.database.write(
                instance_mappings.forget_deleted, [uuid for uuid in page if uuid not in known]
            )
            kept += len(known)
