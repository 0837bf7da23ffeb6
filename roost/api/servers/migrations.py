"""The live migrations of a server that are under way: shown, aborted, and made to end soon.

Other moves are not shown here, as in OpenStack. What is asked of a migration is written into the
row of its operation; the host that copies the guest reads it with its next report.
"""

from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef
from roost.api.pagination import micros
from roost.api.policy import ADMIN, MANAGER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import Schema, of
from roost.cells import Cell
from roost.db.cell import migrations, operations
from roost.objects import Migration, Operation
from roost.objects.migration import BYTES, LIVE_MIGRATION
from roost.operations.kinds import LIVE_MIGRATE
from roost.operations.steps import ABORT, FORCE_COMPLETE, SOURCE

_SINCE: Final = 23
_UUIDS_SINCE: Final = 59
_OWNERS_SINCE: Final = 80
_QUEUED_SINCE: Final = 65  # since 2.65 one that does not copy yet can be aborted, too


class ServerMigrations:
    """Handlers of ``/servers/{id}/migrations``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def index(self, call: Call) -> Answer:
        server_ref = self._locator.find(call, call.params["server_id"])
        found = _under_way(server_ref)
        return Answer({"migrations": [] if found is None else [_view(found, call)]})

    def show(self, call: Call) -> Answer:
        return Answer({"migration": _view(self._find(call)[1], call)})

    def abort(self, call: Call) -> Answer:
        """Abort a migration; the server stays where it is.

        :raises roost.exception.Conflict: when it is too late, or before 2.65 too early
        """
        early = call.version >= _QUEUED_SINCE
        self._ask(call, ABORT, early=early)
        return Answer(status=202)

    def act(self, call: Call) -> Answer:
        """Make a migration end soon, at the cost of a longer pause.

        :raises roost.exception.Conflict: when the guest is not copied now
        """
        self._ask(call, FORCE_COMPLETE, early=False)
        return Answer(status=202)

    def _ask(self, call: Call, what: str, *, early: bool) -> None:
        cell, migration = self._find(call)
        operation = cell.database.query(operations.find_move, migration.instance_uuid)
        copy = LIVE_MIGRATE.copy
        assert copy is not None, "it is a live migration"
        steps = [step.name for step in LIVE_MIGRATE.steps]
        allowed = [copy.name, *[ask.name for ask in copy.asks if ask.at == SOURCE]]
        if early:
            allowed += steps[: steps.index(copy.name)]
        if operation is None or operation.step not in allowed:
            raise _too_late(migration, operation, what)
        try:
            cell.database.write(operations.ask, operation, what)
        except exception.Conflict as error:
            raise _too_late(migration, operation, what) from error

    def _find(self, call: Call) -> tuple[Cell, Migration]:
        server_ref = self._locator.find(call, call.params["server_id"])
        asked, found = call.params["migration_id"], _under_way(server_ref)
        if found is None or server_ref.cell is None or str(found.id) != asked:
            uuid = server_ref.instance.uuid
            raise exception.NotFound(f"Migration {asked} not found for instance {uuid}.")
        return server_ref.cell, found


def _under_way(server_ref: ServerRef) -> Migration | None:
    if server_ref.cell is None:
        return None
    found = server_ref.cell.database.query(migrations.unfinished, server_ref.instance.uuid)
    is_live = found is not None and found.migration_type == LIVE_MIGRATION
    return found if is_live else None


def _too_late(migration: Migration, operation: Operation | None, what: str) -> exception.Conflict:
    step = "over" if operation is None else f"in its step {operation.step} ({migration.status})"
    verb = "aborted" if what == ABORT else "forced to complete"
    return exception.Conflict(f"Migration {migration.id} cannot be {verb}: it is {step}.")


def _view(migration: Migration, call: Call) -> dict[str, Any]:
    shown = {
        "id": migration.id,
        "server_uuid": migration.instance_uuid,
        "status": migration.status,
        "source_compute": migration.source_host,
        "source_node": migration.source_node,
        "dest_compute": migration.dest_host,
        "dest_node": migration.dest_node,
        "dest_host": migration.dest_ip,
        "created_at": micros(migration.created_at),
        "updated_at": micros(migration.updated_at or migration.created_at),
        **{name: getattr(migration, name) or None for name in BYTES},  # Nova has no zeros
    }
    if call.version >= _UUIDS_SINCE:
        shown["uuid"] = migration.uuid
    if call.version >= _OWNERS_SINCE:
        shown |= {"user_id": migration.user_id, "project_id": migration.project_id}
    return shown


_ALL: Final = "/v2.1/servers/{server_id}/migrations"
_ONE: Final = f"{_ALL}/{{migration_id}}"
_RULE: Final = "os_compute_api:servers:migrations"
_FORCE: Final = of({"force_complete": {"type": "null"}}, required=["force_complete"])
ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (ServerMigrations, ServerMigrations.index),
        Rule(f"{_RULE}:index", MANAGER, "List the live migrations of a server."),
        since=_SINCE,
    ),
    row(
        f"GET {_ONE}",
        (ServerMigrations, ServerMigrations.show),
        Rule(f"{_RULE}:show", ADMIN, "Show a live migration of a server."),
        since=_SINCE,
    ),
    row(
        f"DELETE {_ONE}",
        (ServerMigrations, ServerMigrations.abort),
        Rule(f"{_RULE}:delete", MANAGER, "Abort a live migration of a server."),
        since=24,
    ),
    row(
        f"POST {_ONE}/action",
        (ServerMigrations, ServerMigrations.act),
        Rule(f"{_RULE}:force_complete", MANAGER, "Make a live migration of a server end soon."),
        since=22,
        body=Schema({22: _FORCE}),
    ),
)
