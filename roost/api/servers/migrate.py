"""Cold migration of a server to another host, and the end of moves: confirm and revert."""

import uuid
from typing import Final

from roost import exception, states
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import ADMIN, MANAGER, MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import operations
from roost.api.servers.moves import ServerMove
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.api.servers.requested_host import check_destination
from roost.api.servers.server_action import action
from roost.api.validation import Schema, of
from roost.db.api import build_requests
from roost.db.cell import migrations
from roost.db.engine import Session
from roost.objects import Migration
from roost.objects.migration import CONFIRMING, FINISHED, REVERTING
from roost.operations.kinds import CONFIRM_RESIZE, MIGRATE, REVERT_RESIZE
from roost.operations.steps import Kind

HOST_SINCE: Final = 56  # since 2.56 a host may be named
_NAMED_HOST: Final = Rule(
    "os_compute_api:os-migrate-server:migrate:host",
    ADMIN,
    "Migrate a server to a host that the request names.",
    formerly="os_compute_api:os-migrate-server:migrate",
)


class ColdMigration:
    """The action ``migrate``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Begin the move.

        :raises roost.exception.Invalid: when the server cannot leave its host, or no other host
            can take it, or the request names its own or none of its cell
        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        asked = call.body["migrate"] or {}
        host = asked.get("host")
        if host is not None:
            call.require(_NAMED_HOST)
        operations.check(server_ref, MIGRATE)
        same = "Cannot migrate to the host where the server exists."
        check_destination(self._dependencies, server_ref, host, if_same=same)
        move = ServerMove(
            dependencies=self._dependencies,
            call=call,
            server_ref=server_ref,
            kind=MIGRATE,
            migration_uuid=str(uuid.uuid4()),
            flavor=server_ref.instance.flavor,
            host=host,
        )
        move.check()
        move.start(*move.choose())
        return Answer()


class MoveEnd:
    """The actions ``confirmResize`` and ``revertResize``.

    :param status: of the migration from now on
    """

    def __init__(self, dependencies: Dependencies, kind: Kind, *, status: str) -> None:
        self._dependencies = dependencies
        self._kind = kind
        self._status = status

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write the operation, and cast to the host that begins it.

        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        operations.check(server_ref, self._kind)
        migration, instance = self._migration(server_ref), server_ref.instance
        if self._kind is CONFIRM_RESIZE and instance.power_state == states.NOSTATE:
            raise exception.Conflict(
                f"The guest of instance {instance.uuid} is not on its new host: revert the move."
            )
        operation = operations.accept(
            self._dependencies,
            call,
            server_ref,
            self._kind,
            migration=migration,
            also=lambda session: migrations.update(
                session,
                migration.uuid,
                {"status": self._status},
                expected=[FINISHED, self._status],
            ),
        )
        if self._kind is REVERT_RESIZE:
            self._dependencies.api_database.write(_unpin, migration)
        operations.send(call, server_ref, operation)
        return Answer(status=204 if self._kind is CONFIRM_RESIZE else 202)

    def _migration(self, server_ref: ServerRef) -> Migration:
        assert server_ref.cell is not None, "operations.check refuses it"
        found = server_ref.cell.database.query(migrations.unfinished, server_ref.instance.uuid)
        if found is None:
            raise exception.Conflict(f"Instance {server_ref.instance.uuid} has no migration.")
        return found


def _unpin(session: Session, migration: Migration) -> None:
    """Unpin a server from a zone that it leaves: it was pinned there after its move.

    Nobody pins it meanwhile, as it moves.
    """
    uuid = migration.instance_uuid
    spec = build_requests.spec_of(session, uuid)
    if spec is not None and spec.availability_zone not in (None, migration.source_zone):
        build_requests.pin(session, uuid, spec.request_uuid, None)


_HOST: Final = {"type": "string", "minLength": 1, "maxLength": 255}
ACTIONS: Final = (
    action(
        "migrate",
        ColdMigration,
        Rule("os_compute_api:os-migrate-server:migrate", MANAGER, "Migrate a server."),
        Schema(
            {
                1: {"type": ["object", "string", "null"], "maxProperties": 0, "maxLength": 0},
                HOST_SINCE: {
                    **of({"host": {"anyOf": [_HOST, {"type": "null"}]}}),
                    "type": ["object", "null"],
                },
            }
        ),
        checks=(_NAMED_HOST, SHOW_PLACEMENT_COUNTS),
    ),
    action(
        "confirmResize",
        lambda dependencies: MoveEnd(dependencies, CONFIRM_RESIZE, status=CONFIRMING),
        Rule("os_compute_api:servers:confirm_resize", MEMBER, "Confirm the migration of a server."),
    ),
    action(
        "revertResize",
        lambda dependencies: MoveEnd(dependencies, REVERT_RESIZE, status=REVERTING),
        Rule("os_compute_api:servers:revert_resize", MEMBER, "Revert the migration of a server."),
    ),
)
