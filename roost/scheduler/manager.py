"""The RPC manager of roost-scheduler: dispatches calls, and confines callers to their cells."""

import datetime
from collections.abc import Callable
from typing import Any, Final

from roost import exception
from roost.callers import Level, MessageSender
from roost.clock import boot_clock
from roost.context import RequestContext
from roost.db import engine as db_engine
from roost.db.engine import Database, Session
from roost.db.scheduler import aggregates as aggregate_rows
from roost.db.scheduler import cells as cell_rows
from roost.db.scheduler import changes as change_rows
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
    HostChangePage,
    HostReport,
    InstanceResources,
    ResourceRequest,
    Selection,
    ServerGroup,
    SnapshotRange,
    bounds,
    report_check,
)
from roost.objects.base import check_is_past
from roost.objects.host_changes import CLAIMS, DESCRIPTION, LIVENESS
from roost.rpc.scheduler import RESERVATION_LIFETIME
from roost.scheduler.batches import Batches
from roost.scheduler.changes import HostChanges, Peers
from roost.scheduler.claims import Claims
from roost.scheduler.drivers import Driver
from roost.scheduler.explain import DryRuns
from roost.scheduler.hosts import problem_of
from roost.scheduler.liveness import LivenessTimeouts, ReceiveWindow
from roost.scheduler.reports import Reports
from roost.scheduler.table import HostTable

_HELP: Final = (
    "roost-manage cell forget-user lets another user of the bus report for a cell; see"
    " doc/security.rst"
)
_CACHE_SECONDS: Final = 5.0  # after forget-user all schedulers follow within this time


