"""Operations on servers: written into the row by compare and swap, with an instance action.

The modules of actions begin an operation in the row, then cast to the host, as a hint; the cell's
sweeper resends a lost cast. Of two actions that race, one is refused.
"""

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.api import admission
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef, missing
from roost.api.request import Call
from roost.api.servers import policies
from roost.cells import Cell
from roost.cells import cell as cells_cell
from roost.db.cell import actions, guest_config, operations, services
from roost.db.engine import Session
from roost.db.types import utcnow
from roost.objects import (
    InjectedFile,
    Instance,
    InstanceAction,
    Migration,
    Operation,
    OperationParams,
    Service,
)
from roost.operations import kinds
from roost.operations.steps import DESTINATION, SOURCE, Kind
from roost.servicegroup.driver import ServiceGroup

LOG = logging.getLogger(__name__)
PATIENCE: Final = 60.0  # seconds that a request waits for the end of an operation
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5


def begun(call: Call, instance_uuid: str, action: str) -> InstanceAction:
    """Return the record of an action without its end, which is written later."""
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=action,
        request_id=call.context.request_id,
        user_id=call.context.user_id,
        project_id=call.context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )


def done(call: Call, instance_uuid: str, action: str) -> InstanceAction:
    """Return the record of an action that ends with the transaction that records it."""
    record = begun(call, instance_uuid, action)
    record.finish_time = record.start_time
    return record


def accept(
    dependencies: Dependencies,
    call: Call,
    server_ref: ServerRef,
    kind: Kind,
    *,
    params: OperationParams | None = None,
    changes: Mapping[str, Any] | None = None,
    files: Sequence[InjectedFile] | None = None,
    migration: Migration | None = None,
    also: Callable[[Session], None] | None = None,
) -> Operation:
    """Begin an operation in the rows of its cell, with a record.

    ``instance`` of it is as it was read before; with ``changes``, as it is after them.

    :param changes: other columns of the instance to change in the same transaction
    :param files: the guest's new files; None: they stay
    :param migration: of a move
    :param also: writes more in the same transaction; it may be repeated
    :raises roost.exception.Conflict: when the server's state does not allow the operation, or its
        host is down or too old for it
    """
    instance, cell = server_ref.instance, server_ref.cell
    instance_uuid = str(instance.uuid)
    if cell is None:
        raise refused(instance_uuid, kind, instance.vm_state, instance.task_state)
    _refuse_unplaced(instance)
    host = (changes or {}).get("host", instance.host)
    _check_hosts(dependencies.service_group, cell, instance, kind, migration, host=host)
    record = begun(call, instance_uuid, kind.action)
    operation_uuid = str(uuid.uuid4())
    given = cell.give_lease() if kind.comes_with_lease(kind.steps[0]) else None

    def begin(session: Session) -> Operation:
        operation = operations.start(
            session,
            kind,
            record,
            uuid=operation_uuid,
            params=params,
            changes=changes,
            migration=migration,
            instance=instance if changes is None else None,
            given=given,
        )
        if also is not None:
            also(session)
        if files is not None:
            guest_config.put_files(session, instance_uuid, files)
        return operation

    try:
        return cell.database.write(begin)
    except exception.NotFound as error:
        raise missing(instance_uuid) from error
    except exception.Conflict as error:
        found = error.details.get("found")
        if found is None:
            raise
        state = (found["vm_state"], found["task_state"])
        lock = operations.lock_of(kind, params)
        under_way = cell.database.query(operations.find_blocking, instance_uuid, lock)
        raise refused(instance_uuid, kind, *state, under_way) from error


def check(server_ref: ServerRef, kind: Kind) -> None:
    """Make sure that the server's state, as it was read, allows an operation.

    :func:`accept` does so, too, for a state that has changed meanwhile.

    :raises roost.exception.Conflict: when it does not
    """
    instance = server_ref.instance
    _refuse_unplaced(instance)
    tasks = (None,) if kind.tasks else (None, *kinds.SHARED)
    allowed = instance.vm_state in kind.begins and instance.task_state in tasks
    if server_ref.cell is None or not allowed:
        under_way = None
        if server_ref.cell is not None:
            under_way = server_ref.cell.database.query(operations.find, instance.uuid)
        raise refused(instance.uuid, kind, instance.vm_state, instance.task_state, under_way)


def _refuse_unplaced(instance: Instance) -> None:
    """Raise :class:`roost.exception.Conflict` if no host has ever taken an instance."""
    nowhere = (states.BUILDING, states.SHELVED_OFFLOADED)
    if instance.host is None and instance.vm_state not in nowhere:
        raise exception.Conflict(f"Instance {instance.uuid} is not ready")


