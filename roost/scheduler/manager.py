"""What roost-scheduler serves: a table of contents."""

import datetime
from collections.abc import Callable
from typing import Any, Final

from roost import exception
from roost.callers import Caller
from roost.context import RequestContext
from roost.db import engine as db_engine
from roost.db.engine import Session
from roost.db.scheduler import aggregates as aggregate_rows
from roost.db.scheduler import cells as cell_rows
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import recount as recount_rows
from roost.db.scheduler import reports as report_rows
from roost.db.scheduler import server_groups as group_rows
from roost.db.scheduler import tombstones
from roost.objects import (
    Aggregate,
    CellLiveness,
    Explanation,
    HostReport,
    RequestSpec,
    Selection,
    ServerGroup,
    SnapshotRange,
)
from roost.objects.versions import check_is_past
from roost.scheduler.batches import Batches
from roost.scheduler.cell_users import CellUsers
from roost.scheduler.claims import Claims
from roost.scheduler.drivers import Driver
from roost.scheduler.dry_run import DryRuns
from roost.scheduler.reports import Reports
from roost.scheduler.silence import Hearing, Silence
from roost.scheduler.table import HostTable

RESERVATION_LIFETIME: Final = 60.0


class SchedulerManager:
    """Honours both interfaces of :mod:`roost.rpc.scheduler`. Does nothing before it is asked.

    Who may call what is seen to before; here callers are confined to their cells.

    :param database: the scheduler's own
    :param driver: how hosts are chosen; see :func:`roost.scheduler.plugins.load_driver`
    :param silence: when hosts and cells count as down
    :param hearing: for how long this process has been able to hear them; None: always
    :param reservation_lifetime: seconds after which a claim ends that no host has confirmed
    :param clock: the time that all schedulers go by; None: that of the database's clock
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        silence: Silence | None = None,
        hearing: Hearing | None = None,
        reservation_lifetime: float = RESERVATION_LIFETIME,
        clock: Callable[[], datetime.datetime] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock = clock or database.now
        self._lifetime = reservation_lifetime
        self._cells = CellUsers(database)
        self._table = HostTable(silence=silence, hearing=hearing, now=clock)
        self.batches = Batches(database, driver=driver, table=self._table, clock=clock)
        self._claims = Claims(database, batches=self.batches, clock=clock)
        self._reports = Reports(database, table=self._table, claims=self._claims, clock=clock)
        self._dry_runs = DryRuns(
            database, driver=driver, silence=silence, hearing=hearing, now=clock
        )

    def expire_claims(self) -> int:
        """Drop reserved claims that waited too long; call it again and again."""
        return self._claims.expire(lifetime=self._lifetime)

    def forget_deleted(self) -> int:
        """Forget server groups and aggregates that were deleted long ago; now and then."""
        return self._database.write(tombstones.forget)

    def check_cell(self, caller: Caller, cell_uuid: str) -> None:
        """Make sure that a caller speaks for a cell that it names.

        :raises roost.exception.Forbidden: when it does not
        """
        self._cells.check(caller, cell_uuid)

    # what follows is served

    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        alternates: int,
    ) -> list[list[Selection]]:
        return self._claims.select(
            request_spec,
            instance_uuids,
            alternates=alternates,
            cell_uuid=self._cells.cell_of(context.caller),
        )

    def explain(
        self, context: RequestContext, *, request_spec: RequestSpec, instances: int = 1
    ) -> Explanation:
        return self._dry_runs.explain(request_spec, instances=instances)

    def update_resource_stats(self, context: RequestContext, *, report: HostReport) -> None:
        self._reports.take_in(report, cell_uuid=self._cells.cell_of(context.caller))

    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: RequestSpec,
        to: Selection,
    ) -> Selection:
        cell_uuid = self._cells.cell_of(context.caller)
        return self._claims.move(instance_uuid, request_spec, to=to, cell_uuid=cell_uuid)

    def release_claims(
        self, context: RequestContext, *, instance_uuids: list[str], host: str | None = None
    ) -> None:
        cell_uuid = self._cells.cell_of(context.caller)
        self._claims.release(instance_uuids, host=host, cell_uuid=cell_uuid)

    def restore_claims(
        self, context: RequestContext, *, host: str, node: str, holdings: dict[str, list[int]]
    ) -> list[str]:
        with self._database.read() as session:
            host_id = host_rows.find_id(session, host, node)
        if host_id is None:
            raise exception.NotFound(f"The schedulers do not know the host {host}, node {node}.")
        return self._claims.restore(host_id, holdings)

    def set_host_enabled(
        self, context: RequestContext, *, host: str, enabled: bool, version: int
    ) -> None:
        check_is_past(version, self._clock())

        def step(session: Session) -> list[int]:
            return host_rows.set_enabled(session, host, enabled=enabled, version=version)

        self._table.mark(self._database.write(step))

    def remove_host(self, context: RequestContext, *, host: str) -> None:
        self._table.mark(self._database.write(lambda session: host_rows.remove(session, host)))

    def update_aggregates(
        self,
        context: RequestContext,
        *,
        aggregates: list[Aggregate],
        snapshot: SnapshotRange | None = None,
    ) -> None:
        if self._database.write(
            lambda session: aggregate_rows.take_in(session, aggregates, snapshot=snapshot)
        ):
            self._table.forget_look()

    def update_groups(
        self,
        context: RequestContext,
        *,
        groups: list[ServerGroup],
        snapshot: SnapshotRange | None = None,
    ) -> None:
        self._database.write(lambda session: group_rows.take_in(session, groups, snapshot=snapshot))

    def update_liveness(self, context: RequestContext, *, liveness: CellLiveness) -> None:
        now = self._clock()
        check_is_past(liveness.version, now)
        self._table.mark(
            self._database.write(
                lambda session: cell_rows.take_in(session, liveness, reported_at=now)
            )
        )

    def list_hosts(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        node_uuid: str | None = None,
        host: str | None = None,
    ) -> list[HostReport]:
        with self._database.read() as session:
            heard = cell_rows.heard_of(session)
            return report_rows.list_page(
                session,
                marker=marker,
                limit=limit,
                node_uuid=node_uuid,
                host=host,
                is_up=lambda row: self._is_up(row, heard),
            )

    def list_claims(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        host: str | None = None,
        instance_uuids: list[str] | None = None,
    ) -> list[dict[str, Any]]:
        with self._database.read() as session:
            return claim_rows.list_page(
                session,
                marker=marker,
                limit=limit,
                host=host,
                instance_uuids=instance_uuids,
                now=self._clock(),
            )

    def list_miscounted(self, context: RequestContext) -> list[dict[str, Any]]:
        with self._database.read() as session:
            return recount_rows.list_miscounted(session)

    def recount(self, context: RequestContext, *, host: str) -> bool:
        wrong: list[int] = self._database.write(lambda session: recount_rows.recount(session, host))
        self._table.mark(wrong)
        return bool(wrong)

    def forget_cell(self, context: RequestContext, *, cell_uuid: str) -> None:
        self._cells.forget(cell_uuid)

    def _is_up(self, row: Any, heard: dict[str, datetime.datetime]) -> bool:
        cell_heard = heard.get(row["cell_uuid"])
        return self._table.is_up(
            told_down=row["told_down"],
            reported_at=row["reported_at"].timestamp(),
            cell_heard=cell_heard.timestamp() if cell_heard else None,
        )
