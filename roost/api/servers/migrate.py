"""Cold migration of a server to another host, and its end: ``confirmResize`` and ``revertResize``.

The scheduler claims the new host beside the one that the server is on before anything is written:
so a server that fits nowhere else is refused at the request. If the API dies before the rows are
written, the claim expires.
"""

import uuid
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import ADMIN, MANAGER, MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import operations
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.api.servers.server_action import action
from roost.api.validation import Schema, of
from roost.cells import Cell
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import migrations
from roost.objects import Instance, InstancePlace, Migration, RequestSpec, Selection
from roost.objects.migration import CONFIRMING, FINISHED, MIGRATING, REVERTING
from roost.operations.kinds import CONFIRM_RESIZE, MIGRATE, REVERT_RESIZE, Kind

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
        """Claim another host, write the operation, and cast to that host.

        :raises roost.exception.Invalid: when no other host can take the server
        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        asked = call.body["migrate"] or {}
        host = asked.get("host")
        if host is not None:
            call.require(_NAMED_HOST)
        operations.check(server_ref, MIGRATE)
        instance, cell = server_ref.instance, server_ref.cell
        assert cell is not None, "operations.check refuses it"
        spec = self._spec(instance, cell, host)
        chosen = self._choose(call, instance, spec)
        migration = _migration(call, instance, chosen)
        try:
            operation = operations.accept(
                self._dependencies,
                call,
                server_ref,
                MIGRATE,
                migration=migration,
                spec=spec,
                also=lambda session: migrations.create(session, migration),
            )
        except exception.RoostError:
            self._release(call, instance, cell, chosen.host)
            raise
        operations.send(call, server_ref, operation)
        return Answer()

    def _choose(self, call: Call, instance: Instance, spec: RequestSpec) -> Selection:
        """Have the scheduler claim a host beside the one that the server is on."""
        try:
            ((chosen, *_),) = self._dependencies.scheduler.select_destinations(
                call.context,
                request_spec=spec,
                instance_uuids=[instance.uuid],
                alternates=0,
                beside=instance.host,
            )
        except exception.NoValidHost as error:
            shown = error.message if call.allows(SHOW_PLACEMENT_COUNTS) else error.uncounted
            raise exception.Invalid(shown) from error
        return chosen

    def _spec(self, instance: Instance, cell: Cell, host: str | None) -> RequestSpec:
        """Return the request of the server, for another host of its cell."""
        with self._dependencies.api_database.read() as session:
            mapping = instance_mappings.find(session, instance.uuid)
            if mapping is None:
                raise exception.NotFound(f"Instance {instance.uuid} could not be found.")
            spec = build_requests.get_spec(session, mapping.request_uuid)
        spec.num_instances = 1
        spec.flavor, spec.image = instance.flavor, instance.image
        spec.requested_cell = cell.uuid
        spec.requested_host, spec.requested_node, spec.forced = host, None, False
        spec.ignore_hosts = [str(instance.host)]
        spec.retry = None
        return spec

    def _release(self, call: Call, instance: Instance, cell: Cell, host: str) -> None:
        """Release the claim on the new host, unless another request has begun to move it there.

        If no scheduler answers, it expires.
        """
        with cell.database.read() as session:
            moves = migrations.unfinished(session, instance.uuid)
        if moves is not None and moves.dest_host == host:
            return
        try:
            self._dependencies.scheduler.release_claims(
                call.context, instance_uuids=[instance.uuid], host=host
            )
        except exception.Unavailable:
            return


def _migration(call: Call, instance: Instance, chosen: Selection) -> Migration:
    def place(of: Any) -> InstancePlace | None:
        if of.numa_topology is None and not of.pci:
            return None
        return InstancePlace.of(
            instance_uuid=instance.uuid, numa_topology=of.numa_topology, pci=list(of.pci)
        )

    return Migration.of(
        uuid=str(uuid.uuid4()),
        instance_uuid=instance.uuid,
        migration_type="migration",
        status=MIGRATING,
        source_host=instance.host,
        source_node=instance.node or instance.host,
        source_zone=instance.availability_zone,
        source_place=place(instance),
        dest_host=chosen.host,
        dest_node=chosen.node,
        dest_zone=chosen.availability_zone,
        dest_place=place(chosen),
        old_flavor=instance.flavor,
        new_flavor=instance.flavor,
        request_id=call.context.request_id,
        user_id=str(call.context.user_id),
        project_id=instance.project_id,
    )


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
        migration = self._migration(server_ref)
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
        operations.send(call, server_ref, operation)
        return Answer(status=204 if self._kind is CONFIRM_RESIZE else 202)

    def _migration(self, server_ref: ServerRef) -> Migration:
        assert server_ref.cell is not None, "operations.check refuses it"
        with server_ref.cell.database.read() as session:
            found = migrations.unfinished(session, server_ref.instance.uuid)
        if found is None:
            raise exception.Conflict(f"Instance {server_ref.instance.uuid} has no migration.")
        return found


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
