"""Actions on a server: the table by name; power actions, rescue, password, reset of the state.

An action first writes its task into the row; of two actions that race, one is refused. Then it
casts to the host, as a hint; the cell's sweeper resends a lost cast.

``os-resetState`` only changes the row. The task that was under way loses its lease: its host finds
the row without the task and does nothing, and no sweep resends it. An image that was being created
of the server gets no data, and is deleted. A server that is declared active though its guest is
stopped becomes stopped again as soon as its host compares the two; one in error stays as it is
until a user reboots or deletes it. A server that is being built or deleted, or is soft-deleted, is
refused: the conductors complete these operations. So is one that waits for a confirmation, unless
both of its hosts are down: then it is on the new host from now on, and what the old one has of it
stays there, for an operator to decide.

``changePassword`` sends the password to the host and stores it nowhere. ``injectNetworkInfo``
writes nothing into guests: they read their network from the metadata service.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any, Final

from roost import exception, states
from roost.api.dependencies import Dependencies
from roost.api.legacy import floating_ips, removed
from roost.api.locator import ServerLocator, ServerRef, missing
from roost.api.policy import ADMIN, MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import (
    consoles,
    delete,
    evacuate,
    live_migrate,
    locks,
    migrate,
    operations,
    rebuild,
    resize,
    security_groups,
    shelve,
)
from roost.api.servers import images as servers_images
from roost.api.servers.guest_config import password
from roost.api.servers.server_action import Act, action, body_of, plain
from roost.api.validation import TEXT, UUID, of
from roost.cells import Cell
from roost.db.cell import faults, instances, migrations
from roost.db.cell import operations as operation_rows
from roost.db.engine import Session, retried
from roost.db.types import utcnow
from roost.hardware.requirements import check_rescue_image
from roost.objects import ImageMeta, Instance, InstanceFault, Migration, OperationParams
from roost.objects.migration import FAILED, FINISHED
from roost.operations import kinds
from roost.operations.steps import Kind
from roost.operations.transitions import RESETS
from roost.states import RESIZED


def _reboot(asked: Any) -> Kind:
    return kinds.HARD_REBOOT if asked["type"].upper() == "HARD" else kinds.REBOOT


@dataclasses.dataclass(frozen=True)
class SimpleAction:
    """An action whose operation needs nothing but its kind, which its arguments may select."""

    dependencies: Dependencies
    kind_of: Callable[[Any], Kind]

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write the operation into the row, then cast to the host.

        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        (asked,) = call.body.values()
        kind = self.kind_of(asked)
        operation = operations.accept(self.dependencies, call, server_ref, kind)
        operations.send(call, server_ref, operation)
        return Answer()


def _simple(kind: Kind) -> Callable[[Dependencies], Act]:
    return lambda dependencies: SimpleAction(dependencies, lambda _asked: kind)


_RESCUE: Final = "rescue"


class ServerRescue:
    """The action ``rescue``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write the operation into the row, cast to the host, and return the guest's password.

        :raises roost.exception.Invalid: when there is no such image, or its requirements are unmet
        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        asked = call.body[_RESCUE] or {}
        image = self._image(call, asked, server_ref.instance)
        params = OperationParams.of(image=image)
        operation = operations.accept(
            self._dependencies, call, server_ref, kinds.RESCUE, params=params
        )
        secret = asked.get("adminPass") or password()
        operations.send(call, server_ref, operation, password=secret)
        shown = self._dependencies.options.instance_password
        return Answer({"adminPass": secret} if shown else {}, status=200)

    def _image(self, call: Call, asked: dict[str, Any], instance: Instance) -> ImageMeta:
        """Return the requested image, or else the server's own."""
        if asked.get("rescue_image_ref"):
            image = servers_images.usable(call, self._dependencies, asked["rescue_image_ref"])
            check_rescue_image(instance.flavor, image, own=instance.image)
            return image
        if instance.image is None:
            raise exception.Invalid("The server has no image to be rescued with: specify one.")
        own: ImageMeta = instance.image
        return own


_WHY = "An administrator has reset the state of the server."


