"""What projects have used over some time, as bills are made of it."""

import datetime
import heapq
import itertools
from collections.abc import Callable
from typing import Final, TypeVar

from roost import exception
from roost.api import paging
from roost.api.call import Answer, Call
from roost.api.gather import Gathered, Gatherer
from roost.api.parts import Parts
from roost.api.validation import is_uuid
from roost.api.views import tenant_usage as views
from roost.cells import Cell
from roost.db.cell import usage

T = TypeVar("T")
PAGES: Final = 40  # since 2.40 there are pages
_FORMS: Final = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f")


class TenantUsage:
    """Handlers of ``/os-simple-tenant-usage``.

    Each cell is asked once, and once more where a page begins. What ran in a cell that is away is
    missing from the answer; where lists may not be partial, there is none.
    """

    def __init__(self, parts: Parts) -> None:
        self._cells = parts.cells
        self._gatherer = Gatherer(parts.executor, timeout=parts.options.cell_timeout)
        self._partial = parts.options.skip_cells_away
        self._most = parts.options.max_limit
        self._now = parts.now

    def list_all(self, call: Call) -> Answer:
        """Tell of all projects that used anything; a page may end within a project."""
        period = self._period(call)
        ran, links = self._page(call, period, "tenant_usages", project_id=None)
        detailed = call.query.one("detailed") == "1"
        return Answer({"tenant_usages": views.by_project(ran, period, detailed=detailed), **links})

    def show(self, call: Call) -> Answer:
        project = call.params["project_id"]
        call.require_for(project)
        period = self._period(call)
        ran, links = self._page(call, period, "tenant_usage", project_id=project)
        shown = views.by_project(ran, period, detailed=True)
        return Answer({"tenant_usage": shown[0] if shown else {}, **links})

    def _page(
        self, call: Call, period: views.Period, name: str, *, project_id: str | None
    ) -> tuple[list[usage.Ran], dict[str, object]]:
        paged = call.version >= PAGES
        limit = paging.limit(call, most=self._most) if paged else None
        after = self._after(call, project_id) if paged else None

        def of_cell(cell: Cell) -> list[usage.Ran]:
            with cell.database.read() as session:
                return usage.list_ran(
                    session,
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
        return ran, {**paging.links(call, name, full=full, last=ran[-1].uuid if ran else "")}

    def _after(self, call: Call, project_id: str | None) -> tuple[str, str] | None:
        marker = call.query.one("marker")
        if not marker:
            return None

        def of_cell(cell: Cell) -> str | None:
            with cell.database.read() as session:
                return usage.find_project(session, marker)

        asked = self._gather(of_cell) if is_uuid(marker) else Gathered([], [])
        for _, project in asked.answers:
            if project is not None and project_id in (None, project):
                return project, marker
        if asked.away:
            raise exception.Unavailable("not all cells tell what ran there")
        raise exception.Invalid(f"marker [{marker}] not found")

    def _gather(self, work: Callable[[Cell], T]) -> Gathered[T]:
        cells = [cell for cell in self._cells.all() if not cell.is_cell0]
        gathered = self._gatherer.from_each(cells, work)
        if gathered.away and not self._partial:
            raise exception.Unavailable("not all cells tell what ran there")
        return gathered

    def _period(self, call: Call) -> views.Period:
        """Read start and end, which are now unless they are said.

        :raises roost.exception.Invalid: when they are no times, or in the wrong order
        """
        now = self._now()
        start, stop = (_time(call.query.one(name)) or now for name in ("start", "end"))
        if start > stop:
            raise exception.Invalid(
                "Invalid start time. The start time cannot occur after the end time."
            )
        return views.Period(start=start, stop=stop, now=now)


def _time(said: str | None) -> datetime.datetime | None:
    for form in _FORMS:
        if not said:
            return None
        try:
            return datetime.datetime.strptime(said, form).replace(tzinfo=datetime.UTC)
        except ValueError:
            continue
    raise exception.Invalid("Datetime is in invalid format")
