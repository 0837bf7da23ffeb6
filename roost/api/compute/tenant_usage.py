"""Usage of projects over a period, for billing: hours of servers, CPUs, memory and disk."""

import dataclasses
import datetime
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from roost import exception
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.gather import Gathered, Gatherer
from roost.api.pagination import micros
from roost.api.policy import ADMIN, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import PAGE, STRICT_QUERIES, TEXT, Schema, is_uuid, query
from roost.cells import Cell
from roost.db.cell import usage
from roost.db.cell.usage import Ran
from roost.objects.flavor import root_gb

_HOUR: Final = 3600.0  # seconds


@dataclasses.dataclass(frozen=True)
class Period:
    """The period of a usage report, and the time of the request."""

    start: datetime.datetime
    stop: datetime.datetime
    now: datetime.datetime

    def hours(self, one: Ran) -> float:
        """Return how long an instance ran within the period."""
        ended = min(one.ended or self.stop, self.stop)
        return max(0.0, (ended - max(one.began, self.start)).total_seconds() / _HOUR)


def by_project(ran: Iterable[Ran], period: Period, *, detailed: bool) -> list[dict[str, Any]]:
    """Return the usage of each project.

    :param ran: in order of projects
    :param detailed: include the servers
    """
    return [
        _project(project, list(servers), period, detailed=detailed)
        for project, servers in itertools.groupby(ran, key=lambda one: one.project_id)
    ]


def _project(project: str, ran: list[Ran], period: Period, *, detailed: bool) -> dict[str, Any]:
    hours = [(one, period.hours(one)) for one in ran]
    shown: dict[str, Any] = {
        "start": micros(period.start),
        "stop": micros(period.stop),
        "tenant_id": project,
        "total_hours": sum(each for _, each in hours),
        "total_local_gb_usage": sum(_local_gb(one) * each for one, each in hours),
        "total_memory_mb_usage": sum(one.flavor.memory_mb * each for one, each in hours),
        "total_vcpus_usage": sum(one.flavor.vcpus * each for one, each in hours),
    }
    if detailed:
        shown["server_usages"] = [_server(one, period) for one in ran]
    return shown


def _server(one: Ran, period: Period) -> dict[str, Any]:
    return {
        "ended_at": micros(one.ended),
        "flavor": one.flavor.name,
        "hours": period.hours(one),
        "instance_id": one.uuid,
        "local_gb": _local_gb(one),
        "memory_mb": one.flavor.memory_mb,
        "name": one.name,
        "started_at": micros(one.began),
        "state": one.vm_state if one.ended is None else "terminated",
        "tenant_id": one.project_id,
        "uptime": int(((one.ended or period.now) - one.began).total_seconds()),
        "vcpus": one.flavor.vcpus,
    }


def _local_gb(one: Ran) -> int:
    return root_gb(one.flavor, one.image) + int(one.flavor.ephemeral_gb)


T = TypeVar("T")
PAGES: Final = 40  # since 2.40 the list has pages
_FORMS: Final = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f")


class TenantUsage:
    """Handlers of ``/os-simple-tenant-usage``.

    Each cell is queried once, and once more for a marker. Usage in an unavailable cell is missing
    from the answer; where lists may not be partial, the request fails.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._cells = dependencies.cells
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)
        self._partial = dependencies.options.skip_cells_away
        self._most = dependencies.options.max_limit
        self._now = dependencies.now

    def list_all(self, call: Call) -> Answer:
        """Return the usage of all projects that have any; a page may end within a project."""
        period = self._period(call)
        ran, links = self._page(call, period, "tenant_usages", project_id=None)
        detailed = call.query.one("detailed") == "1"
        return Answer({"tenant_usages": by_project(ran, period, detailed=detailed), **links})

    def show(self, call: Call) -> Answer:
        project = call.params["project_id"]
        call.require_for(project)
        period = self._period(call)
        ran, links = self._page(call, period, "tenant_usage", project_id=project)
        shown = by_project(ran, period, detailed=True)
        return Answer({"tenant_usage": shown[0] if shown else {}, **links})

    def _page(
        self, call: Call, period: Period, name: str, *, project_id: str | None
    ) -> tuple[list[usage.Ran], dict[str, object]]:
        paged = call.version >= PAGES
        limit = pagination.limit(call, most=self._most) if paged else None
        after = self._after(call, project_id) if paged else None

        def of_cell(cell: Cell) -> list[usage.Ran]:
            return cell.database.query(
                usage.list_ran,
                since=period.start,
                until=period.stop,
                project_id=project_id,
                after=after,
                limit=limit,
            )

        pages = [page for _, page in self._gather(of_cell).answers]
        merged = heapq.merge(*pages, key=lambda one: (one.project_id, one.uuid))
        ran = list(itertools.islice(merged, limit))
        full = bool(ran) and len(ran) == limit
        return ran, {**pagination.links(call, name, full=full, last=ran[-1].uuid if ran else "")}

    def _after(self, call: Call, project_id: str | None) -> tuple[str, str] | None:
        marker = call.query.one("marker")
        if not marker:
            return None

        def of_cell(cell: Cell) -> str | None:
            return cell.database.query(usage.find_project, marker)

        asked = self._gather(of_cell) if is_uuid(marker) else Gathered([], [])
        for _, project in asked.answers:
            if project is not None and project_id in (None, project):
                return project, marker
        if asked.unavailable:
            raise exception.Unavailable("not all cells report their usage")
        raise exception.Invalid(f"marker [{marker}] not found")

    def _gather(self, work: Callable[[Cell], T]) -> Gathered[T]:
        cells = [cell for cell in self._cells.all() if not cell.is_cell0]
        gathered = self._gatherer.from_each(cells, work)
        if gathered.unavailable and not self._partial:
            raise exception.Unavailable("not all cells report their usage")
        return gathered

    def _period(self, call: Call) -> Period:
        """Read start and end; the default of both is now, and the future is not counted.

        :raises roost.exception.Invalid: when they are not times, or in the wrong order
        """
        now = self._now()
        start, stop = (_time(call.query.one(name)) or now for name in ("start", "end"))
        if start > stop:
            raise exception.Invalid(
                "Invalid start time. The start time cannot occur after the end time."
            )
        return Period(start=start, stop=max(start, min(stop, now)), now=now)


def _time(said: str | None) -> datetime.datetime | None:
    for form in _FORMS:
        if not said:
            return None
        try:
            return datetime.datetime.strptime(said, form).replace(tzinfo=datetime.UTC)
        except ValueError:
            continue
    raise exception.Invalid("Datetime is in invalid format")


_PERIOD: Final[dict[str, Any]] = {"start": TEXT, "end": TEXT}


def _paged(names: dict[str, Any]) -> Schema:
    return Schema(
        {
            1: query(names),
            PAGES: query({**names, **PAGE}),
            STRICT_QUERIES: query({**names, **PAGE}, strict=True),
        }
    )


LIST_QUERY: Final = _paged({**_PERIOD, "detailed": TEXT})
SHOW_QUERY: Final = _paged(_PERIOD)


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-simple-tenant-usage",
        (TenantUsage, TenantUsage.list_all),
        Rule(
            "os_compute_api:os-simple-tenant-usage:list",
            ADMIN,
            "Show the usage of all projects in a period.",
        ),
        query=LIST_QUERY,
        slash=False,
    ),
    row(
        "GET /v2.1/os-simple-tenant-usage/{project_id}",
        (TenantUsage, TenantUsage.show),
        Rule(
            "os_compute_api:os-simple-tenant-usage:show", READER, "Show the usage of one project."
        ),
        query=SHOW_QUERY,
    ),
)