def find_computes(
    group: ServiceGroup, cell: Cell, hosts: Collection[str]
) -> list[tuple[Service, bool]]:
    """Return the computes of hosts, and whether each is down.

    While no conductor of the cell is up, nobody receives what hosts report: then none is down but
    those that were forced down.
    """
    known = cell.database.query(services.list_of_hosts, hosts)
    up = group.find_up(known, cell_uuid=cell.uuid, now=cell.database.now())
    computes = [one for one in known if one.binary == "roost-compute"]
    receive = up - {one.uuid for one in computes}
    return [(one, one.uuid not in up and bool(receive or one.forced_down)) for one in computes]


def _check_hosts(
    group: ServiceGroup,
    cell: Cell,
    instance: Instance,
    kind: Kind,
    migration: Migration | None,
    *,
    host: str | None,
) -> None:
    """Make sure that the hosts that an operation needs are up, and know its kind.

    :param host: that of the server, if it does not move
    :raises roost.exception.Conflict: with the reason
    """
    hosts = {host} if migration is None else {migration.source_host, migration.dest_host}
    computes = find_computes(group, cell, {*filter(None, hosts)})
    for its, is_down in computes:
        why = None
        if is_down:
            why = _why_needed(kind, its, migration)
        elif _does_a_step(kind, its, migration) and _numbers(its.version or "1.0") < _numbers(
            kind.since
        ):
            why = "is too old for it: its roost-compute must be upgraded first"
        if why is not None:
            which = "its host" if its.host == instance.host else f"the host {its.host}"
            what = f"'{kind.action}' instance {instance.uuid}"
            raise exception.Conflict(f"Cannot {what}: {which} {why}")


def _why_needed(kind: Kind, its: Service, migration: Migration | None) -> str | None:
    """Return why an operation cannot begin while a host is down; None: it goes on without it."""
    why = f"is down since {its.last_seen_up:%Y-%m-%dT%H:%M:%SZ}"
    if migration is None:
        return None if kind.done.leaves_host else why
    sides = _sides_of(its, migration)
    if not any(kind.needs(side, fenced=its.forced_down) for side in sides):
        return None
    if any(kind.needs(side, fenced=True) for side in sides):
        return why
    return f"{why}; if it is off for good, an administrator forces it down first"


def _sides_of(its: Service, migration: Migration) -> list[str]:
    return [side for side in (SOURCE, DESTINATION) if migration.host_at(side) == its.host]


def _does_a_step(kind: Kind, its: Service, migration: Migration | None) -> bool:
    if migration is None:
        return True
    return any(step.at in _sides_of(its, migration) for step in kind.steps)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def send(call: Call, server_ref: ServerRef, operation: Operation, **parameters: str) -> None:
    """Cast an operation to its host, with parameters that are not in its row."""
    assert server_ref.cell is not None
    LOG.info("[instance: %s] %s accepted", operation.instance_uuid, operation.kind)
    cells_cell.send(server_ref.cell, call.context, operation, **parameters)


def wait_for_end(call: Call, server_ref: ServerRef, operation: Operation) -> None:
    """Wait until an operation has ended; it goes on without anybody who waits.

    :raises roost.exception.RoostError: that of its host, without what only administrators may know
    :raises roost.exception.Conflict: when it was ended without its host
    :raises roost.exception.Silent: when it has not ended in time
    """
    admission.leave_turn()
    cell, uuid = server_ref.cell, operation.instance_uuid
    assert cell is not None
    ended = _await_end(cell, operation)
    if ended is None:
        action = kinds.get(operation.kind).action
        why = f"'{action}' of instance {uuid} is still under way: its host has not ended it yet."
        raise exception.Silent(why, for_users=True)
    if ended.code is None and ended.message is not None:
        raise exception.Conflict(ended.message)
    if ended.code is not None:
        events = cell.database.query(actions.events_of, operation.uuid)
        said = [one.details for one in events if one.details and one.host == operation.host]
        error = exception.of_code(ended.code, [str(ended.message), *said][-1])
        if not call.allows(policies.SHOW_HOST):
            error = exception.without_host(error, operation.worker)
        raise error


def _await_end(cell: Cell, operation: Operation) -> actions.ActionEnd | None:
    deadline, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
    while time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
        with contextlib.suppress(exception.Unavailable):  # the cell may come back in time
            ended = cell.database.query(actions.find_end, operation.uuid)
            if ended is not None:
                return ended
    return None


def refused(
    uuid: str,
    kind: Kind,
    vm_state: str,
    task_state: str | None,
    under_way: Operation | None = None,
) -> exception.Conflict:
    """Return the error: for the vm state, if that does not allow it, else for the task state.

    :param under_way: the operation that is under way, to be named; one without a task state is the
        reason itself
    """
    state = f"it is in vm_state {vm_state}"
    if vm_state in kind.begins and task_state is not None:
        state = f"it is in task_state {task_state}"
    if under_way is not None:
        about = kinds.get(under_way.kind)
        state = f"{state}: " if about.tasks or vm_state not in kind.begins else ""
        state += f"'{about.action}' is under way since {under_way.created_at:%Y-%m-%dT%H:%M:%SZ}"
    return exception.Conflict(f"Cannot '{kind.action}' instance {uuid} while {state}")