class CellUsers:
    """The cells to which callers are confined, cached for some seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[str, float]] = {}  # by user: its cell, and when it was read

    def cell_of(self, caller: MessageSender) -> str | None:
        """Return the uuid of the cell to which a caller is confined; None: any cell.

        :raises roost.exception.Forbidden: when its cell is not known
        """
        if caller.cell is None:
            return None
        found = self._cached(caller.cell) or self._read(caller.cell)
        if found is None:
            raise exception.Forbidden(
                f"the cell of the bus user {caller.cell!r} is not known yet: its cell-conductors"
                " report it"
            )
        return found

    def check(self, caller: MessageSender, cell_uuid: str) -> None:
        """Make sure that a caller reports for its own cell; its conductors bind an unbound one.

        :raises roost.exception.Forbidden: when the cell is another user's
        """
        if caller.cell is None or self._cached(caller.cell) == cell_uuid:
            return
        own = self._read(caller.cell)
        if own is None and caller.level is Level.CELL:
            own = self._claim(caller.cell, cell_uuid)
        if own != cell_uuid:
            raise exception.Forbidden(
                f"the bus user {caller.user!r} may not report for cell {cell_uuid}; {_HELP}"
            )

    def forget(self, cell_uuid: str) -> None:
        """Unbind the user of a cell: the next user that reports for it is bound."""
        self._database.write(lambda session: cell_rows.forget(session, cell_uuid))
        self._known.clear()

    def _cached(self, bus_user: str) -> str | None:
        cell_uuid, read_at = self._known.get(bus_user, (None, 0.0))
        return cell_uuid if boot_clock() - read_at < _CACHE_SECONDS else None

    def _read(self, bus_user: str) -> str | None:
        with self._database.read() as session:
            return self._note(bus_user, cell_rows.find(session, bus_user))

    def _claim(self, bus_user: str, cell_uuid: str) -> str | None:
        claimed = self._database.write(
            lambda session: cell_rows.claim(session, bus_user, cell_uuid)
        )
        return self._note(bus_user, claimed)

    def _note(self, bus_user: str, cell_uuid: str | None) -> str | None:
        if cell_uuid is None:
            self._known.pop(bus_user, None)
        else:
            self._known[bus_user] = (cell_uuid, boot_clock())
        return cell_uuid


class SchedulerManager:
    """Implements all interfaces of :mod:`roost.rpc.scheduler`. Starts no work of its own.

    Callers are authorized before; here they are confined to their cells.

    :param database: the scheduler's own
    :param driver: chooses hosts; see :func:`roost.scheduler.plugins.load_driver`
    :param silence: timeouts after which hosts and cells are down
    :param hearing: for how long this process has received reports; None: always
    :param reservation_lifetime: seconds after which an unconfirmed claim expires
    :param clock: the clock that all schedulers share; None: that of the database
    :param publish: called with the changes of each commit of this process
    :param is_fed: whether this process receives those of others now
    :param peers: the other schedulers, which are noted as they are heard of; None: an own record
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        silence: LivenessTimeouts | None = None,
        hearing: ReceiveWindow | None = None,
        reservation_lifetime: float = RESERVATION_LIFETIME,
        clock: Callable[[], datetime.datetime] | None = None,
        publish: Callable[[HostChanges], object] = lambda _: None,
        is_fed: Callable[[], bool] = lambda: False,
        peers: Peers | None = None,
    ) -> None:
        self._peers = peers or Peers()
        self._publish = publish
        self._database = database
        self._clock = clock = clock or database.now
        self._reads = driver.engine.reads
        self._lifetime = reservation_lifetime
        self._cells = CellUsers(database)
        self._table = HostTable(silence=silence, hearing=hearing, is_fed=is_fed, now=clock)
        self.batches = Batches(
            database, driver=driver, table=self._table, clock=clock, publish=publish
        )
        self._claims = Claims(database, batches=self.batches, clock=clock)
        self._reports = Reports(
            database, table=self._table, claims=self._claims, clock=clock, publish=publish
        )
        self._dry_runs = DryRuns(
            database, driver=driver, silence=silence, hearing=hearing, now=clock
        )

    def expire_claims(self) -> int:
        """Delete expired reserved claims; return how many. Call it periodically."""
        return self._claims.expire(lifetime=self._lifetime)

    def note_read_parts(self) -> None:
        """Store what this process reads of hosts' reports. Call it periodically."""
        self._database.write(
            lambda session: report_rows.note_read_parts(session, self._peers.name, self._reads)
        )

    def forget_deleted(self) -> int:
        """Remove tombstones of server groups and aggregates; return how many. Call it sometimes."""
        return self._database.write(tombstones.forget)

    def check_cell(self, caller: MessageSender, cell_uuid: str) -> None:
        """Make sure that a caller may report for a cell.

        :raises roost.exception.Forbidden: when it may not
        """
        self._cells.check(caller, cell_uuid)

    # RPC methods

    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: ResourceRequest,
        instance_uuids: list[str],
        alternates: int,
        beside: str | None = None,
    ) -> list[list[Selection]]:
        return self._claims.select(
            request_spec,
            instance_uuids,
            alternates=alternates,
            beside=beside,
            cell_uuid=self._cells.cell_of(context.caller),
        )

    def select_for_requests(
        self,
        context: RequestContext,
        *,
        request_specs: list[ResourceRequest],
        instance_uuids: list[list[str]],
        alternates: int,
    ) -> list[list[list[Selection]] | None]:
        if len(request_specs) != len(instance_uuids):
            raise exception.Invalid("There must be one list of instances for each request spec.")
        requests = zip(request_specs, instance_uuids, strict=True)
        return self._claims.select_for_requests(requests, alternates=alternates)

    def explain(
        self, context: RequestContext, *, request_spec: ResourceRequest, instances: int = 1
    ) -> Explanation:
        if not 1 <= instances <= bounds.ITEMS:
            raise exception.Invalid(f"The number of instances is from 1 to {bounds.ITEMS}.")
        return self._dry_runs.explain(request_spec, instances=instances)

    def update_resource_stats(self, context: RequestContext, *, report: HostReport) -> None:
        self._reports.take_in(report, cell_uuid=self._cells.cell_of(context.caller))

    def list_read_parts(self, context: RequestContext) -> list[str]:
        with self._database.read() as session:
            return sorted(self._reads | report_rows.list_read_parts(session))

    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: ResourceRequest,
        to: Selection,
        leaving: str | None = None,
        arrived: bool = False,
    ) -> Selection:
        return self._claims.move(
            instance_uuid,
            request_spec,
            to=to,
            leaving=leaving,
            arrived=arrived,
            cell_uuid=self._cells.cell_of(context.caller),
        )

    def release_claims(
        self,
        context: RequestContext,
        *,
        instance_uuids: list[str],
        host: str | None = None,
        reserved: bool = False,
    ) -> None:
        cell_uuid = self._cells.cell_of(context.caller)
        self._claims.release(instance_uuids, host=host, reserved=reserved, cell_uuid=cell_uuid)

    def restore_claims(
        self,
        context: RequestContext,
        *,
        host: str,
        node: str,
        holdings: dict[str, dict[str, dict[str, int]]],
        instance_resources: list[InstanceResources] | None = None,
    ) -> list[str]:
        wrong = report_check.wrong_holdings(holdings, instance_resources or ())
        if wrong is not None:
            raise exception.Invalid(f"The claims are refused: {wrong}.")
        with self._database.read() as session:
            host_id = host_rows.find_id(session, host, node)
        if host_id is None:
            raise exception.NotFound(f"The schedulers do not know the host {host}, node {node}.")
        return self._claims.restore(host_id, holdings, instance_resources=instance_resources or ())

    def set_host_enabled(
        self, context: RequestContext, *, host: str, enabled: bool, version: int
    ) -> None:
        check_is_past(version, self._clock())

        def step(session: Session) -> list[int]:
            return host_rows.set_enabled(session, host, enabled=enabled, version=version)

        self._committed(HostChanges.of(DESCRIPTION, self._database.write(step)))

    def remove_host(self, context: RequestContext, *, host: str) -> None:
        removed = self._database.write(lambda session: host_rows.remove(session, host))
        changes = HostChanges(removed=set(removed))
        self.batches.learn(changes)
        self._publish(changes)

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
            self._reports.forget_aggregates()
            self._publish(HostChanges(aggregates=True))

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
        changed = self._database.write(
            lambda session: cell_rows.take_in(session, liveness, reported_at=now)
        )
        if changed is not None:
            changes = HostChanges.of(LIVENESS, changed)
            changes.cells = {liveness.cell_uuid: now.timestamp()}
            self.batches.learn(changes)
            self._publish(changes)

    def list_hosts(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        node_uuid: str | None = None,
        host: str | None = None,
        node: str | None = None,
    ) -> list[HostReport]:
        with self._database.read() as session:
            reported = cell_rows.last_reports(session)
            return report_rows.list_page(
                session,
                marker=marker,
                limit=limit,
                node_uuid=node_uuid,
                host=host,
                node=node,
                is_up=lambda row: self._is_up(row, reported),
                problem_of=problem_of,
            )

    def changes_since(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> HostChangePage:
        with self._database.read() as session:
            return change_rows.since(session, marker=marker, limit=limit)

    def hosts_changed(
        self,
        context: RequestContext,
        *,
        sender: str,
        usages: list[list[Any]],
        stale: list[int],
        removed: list[int],
        heard: list[list[Any]],
        cells: dict[str, float],
        aggregates: bool,
    ) -> None:
        if self._peers.note(sender):
            changes = HostChanges.from_message(
                usages=usages,
                stale=stale,
                removed=removed,
                heard=heard,
                cells=cells,
                aggregates=aggregates,
            )
            self.batches.learn(changes)

    def list_claims(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        host: str | None = None,
        instance_uuids: list[str] | None = None,
        project_id: str | None = None,
    ) -> list[dict[str, Any]]:
        with self._database.read() as session:
            return claim_rows.list_page(
                session,
                marker=marker,
                limit=limit,
                host=host,
                instance_uuids=instance_uuids,
                project_id=project_id,
                now=self._clock(),
            )

    def list_miscounted(self, context: RequestContext) -> list[dict[str, Any]]:
        with self._database.read() as session:
            return recount_rows.list_miscounted(session)

    def recount(self, context: RequestContext, *, host: str) -> bool:
        wrong: list[int] = self._database.write(lambda session: recount_rows.recount(session, host))
        self._committed(HostChanges.of(CLAIMS, wrong))
        return bool(wrong)

    def forget_cell(self, context: RequestContext, *, cell_uuid: str) -> None:
        self._cells.forget(cell_uuid)

    def _committed(self, changes: HostChanges) -> None:
        """Have the changes of a commit read here, and everywhere else."""
        self._table.mark(changes.stale)
        self._publish(changes)

    def _is_up(self, row: Any, reported: dict[str, datetime.datetime]) -> bool:
        cell_at = reported.get(row["cell_uuid"])
        return self._table.is_up(
            told_down=row["told_down"],
            reported_at=row["reported_at"].timestamp(),
            cell_at=cell_at.timestamp() if cell_at else None,
        )
