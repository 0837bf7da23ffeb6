"""Migrations of servers to other hosts: the lists are empty, as no server is ever migrated."""

from typing import Any, Final

from roost import exception
from roost.api import validation
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator
from roost.api.policy import ADMIN, MANAGER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import PAGE, TEXT, TIME, Schema, query

PAGES: Final = 59  # since 2.59 the list has pages, and refuses unknown query parameters

_NAMES: Final = ("hidden", "host", "instance_uuid", "migration_type", "source_compute", "status")
_FILTERS: Final[dict[str, Any]] = dict.fromkeys(_NAMES, TEXT)
_PAGED: Final[dict[str, Any]] = {**_FILTERS, **PAGE, "changes-since": TIME}
_BETWEEN: Final[dict[str, Any]] = {**_PAGED, "changes-before": TIME}

LIST_QUERY: Final = Schema(
    {
        1: query(_FILTERS),
        PAGES: query(_PAGED, strict=True),
        66: query(_BETWEEN, strict=True),
        80: query({**_BETWEEN, "user_id": TEXT, "project_id": TEXT}, strict=True),
    }
)


class Migrations:
    """Handlers of ``/os-migrations`` and of ``/servers/{id}/migrations``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def list_all(self, call: Call) -> Answer:
        """Return an empty list if the query is valid."""
        validation.changes(call, since=PAGES)
        marker = call.query.one("marker")
        if marker and call.version >= PAGES:
            raise exception.Invalid(f"Marker {marker} could not be found.")
        return Answer({"migrations": []})

    def list_of_server(self, call: Call) -> Answer:
        self._locator.find(call, call.params["server_id"])
        return Answer({"migrations": []})

    def show_of_server(self, call: Call) -> Answer:
        server, migration = call.params["server_id"], call.params["migration_id"]
        self._locator.find(call, server)
        raise exception.NotFound(f"Migration {migration} not found for instance {server}.")


_OF_SERVER: Final = "/v2.1/servers/{server_id}/migrations"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-migrations",
        (Migrations, Migrations.list_all),
        Rule("os_compute_api:os-migrations:index", MANAGER, "List migrations."),
        query=LIST_QUERY,
    ),
    row(
        f"GET {_OF_SERVER}",
        (Migrations, Migrations.list_of_server),
        Rule(
            "os_compute_api:servers:migrations:index", MANAGER, "List the migrations of a server."
        ),
        since=23,
    ),
    row(
        f"GET {_OF_SERVER}/{{migration_id}}",
        (Migrations, Migrations.show_of_server),
        Rule("os_compute_api:servers:migrations:show", ADMIN, "Show a migration of a server."),
        since=23,
    ),
)
