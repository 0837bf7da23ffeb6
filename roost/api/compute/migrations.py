"""Migrations of servers to other hosts or flavors: their lists over all cells."""

import heapq
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from roost import exception
from roost.api import pagination, validation
from roost.api.dependencies import Dependencies
from roost.api.gather import Gathered, Gatherer
from roost.api.locator import ServerLocator
from roost.api.pagination import micros
from roost.api.policy import ADMIN, MANAGER, Rule
from roost.api.request import Answer, Call, truth
from roost.api.route import Route, row
from roost.api.validation import PAGE, TEXT, TIME, Schema, query
from roost.cells import Cell
from roost.db import ordering
from roost.db.api import flavors
from roost.db.cell import migrations as rows
from roost.db.cell.migrations import NEWEST_FIRST, MigrationFilter
from roost.objects import Migration

T = TypeVar("T")
_INDEX: Final = "os_compute_api:os-migrations:index"
_ALL_PROJECTS: Final = Rule(
    f"{_INDEX}:all_projects", ADMIN, "List the migrations of other projects.", formerly=_INDEX
)
_HOSTS: Final = Rule(
    f"{_INDEX}:host", ADMIN, "See the hosts of listed migrations.", formerly=_INDEX
)
TYPES: Final = 23  # since 2.23 with the type of each migration
PAGES: Final = 59  # since 2.59 the list has pages, and refuses unknown query parameters
PROJECTS: Final = 80  # since 2.80 with user and project

_NAMES: Final = ("hidden", "host", "instance_uuid", "migration_type", "source_compute", "status")
_FILTERS: Final[dict[str, Any]] = dict.fromkeys(_NAMES, TEXT)
_PAGED: Final[dict[str, Any]] = {**_FILTERS, **PAGE, "changes-since": TIME}
_BETWEEN: Final[dict[str, Any]] = {**_PAGED, "changes-before": TIME}

LIST_QUERY: Final = Schema(
    {
        1: query(_FILTERS),
        PAGES: query(_PAGED, strict=True),
        66: query(_BETWEEN, strict=True),
        PROJECTS: query({**_BETWEEN, "user_id": TEXT, "project_id": TEXT}, strict=True),
    }
)


class Migrations:
    """Handler of ``/os-migrations``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)

    def list_all(self, call: Call) -> Answer:
        """List the migrations in all cells, the newest first; before 2.59 only the first page."""
        most = self._dependencies.options.max_limit
        limit = pagination.limit(call, most=most) if call.version >= PAGES else most
        wanted = _wanted(call)
        found = self._page(call, wanted, limit) if wanted is not None else []
        ids = self._flavor_ids(found)
        more: Mapping[str, Any] = {}
        if call.version >= PAGES:
            last = found[-1].uuid if found else ""
            more = pagination.links(call, "migrations", full=len(found) == limit, last=last)
        return Answer({"migrations": [_view(one, call, ids) for one in found], **more})

    def _page(self, call: Call, wanted: MigrationFilter, limit: int) -> list[Migration]:
        cells = [cell for cell in self._dependencies.cells.all() if not cell.is_cell0]
        after = self._after(call, cells)

        def of_cell(cell: Cell) -> list[Migration]:
            return cell.database.query(rows.list_page, wanted, after=after, limit=limit)

        pages = [page for _, page in self._from_each(cells, of_cell).answers]
        merged = heapq.merge(
            *pages, key=lambda one: ordering.rank([one.created_at, one.uuid], NEWEST_FIRST)
        )
        return list(itertools.islice(merged, limit))

    def _after(self, call: Call, cells: list[Cell]) -> list[Any] | None:
        """Return the position of the query's marker; None: it has none."""
        marker = call.query.one("marker") if call.version >= PAGES else None
        if not marker:
            return None

        def of_cell(cell: Cell) -> list[Any] | None:
            return cell.database.query(rows.position, marker)

        if validation.is_uuid(marker):
            for _, position in self._from_each(cells, of_cell).answers:
                if position is not None:
                    return position
        raise exception.Invalid(f"Marker {marker} could not be found.")

    def _from_each(self, cells: list[Cell], work: Callable[[Cell], T]) -> Gathered[T]:
        gathered = self._gatherer.from_each(cells, work)
        if gathered.unavailable and not self._dependencies.options.skip_cells_away:
            raise exception.Unavailable("not all cells can be reached for their migrations")
        return gathered

    def _flavor_ids(self, found: list[Migration]) -> Mapping[str, int]:
        """Return the number of each flavor by its id; deleted ones have none."""
        names = {one.flavorid for each in found for one in (each.old_flavor, each.new_flavor)}
        return self._dependencies.api_database.query(flavors.row_ids, names) if names else {}


def _wanted(call: Call) -> MigrationFilter | None:
    """Return the filters of a list; None: nothing can match.

    :raises roost.exception.Forbidden: for another project, if policy forbids it
    :raises roost.exception.Invalid: for contradictory arguments
    """
    changes = validation.changes(call, since=PAGES)
    names = ["instance_uuid", "migration_type", "status"]
    if call.version >= PROJECTS:
        names += ["user_id", "project_id"]
    equal = {name: value for name in names if (value := call.query.one(name))}
    if source := call.query.one("source_compute"):
        equal["source_host"] = source
    if not call.allows(_ALL_PROJECTS):
        if equal.get("project_id", call.project_id) != call.project_id:
            call.require(_ALL_PROJECTS)
        equal["project_id"] = call.project_id
    if truth(call.query.one("hidden") or "", name="hidden"):
        return None  # none are hidden
    return MigrationFilter(
        equal=equal,
        host=call.query.one("host") or None,
        changed_since=changes.since,
        changed_before=changes.before,
    )


def _view(migration: Migration, call: Call, flavor_ids: Mapping[str, int]) -> dict[str, Any]:
    """Return a migration as the list shows it; hosts only if the caller may see them."""
    hosts = {
        "source_compute": migration.source_host,
        "source_node": migration.source_node,
        "dest_compute": migration.dest_host,
        "dest_node": migration.dest_node,
        "dest_host": migration.dest_ip,
    }
    shown = {
        "id": migration.id,
        "instance_uuid": migration.instance_uuid,
        "status": migration.status,
        "old_instance_type_id": flavor_ids.get(migration.old_flavor.flavorid),
        "new_instance_type_id": flavor_ids.get(migration.new_flavor.flavorid),
        "created_at": micros(migration.created_at),
        "updated_at": micros(migration.updated_at),
        **(hosts if call.allows(_HOSTS) else dict.fromkeys(hosts)),
    }
    if call.version >= TYPES:
        shown["migration_type"] = migration.migration_type
    if call.version >= PAGES:
        shown["uuid"] = migration.uuid
    if call.version >= PROJECTS:
        shown |= {"user_id": migration.user_id, "project_id": migration.project_id}
    return shown


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-migrations",
        (Migrations, Migrations.list_all),
        Rule(_INDEX, MANAGER, "List the migrations of the project's servers."),
        checks=(_ALL_PROJECTS, _HOSTS),
        query=LIST_QUERY,
    ),
)
