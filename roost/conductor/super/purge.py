"""Removes for good what was deleted long ago: from the cells, then from the API's database.

Any number may do this side by side, by hand or by a super-conductor. Each batch is a transaction
of its own. A cell that is unavailable keeps what it has until the next time, and the API's database
what leads there, so that pages of deleted servers go on after each of them.
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
    """A folder that gets all rows before they are removed: JSON lines, a file per cell and day.

    A batch that several want to remove, or that has to be removed again, is there several times.
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
    """Removes servers that were deleted some time ago.

    :param age: how long ago at least
    :param archive: what keeps their rows; None: nothing does
    :param batch: how many of them one transaction removes
    :param dry_run: count them, and remove nothing
    """

    database: Database
    cells: Cells
    age: datetime.timedelta
    archive: Archive | None = None
    batch: int = BATCH
    dry_run: bool = False

    def run(self) -> Iterator[tuple[Cell, int | exception.Unavailable]]:
        """Yield each cell and how many servers were removed there, or why it could not be done."""
        for cell in self.cells.all():
            try:
                yield cell, self._purge(cell)
            except exception.Unavailable as error:
                yield cell, error
            except Exception as error:
                LOG.exception("the cell %s cannot be purged", cell.name)
                yield cell, exception.Unavailable(f"{type(error).__name__}: see the log")

    def run_all(self) -> None:
        """Purge all cells that can be reached.

        :raises roost.exception.Unavailable: when one could not be purged; all others were
        """
        failed = [error for _, error in self.run() if isinstance(error, exception.Unavailable)]
        if failed:
            raise failed[0]

    def _purge(self, cell: Cell) -> int:
        if self.dry_run:
            with cell.database.read() as session:
                return rows.count(session, self.age)
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
        """Forget where servers were that their cell does not have any more."""
        kept = 0
        while page := self._list_mappings(cell, skip=kept):
            with cell.database.read() as session:
                known = instances.list_known(session, page)
            self._forget([uuid for uuid in page if uuid not in known])
            kept += len(known)

    def _list_mappings(self, cell: Cell, *, skip: int) -> list[str]:
        with self.database.read() as session:
            return instance_mappings.list_older_than(
                session, self.age, cell_uuid=cell.uuid, skip=skip, limit=self.batch
            )

    @retried
    def _forget(self, uuids: Sequence[str]) -> None:
        with self.database.begin() as session:
            instance_mappings.forget_deleted(session, uuids)
