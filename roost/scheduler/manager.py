"""What roost-scheduler serves: a table of contents."""

import datetime
from collections.abc import Callable
from typing import Any

from roost.context import RequestContext
from roost.db import engine as db_engine
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.types import utcnow
from roost.objects import HostReport, RequestSpec, Selection
from roost.scheduler.claims import Claims
from roost.scheduler.drivers import Driver
from roost.scheduler.hosts import HostTable


class SchedulerManager:
    """Honours :class:`roost.rpc.scheduler.Scheduler`. Does nothing before it is asked.

    :param database: the scheduler's own
    :param driver: how hosts are chosen; see :func:`roost.scheduler.plugins.load_driver`
    :param host_silence: seconds after its last report at which a host gets no new instances
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        host_silence: float,
        clock: Callable[[], datetime.datetime] = utcnow,
    ) -> None:
        self._database = database
        self._clock = clock
        self._table = HostTable()
        self._claims = Claims(
            database, driver=driver, table=self._table, host_silence=host_silence, clock=clock
        )

    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        alternates: int,
    ) -> list[list[Selection]]:
        return self._claims.select(request_spec, instance_uuids, alternates=alternates)

    def update_resource_stats(self, context: RequestContext, *, report: HostReport) -> None:
        host_id = db_engine.retried(self._take_in)(report)
        if host_id is not None:
            self._table.mark([host_id])

    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: RequestSpec,
        to: Selection,
    ) -> Selection:
        self._claims.move(instance_uuid, request_spec, to=to)
        return _claimed(to)

    def release_claims(
        self, context: RequestContext, *, instance_uuids: list[str], host: str | None = None
    ) -> None:
        self._claims.release(instance_uuids, host=host)

    def set_host_enabled(self, context: RequestContext, *, host: str, enabled: bool) -> None:
        self._table.mark(db_engine.retried(self._set_enabled)(host, enabled=enabled))

    def list_hosts(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[HostReport]:
        alive = self._claims.alive_since()
        with self._database.read() as session:
            return host_rows.list_page(session, marker=marker, limit=limit, alive_since=alive)

    def list_claims(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        with self._database.read() as session:
            return claim_rows.list_page(session, marker=marker, limit=limit)

    def _take_in(self, report: HostReport) -> int | None:
        """Store a report and confirm the claims of the instances it lists, in one transaction.

        A host's clock that is ahead must not make its later reports look old once it is set right.
        """
        reported_at = min(report.reported_at, self._clock())
        with self._database.begin() as session:
            host_id = host_rows.take_in(session, report, reported_at=reported_at)
            if host_id is not None:
                claim_rows.confirm(session, host_id, report.instances)
        return host_id

    def _set_enabled(self, host: str, *, enabled: bool) -> list[int]:
        with self._database.begin() as session:
            return host_rows.set_enabled(session, host, enabled=enabled)


def _claimed(to: Selection) -> Selection:
    return Selection.of(
        host=to.host,
        node=to.node,
        cell_uuid=to.cell_uuid,
        availability_zone=to.availability_zone,
        claimed=True,
    )
