"""Settles the quota of resizes whose migration is over. Called by ``sweeper.py``.

Any number of super-conductors may do so: each resize is settled once.
"""

import dataclasses
import itertools
import logging
import operator
import time
from collections.abc import Collection, Sequence
from typing import Final

from roost import exception
from roost.cells import Cells
from roost.db.api import resizes
from roost.db.api.resizes import UnsettledResize
from roost.db.cell import instances, migrations
from roost.db.engine import Database

LOG = logging.getLogger(__name__)
_PATIENCE: Final = 60.0  # seconds: longer than SECONDS_TO_BEGIN, with time for the commit


@dataclasses.dataclass(frozen=True)
class Resizes:
    """Settles resizes.

    :param missed: times since which migrations are not in their cells
    """

    database: Database
    cells: Cells
    missed: dict[str, float] = dataclasses.field(default_factory=dict)

    def settle(self, *, but_not: Collection[str]) -> None:
        """Settle the resizes that are over.

        :param but_not: unavailable cells, whose resizes are settled later
        """
        marker, unsettled = 0, set()
        while True:
            page = self.database.query(resizes.list_unsettled, marker=marker, but_not_in=but_not)
            if not page:
                break
            marker = page[-1].id
            unsettled |= {resize.resize_uuid for resize in page}
            cell_of = operator.attrgetter("cell_uuid")
            for cell_uuid, found in itertools.groupby(sorted(page, key=cell_of), cell_of):
                self._settle_in_cell(cell_uuid, [*found])
        for uuid in self.missed.keys() - unsettled:
            del self.missed[uuid]

    def _settle_in_cell(self, cell_uuid: str, unsettled: Sequence[UnsettledResize]) -> None:
        uuids = [resize.resize_uuid for resize in unsettled]
        try:
            with self.cells.get(cell_uuid).database.read() as session:
                flavors = migrations.flavors_after(session, uuids)
                known = migrations.known(session, uuids)
                for resize in unsettled:
                    if resize.resize_uuid not in known and self._never_comes(resize.resize_uuid):
                        instance = instances.find(session, resize.instance_uuid)
                        if instance is not None:
                            flavors[resize.resize_uuid] = instance.flavor
            for resize in unsettled:
                if resize.resize_uuid in flavors:
                    self.database.write(
                        resizes.settle,
                        resize.instance_uuid,
                        flavors[resize.resize_uuid],
                        migration_uuid=resize.resize_uuid,
                    )
        except exception.RoostError as error:
            LOG.warning("cell %s: the quota of resizes waits: %s", cell_uuid, error.message)

    def _never_comes(self, migration_uuid: str) -> bool:
        """Return whether no API writes a migration any more: its request has taken too long."""
        since = self.missed.setdefault(migration_uuid, time.monotonic())
        return time.monotonic() - since > _PATIENCE
