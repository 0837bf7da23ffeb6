"""Moves of servers, as migrations and resizes begin them.

The scheduler claims the destination beside the host that the server is on before anything is
written: so a server that fits nowhere else is refused at the request. If the API dies before the
rows are written, the claim expires.
"""

import dataclasses
import time
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.request import Call
from roost.api.servers import operations
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.cells import Cell
from roost.db.api import instance_mappings
from roost.db.cell import migrations
from roost.db.engine import Session
from roost.hardware.properties import HardwareProperties
from roost.hardware.requirements import requirements_of
from roost.hardware.rules import local_state
from roost.objects import (
    Flavor,
    Instance,
    InstanceResources,
    Migration,
    NetworkRequest,
    Operation,
    OperationParams,
    RequestSpec,
    Selection,
)
from roost.objects.migration import LIVE_MIGRATION, MIGRATING
from roost.operations.kinds import EVACUATE, LIVE_MIGRATE, RESIZE
from roost.operations.steps import Kind

_TYPES: Final[Mapping[Kind, str]] = {
    RESIZE: "resize",
    EVACUATE: "evacuation",
    LIVE_MIGRATE: LIVE_MIGRATION,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerMove:
    """A move of a server that the API begins.

    :param migration_uuid: of its migration, to come
    :param flavor: of the server at the destination
    :param host: that the request names as the destination
    :param forced: whether that takes it without the filters that may be left out
    :param same_host: whether the host of the server may be the destination, too
    :param changes: other columns of the instance to change
    :param power: that the guest is to have; None: the same as now
    :param begin_until: when it is too late to write the migration, by ``time.monotonic``
    """

    dependencies: Dependencies
    call: Call
    server_ref: ServerRef
    kind: Kind
    migration_uuid: str
    flavor: Flavor
    host: str | None = None
    forced: bool = False
    same_host: bool = False
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    begin_until: float = float("inf")
    power: int | None = None

    @property
    def _instance(self) -> Instance:
        return self.server_ref.instance

    @property
    def _cell(self) -> Cell:
        assert self.server_ref.cell is not None, "operations.check refuses it"
        return self.server_ref.cell

    @property
    def _stays_because(self) -> str | None:
        """Why the server cannot be on another host than its own; None: it can."""
        state = local_state(HardwareProperties(self._instance.flavor, self._instance.image))
        return state and f"The server has {state}, which cannot be copied to another host."

    def check(self) -> None:
        """Make sure that the server can be on another host, unless it may stay on its own.

        :raises roost.exception.Invalid: when it cannot
        """
        if not self.same_host and (why := self._stays_because) is not None:
            raise exception.Invalid(why)

    def choose(self) -> tuple[RequestSpec, Selection]:
        """Have the scheduler claim a host beside the one that the server is on.

        :returns: the request, and that host
        :raises roost.exception.Invalid: when no host can take the server
        """
        spec = self._spec()
        try:
            chosen = claim_host(
                self.dependencies, self.call, spec, self._instance.uuid, beside=self._instance.host
            )
        except exception.Invalid as error:
            reasons = (self._stays_because, error.message)
            raise exception.Invalid(" ".join(filter(None, reasons))) from error
        return spec, chosen

    def start(self, spec: RequestSpec, chosen: Selection, **parameters: str) -> Operation:
        """Write the operation, cast to its first host, and return it.

        :param parameters: of the message, which are not in the row
        :raises roost.exception.Conflict: when the server's state does not allow the action
        :raises roost.exception.Unavailable: when it is too late
        """
        migration = self._migration(chosen)

        def create(session: Session) -> None:
            if time.monotonic() > self.begin_until:
                raise exception.Unavailable("The request has taken too long. Try again.")
            migrations.create(session, migration)

        try:
            operation = operations.accept(
                self.dependencies,
                self.call,
                self.server_ref,
                self.kind,
                changes=self.changes,
                migration=migration,
                params=OperationParams.of(spec=spec),
                also=create,
            )
        except exception.RoostError:
            self._release(chosen, spec)
            raise
        operations.send(self.call, self.server_ref, operation, **parameters)
        return operation

    def _spec(self) -> RequestSpec:
        """Return the request of the server as it is now, for another host of its cell."""
        instance = self._instance
        spec = spec_in_cell(self.dependencies, self.server_ref, self.flavor)
        spec.requested_host = self.host if self._stays_because is None else instance.host
        spec.forced = self.forced
        spec.ignore_hosts = [] if self.same_host else [str(instance.host)]
        return spec

    def _migration(self, chosen: Selection) -> Migration:
        instance, context = self._instance, self.call.context
        return Migration.of(
            uuid=self.migration_uuid,
            instance_uuid=instance.uuid,
            migration_type=_TYPES.get(self.kind, "migration"),
            status=self.kind.steps[0].migration or MIGRATING,
            source_host=instance.host,
            source_node=instance.node or instance.host,
            source_zone=instance.availability_zone,
            source_resources=InstanceResources.of_holder(instance, instance_uuid=instance.uuid),
            dest_host=chosen.host,
            dest_ip=chosen.host_ip,
            dest_node=chosen.node,
            dest_zone=chosen.availability_zone,
            dest_resources=InstanceResources.of_holder(chosen, instance_uuid=instance.uuid),
            old_flavor=instance.flavor,
            new_flavor=self.flavor,
            power_before=instance.power_state if self.power is None else self.power,
            request_id=context.request_id,
            user_id=str(context.user_id),
            project_id=instance.project_id,
        )

    def _release(self, chosen: Selection, spec: RequestSpec) -> None:
        """Release the claim on the new host, unless a request has begun to move the server there.

        One that has grown on the server's own host becomes what it was. If no scheduler answers,
        a new claim expires.
        """
        uuid, scheduler = self._instance.uuid, self.dependencies.scheduler
        under_way = self._cell.database.query(migrations.unfinished, uuid)
        if under_way is not None and under_way.dest_host == chosen.host:
            return
        try:
            if chosen.host == self._instance.host:
                spec.flavor = self._instance.flavor
                scheduler.move_claim(
                    self.call.context,
                    instance_uuid=uuid,
                    request_spec=spec,
                    to=chosen,
                )
            else:
                scheduler.release_claims(self.call.context, instance_uuids=[uuid], host=chosen.host)
        except exception.Unavailable:
            return


def spec_in_cell(dependencies: Dependencies, server_ref: ServerRef, flavor: Flavor) -> RequestSpec:
    """Return the request of a server as it is now, for a host of its cell."""
    assert server_ref.cell is not None
    instance = server_ref.instance
    spec = dependencies.api_database.query(instance_mappings.spec_for_now, instance.uuid)
    needs = requirements_of(flavor, instance.image, dependencies.options.pci_aliases)
    spec.num_instances = 1
    spec.flavor, spec.image = flavor, instance.image
    spec.numa_topology, spec.pci_requests = needs.numa_topology, list(needs.pci_requests)
    spec.locality = dependencies.networking.locality(_interfaces(instance))
    spec.requested_cell = server_ref.cell.uuid
    spec.requested_host, spec.requested_node, spec.forced = None, None, False
    spec.ignore_hosts, spec.retry = [], None
    return spec


def claim_host(
    dependencies: Dependencies,
    call: Call,
    spec: RequestSpec,
    instance_uuid: str,
    *,
    beside: str | None = None,
) -> Selection:
    """Have the scheduler claim a host for a server that exists.

    :param beside: the host that it is on now
    :raises roost.exception.Invalid: when no host can take it
    """
    try:
        ((chosen, *_),) = dependencies.scheduler.select_destinations(
            call.context,
            request_spec=spec,
            instance_uuids=[instance_uuid],
            alternates=0,
            beside=beside,
        )
    except exception.NoValidHost as error:
        counted = call.allows(SHOW_PLACEMENT_COUNTS)
        raise exception.Invalid(error.message if counted else error.uncounted) from error
    found: Selection = chosen
    return found


def _interfaces(instance: Instance) -> list[NetworkRequest]:
    """Return the interfaces that a server has by now, as a create asks for them."""
    vifs = instance.network_info.vifs if instance.network_info is not None else []
    return [
        NetworkRequest.of(network_id=vif.network_id, fixed_ip=None, port_id=vif.id, tag=vif.tag)
        for vif in vifs
    ]