@dataclasses.dataclass(frozen=True)
class StateReset:
    """The action ``os-resetState``."""

    dependencies: Dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write the requested state into the row.

        :raises roost.exception.Conflict: while the server is built or deleted, or for ``active``
            without a host, or while its move can be confirmed or reverted
        """
        instance, cell = server_ref.instance, server_ref.cell
        vm_state = call.body["os-resetState"]["state"]
        if cell is None:
            raise _refused(instance)
        if instance.host is None and vm_state == states.ACTIVE:
            raise exception.Conflict(f"Instance {instance.uuid} is not ready")
        migration = self._lost_move(cell, instance) if instance.vm_state == RESIZED else None
        _write(cell, str(instance.uuid), vm_state, migration)
        if migration is not None and not migration.stays_on_host:
            with contextlib.suppress(exception.Unavailable):  # then an audit finds the claim
                self.dependencies.scheduler.release_claims(
                    call.context, instance_uuids=[instance.uuid], host=migration.source_host
                )
        return Answer()

    def _lost_move(self, cell: Cell, instance: Instance) -> Migration | None:
        """Return the move of an instance, if both of its hosts are down."""
        migration = cell.database.query(migrations.unfinished, instance.uuid)
        if migration is None:
            return None
        hosts = {migration.source_host, str(migration.dest_host)}
        computes = operations.find_computes(self.dependencies.service_group, cell, hosts)
        if not all(is_down for _, is_down in computes):
            raise exception.Conflict(
                f"Cannot 'reset' instance {instance.uuid} while it is in vm_state {RESIZED}:"
                " confirm or revert its move. Neither needs a host that is off for good, once that"
                " is forced down."
            )
        return migration


@retried
def _write(cell: Cell, uuid: str, vm_state: str, migration: Migration | None) -> None:
    with cell.database.begin() as session:
        try:
            found = instances.get(session, uuid)
        except exception.NotFound as error:
            raise missing(uuid) from error
        if found.vm_state == RESIZED and migration is None:
            raise _refused(found)
        _move(session, found, vm_state)
        operation_rows.preempt(session, uuid, _WHY)
        if migration is not None:
            migrations.update(session, migration.uuid, {"status": FAILED}, expected=[FINISHED])
        if vm_state == states.ERROR != found.vm_state:
            faults.add(session, _fault(uuid))


def _move(session: Session, found: Instance, vm_state: str) -> None:
    """Change the row, unless it was changed since it was read."""
    changes = {"vm_state": vm_state, "task_state": None}
    expected = {"vm_state": found.vm_state, "task_state": found.task_state}
    try:
        instances.update(session, found.uuid, changes, expected=expected, moves=RESETS)
    except exception.Conflict as error:
        raise _refused(found) from error


def _refused(found: Instance) -> exception.Conflict:
    state = f"vm_state {found.vm_state}"
    if found.vm_state != states.BUILDING and found.task_state is not None:
        state = f"task_state {found.task_state}"
    return exception.Conflict(f"Cannot 'reset' instance {found.uuid} while it is in {state}")


def _fault(uuid: str) -> InstanceFault:
    return InstanceFault(
        instance_uuid=uuid, code=500, message=_WHY, details=None, host=None, created_at=utcnow()
    )


_CHANGE: Final = "changePassword"


class PasswordChange:
    """The action ``changePassword``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write the operation into the row, and send the new password to the host.

        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        kind, secret = kinds.CHANGE_PASSWORD, call.body[_CHANGE]["adminPass"]
        operation = operations.accept(self._dependencies, call, server_ref, kind)
        operations.send(call, server_ref, operation, password=secret)
        return Answer()


def inject(_call: Call, server_ref: ServerRef) -> Answer:
    """Accept the action; it has no effect.

    :raises roost.exception.Conflict: while the server is on no host
    """
    if server_ref.instance.host is None:
        uuid = server_ref.instance.uuid
        raise exception.Conflict(
            f"Instance {uuid} is on no host: there is no guest to inject the network into."
        )
    return Answer()


_REBOOT: Final = of(
    {"type": {"type": "string", "enum": ["SOFT", "Soft", "soft", "HARD", "Hard", "hard"]}},
    required=["type"],
)
_RESCUE_ARGUMENTS: Final = {
    **of({"adminPass": TEXT, "rescue_image_ref": UUID}),
    "type": ["object", "null"],
}
_STATE: Final = of({"state": {"type": "string", "enum": ["active", "error"]}}, required=["state"])

