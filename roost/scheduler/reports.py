"""Stores reports of hosts, confirms claims, and corrects drift between claims and reports.

A report is stored with the resource classes and traits that the host's aggregates add.

A claim is *reserved* until its host lists the instance; or *attested*, if who moves the instance
says that it is there, as reports may be older than that. From then on the reports decide: a
confirmed claim whose instance is no longer listed is deleted, and an instance that two reports in a
row list as built, but that has no claim on any host, gets one. This does not affect builds under
way: their claims are reserved, or their hosts do not report their sizes yet. A report changes no
claim on another host: an instance that moves has two.
"""

import dataclasses
import datetime
import logging
from collections.abc import Callable

from roost.db import engine as db_engine
from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import reports as report_rows
from roost.db.scheduler.claims import CONFIRMED, Claim
from roost.objects import HostReport, report_check
from roost.objects.allocations import Allocations
from roost.objects.base import check_is_past
from roost.objects.host_changes import DESCRIPTION
from roost.scheduler.aggregate_resources import AddedResources
from roost.scheduler.changes import HostChanges
from roost.scheduler.claims import Claims
from roost.scheduler.table import HostTable

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class Drift:
    """What a report changed of its host, and its differences to the claims there."""

    host_id: int
    changes: HostChanges
    ended: list[Claim] = dataclasses.field(default_factory=list)
    unclaimed: dict[str, Allocations] = dataclasses.field(default_factory=dict)


class Reports:
    """Stores reports, and corrects claims by them."""

    def __init__(
        self,
        database: db_engine.Database,
        *,
        table: HostTable,
        claims: Claims,
        clock: Callable[[], datetime.datetime],
        publish: Callable[[HostChanges], object] = lambda _: None,
    ) -> None:
        self._database = database
        self._publish = publish
        self._table = table
        self._claims = claims
        self._clock = clock
        self._added = AddedResources()

    def forget_aggregates(self) -> None:
        """Have the next report read the aggregates: some changed."""
        self._added.forget_look()

    def take_in(self, report: HostReport, *, cell_uuid: str | None = None) -> None:
        """Store a report, confirm claims, and correct drift.

        :param cell_uuid: the cell to which the host is confined; None: it may change its cell
        :raises roost.exception.Forbidden: when another cell has a host of that name
        :raises roost.exception.Invalid: when its ``enabled_version`` is in the future, or others
            could not read what it says
        """
        report_check.check(report)
        check_is_past(report.enabled_version, self._clock())
        drift = db_engine.retried(self._store)(report, cell_uuid)
        if drift is None:
            return
        self._table.mark([drift.host_id])
        self._publish(drift.changes)
        for claim in drift.ended:
            LOG.warning(
                "[instance: %s] not on %s, its claim is deleted", claim.instance_uuid, report.host
            )
        self._claims.drop(drift.ended)
        restored = self._claims.restore(
            drift.host_id, drift.unclaimed, instance_resources=report.instance_resources
        )
        for uuid in restored:
            LOG.warning("[instance: %s] on %s without a claim, one is created", uuid, report.host)

    def _store(self, report: HostReport, cell_uuid: str | None) -> Drift | None:
        """Store the report in one transaction; return the drift.

        The time of the report is now, whatever the host's clock says.
        """
        reported_at = self._clock()
        with self._database.begin() as session:
            report = self._added.added_to(session, report)
            taken = report_rows.take_in(
                session, report, reported_at=reported_at, cell_uuid=cell_uuid
            )
            if taken is None:
                return None
            changes = HostChanges.of(DESCRIPTION, [taken.host_id])
            if taken.same:
                changes = HostChanges(heard={taken.host_id: reported_at.timestamp()})
            drift = Drift(taken.host_id, changes)
            if not taken.settled:
                drift.ended, drift.unclaimed = self._compare(session, report, taken)
            return drift

    def _compare(
        self, session: Session, report: HostReport, taken: report_rows.TakenIn
    ) -> tuple[list[Claim], dict[str, Allocations]]:
        """Return claims whose instances are gone, and what instances without one hold."""
        states = claim_rows.on_host(session, taken.host_id)
        listed = set(report.instances)
        unseen = {uuid for uuid, state in states.items() if state != CONFIRMED}
        confirmed = sorted(unseen & listed)
        if confirmed:
            claim_rows.confirm(session, taken.host_id, confirmed)
        gone = [uuid for uuid, state in states.items() if state == CONFIRMED and uuid not in listed]
        missing = sorted(uuid for uuid in report.holdings if uuid not in states)
        held = claim_rows.find(session, [*missing, *gone])
        unclaimed = [uuid for uuid in missing if uuid not in held]
        waiting = bool(unseen - listed)
        report_rows.note_settled(
            session,
            taken.host_id,
            # A claim on another host may be deleted later, which no report of this host shows.
            settled=not (gone or missing or waiting),
            unclaimed=unclaimed,
        )
        ended = [
            claim for uuid in gone for claim in held.get(uuid, ()) if claim.host_id == taken.host_id
        ]
        again = set(taken.unclaimed).intersection(unclaimed)
        return ended, {uuid: report.holdings[uuid] for uuid in again}