_ACTIONS: Final = (
    action(
        "os-start",
        _simple(kinds.START),
        Rule("os_compute_api:servers:start", MEMBER, "Start a stopped server."),
    ),
    action(
        "os-stop",
        _simple(kinds.STOP),
        Rule("os_compute_api:servers:stop", MEMBER, "Stop a server."),
    ),
    action(
        "reboot",
        lambda dependencies: SimpleAction(dependencies, _reboot),
        Rule("os_compute_api:servers:reboot", MEMBER, "Reboot a server."),
        _REBOOT,
    ),
    action(
        "pause",
        _simple(kinds.PAUSE),
        Rule("os_compute_api:os-pause-server:pause", MEMBER, "Pause a server."),
    ),
    action(
        "unpause",
        _simple(kinds.UNPAUSE),
        Rule("os_compute_api:os-pause-server:unpause", MEMBER, "Unpause a server."),
    ),
    action(
        "suspend",
        _simple(kinds.SUSPEND),
        Rule("os_compute_api:os-suspend-server:suspend", MEMBER, "Suspend a server."),
    ),
    action(
        "resume",
        _simple(kinds.RESUME),
        Rule("os_compute_api:os-suspend-server:resume", MEMBER, "Resume a server."),
    ),
    action(
        _RESCUE,
        ServerRescue,
        Rule(
            "os_compute_api:os-rescue",
            MEMBER,
            "Start a server from another image, to repair its disks.",
        ),
        _RESCUE_ARGUMENTS,
    ),
    action(
        "unrescue",
        _simple(kinds.UNRESCUE),
        Rule("os_compute_api:os-unrescue", MEMBER, "Unrescue a server."),
    ),
    action(
        _CHANGE,
        PasswordChange,
        Rule(
            "os_compute_api:os-admin-password",
            MEMBER,
            "Change a server's administrator's password.",
        ),
        of({"adminPass": TEXT}, required=["adminPass"]),
    ),
    action(
        "trigger_crash_dump",
        _simple(kinds.TRIGGER_CRASH_DUMP),
        Rule(
            "os_compute_api:servers:trigger_crash_dump",
            MEMBER,
            "Make the operating system of a server crash, so that it dumps its memory.",
        ),
        since=17,
    ),
    action(
        "os-resetState",
        StateReset,
        Rule(
            "os_compute_api:os-admin-actions:reset_state",
            ADMIN,
            "Declare a server to be active or in error.",
        ),
        _STATE,
        despite_lock=True,
    ),
    action(
        "injectNetworkInfo",
        plain(inject),
        Rule(
            "os_compute_api:os-admin-actions:inject_network_info",
            ADMIN,
            "Inject a guest's network information again.",
        ),
    ),
)
_TABLES: Final = (
    _ACTIONS,
    rebuild.ACTIONS,
    migrate.ACTIONS,
    evacuate.ACTIONS,
    live_migrate.ACTIONS,
    resize.ACTIONS,
    shelve.ACTIONS,
    servers_images.ACTIONS,
    locks.ACTIONS,
    consoles.ACTIONS,
    delete.ACTIONS,
    security_groups.ACTIONS,
    floating_ips.ACTIONS,
)
ACTIONS: Final = {row.name: row for table in _TABLES for row in table}
BODY: Final = body_of(ACTIONS.values())


class ServerActions:
    """Handler of ``/servers/{id}/action``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._acts = {name: row.make(dependencies) for name, row in ACTIONS.items()}

    def act(self, call: Call) -> Answer:
        """Perform the action that the body names, if the caller may."""
        server_ref = self._locator.find(call, call.params["server_id"])
        (name,) = call.body
        removed.refuse_action(name)
        _refuse_unknown(call, name)
        _require(call, ACTIONS[name].rule, server_ref)
        if not ACTIONS[name].despite_lock:
            locks.refuse(call, server_ref.instance)
        return self._acts[name](call, server_ref)


def _refuse_unknown(call: Call, name: str) -> None:
    """Raise unless there is such an action in the call's microversion.

    :raises roost.exception.NotFound: when only other microversions have it
    :raises roost.exception.Invalid: when no microversion has it
    """
    if name in BODY.document(call.version)["properties"]:
        return
    if name in ACTIONS:
        raise exception.NotFound(f"There is no action {name} in version 2.{call.version}.")
    raise exception.Invalid(f"There is no such action: {name}")


def _require(call: Call, rule: Rule, server_ref: ServerRef) -> None:
    """Raise :class:`roost.exception.Forbidden` unless the policy allows the caller the action."""
    if not call.allows(rule, project_id=server_ref.instance.project_id):
        raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")
