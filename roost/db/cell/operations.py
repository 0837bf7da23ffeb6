"""Operations under way on instances: one row each, which is deleted when the operation ends.

At most one has the task state of its instance, which says how far it is; both change in one
transaction. What locks the server is its only operation; others lock parts of it, each another one.
The history of the operation is the action that has its uuid, so no end of one reaches another's
action. Its row names the step that is under way, and the host that does it.

The host that works on it renews its lease. An operation whose lease has expired is taken over by
one sweep, which holds a lease of its own meanwhile. All times are by the clock of the database.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db import clock, prepared, wire
from roost.db.cell import actions, guest_config, instances, models
from roost.db.cell.left_behind import OLD_COPY
from roost.db.engine import Session
from roost.db.types import UtcDateTime, database_now
from roost.objects import (
    GivenLease,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    Migration,
    Operation,
    OperationParams,
    RequestSpec,
)
from roost.operations.kinds import DESTROYING, KINDS, SHARED
from roost.operations.steps import DEVICE, SERVER, SOURCE, Kind, OperationStep

_table = models.operations
_c = _table.c
NAMES: Final = (
    "uuid",
    "instance_uuid",
    "kind",
    "host",
    "step",
    "attempt",
)  # what messages say of an operation
_COLUMNS: Final = tuple(_c[name] for name in Operation.fields if name in _c)
# The row of an operation as a message names it; the parameters are ``_named``.
_HOST: Final = sa.bindparam("is_host", type_=_c.host.type)
_IS: Final = (
    *(_c[name] == sa.bindparam(f"is_{name}") for name in NAMES if name != "host"),
    _c.host.is_not_distinct_from(_HOST),
)
_UNTIL: Final = sa.bindparam("until", type_=UtcDateTime())
_SOONER: Final = sa.or_(_c.lease_until.is_(None), _c.lease_until < _UNTIL)
_s = models.services.c
_WORKER: Final = (_s.host == sa.bindparam("worker"), _s.binary == "roost-compute")
_FORCED_DOWN: Final = sa.select(_s.id).where(*_WORKER, _s.forced_down).exists()
_TAKE_UP: Final = (
    sa.update(_table)
    .where(*_IS, ~_FORCED_DOWN)
    .values(lease_until=sa.case((_SOONER, _UNTIL), else_=_c.lease_until))
)
_CHECK: Final = sa.select(_c.uuid).where(*_IS)
_LOCK: Final = sa.select(_c.tries).where(*_IS).with_for_update()
_REQUEST: Final = sa.select(_c.params, _c.reason, _c.asked).where(*_IS)
_ASKED: Final = sa.select(_c.asked).where(*_IS)
_INSTANCE: Final = sa.bindparam("instance_uuid", type_=_c.instance_uuid.type)
_OF_INSTANCE: Final = (
    sa.select(*_COLUMNS).where(_c.instance_uuid == _INSTANCE).order_by(_c.created_at)
)
_LOCKS: Final = sa.bindparam("lock", type_=_c.lock.type)
_BLOCKING: Final = _OF_INSTANCE.where(
    sa.or_(_LOCKS == SERVER, _c.lock == SERVER, _c.lock == _LOCKS)
)
# Columns of a new row that are parameters, and the insert of one that nothing excludes: which is
# in the way of the whole server, and of a part of it. The row of the instance is locked before.
_GIVEN: Final = (*NAMES, "lock", "params", "request_id", "lease_until")
_OTHERS: Final = _table.alias("others").c
_MINE: Final = _OTHERS.instance_uuid == _INSTANCE
_SAME_LOCK: Final = sa.or_(_OTHERS.lock == SERVER, _OTHERS.lock == _LOCKS)


def _insert(*in_the_way: sa.ColumnElement[bool]) -> sa.Insert:
    values = [sa.bindparam(name, type_=_c[name].type) for name in _GIVEN]
    free = ~sa.select(_OTHERS.uuid).where(*in_the_way).exists()
    here = models.instances.c.uuid == _INSTANCE
    new = sa.select(*values, sa.literal(0), database_now()).where(here, free)
    insert = sa.insert(_table).from_select([*_GIVEN, "tries", "created_at"], new)
    return insert.execution_options(preserve_rowcount=True)


_INSERT_BUILDS: Final = sa.insert(_table)
_INSERT_ALONE: Final = _insert(_MINE)
_INSERT_BESIDE: Final = _insert(_MINE, _SAME_LOCK)
_OF_HOST: Final = (
    _c.uuid.in_(sa.bindparam("uuids", expanding=True)),
    _c.host == sa.bindparam("of_host"),
)
_RENEW: Final = sa.update(_table).where(*_OF_HOST).values(lease_until=_UNTIL)
_STILL_MINE: Final = sa.select(_c.uuid).where(*_OF_HOST).order_by(_c.uuid).with_for_update()
SAME_TRIES: Final = _c.tries  # of a build: over all hosts
_AT_ONCE: Final = 500  # rows that one sweep takes
_QUEUED: Final = "queued"  # status of an image without data, as in roost/image/driver.py
# Kinds that may begin while another operation is under way, which ends then.
_PREEMPTING: Final = {kind.preempted_by for kind in KINDS.values()} | {
    kind.name for kind in KINDS.values() if kind.repeated_until_done
}


class OverdueOperation(NamedTuple):
    """An operation whose lease has expired; ``lease_until`` is that of the sweep that took it."""

    uuid: str
    instance_uuid: str
    project_id: str
    request_id: str
    kind: str
    host: str | None
    step: str
    attempt: int
    tries: int
    handover: str | None
    task_state: str | None
    lease_until: datetime.datetime


def start(
    session: Session,
    kind: Kind,
    record: InstanceAction,
    *,
    uuid: str,
    params: OperationParams | None = None,
    changes: Mapping[str, Any] | None = None,
    migration: Migration | None = None,
    instance: Instance | None = None,
    given: GivenLease | None = None,
) -> Operation:
    """Begin an operation on the host of an instance, with its action; return both rows.

    :param uuid: of the operation; the same again changes nothing
    :param changes: other columns of the instance to change in the same transaction
    :param migration: of a move, which begins with its first step on the host of that
    :param instance: as it was read before; it must still be on its host. None: it is read
    :param given: the lease that its host gets with the message; what it reads comes along
    :raises roost.exception.Conflict: when the instance is on no host and is not deleted, or its
        state, or another operation, does not allow this one; its details have the state that was
        ``found`` then
    :raises roost.exception.NotFound: when the instance is deleted
    """
    instance_uuid = str(record.instance_uuid)
    is_new = actions.start(session, record, operation_uuid=uuid) or not actions.records(
        session, uuid
    )
    if is_new:  # else an earlier try was committed
        task = {"task_state": kind.first} if kind.tasks else {}
        expected = _before(kind, migration)
        if instance is not None:
            expected["host"] = instance.host
        instances.update(session, instance_uuid, {**(changes or {}), **task}, expected=expected)
    step = kind.steps[0]
    comes_along = given is not None and step.reads_instance
    if comes_along:
        instance = guest_config.get_instance(session, instance_uuid)
    elif instance is None:
        instance = instances.get(session, instance_uuid)
    if instance.host is None and not kind.deletes:
        raise exception.Conflict(f"Instance {instance_uuid} is not ready")
    row = {
        "uuid": uuid,
        "instance_uuid": instance_uuid,
        "kind": kind.name,
        "host": instance.host if migration is None else migration.host_at(step.at),
        "step": step.name,
        "attempt": 1,
        "request_id": record.request_id,
        "lease_until": None if given is None else given.until,
    }
    if row["host"] is None:  # nobody is told: the next sweep of a conductor takes it up
        row["lease_until"] = clock.now(session)
    if is_new:
        if kind.name in _PREEMPTING:
            why = f"It was ended by another action: {kind.action}."
            preempt(session, instance_uuid, why)
        lock = lock_of(kind, params)
        _insert_free(session, row | {"lock": lock, "params": wire.dump(params)}, instance)
    named = {name: row[name] for name in NAMES}
    brought = migration if comes_along else None
    return Operation.of(**named, params=params, instance=instance, migration=brought, given=given)


def start_builds(
    session: Session,
    builds: Iterable[tuple[Operation, str]],
    *,
    now: datetime.datetime,
    until: datetime.datetime | None = None,
) -> None:
    """Write the operations of builds with their request ids; their instances are new, too.

    :param until: when the leases end that their hosts get with them
    """
    common = {"tries": 0, "lock": SERVER, "created_at": now, "lease_until": until}
    rows = [
        {name: getattr(build, name) for name in NAMES}
        | {"request_id": request_id, "params": wire.dump(build.params), **common}
        for build, request_id in builds
    ]
    session.execute(_INSERT_BUILDS, rows)


def _insert_free(session: Session, row: Mapping[str, Any], instance: Instance) -> None:
    insert = _INSERT_ALONE if row["lock"] == SERVER else _INSERT_BESIDE
    if session.execute(insert, row).rowcount == 0:
        found = {"vm_state": instance.vm_state, "task_state": None}
        raise exception.Conflict(f"Another operation is under way on {instance.uuid}", found=found)


def lock_of(kind: Kind, params: OperationParams | None) -> str:
    """Return what an operation locks: of a device, that one."""
    if kind.lock != DEVICE:
        return kind.lock
    assert params is not None
    return f"port:{params.port_id}"


def _before(kind: Kind, migration: Migration | None) -> dict[str, Any]:
    """Return what the row of an instance must have, beside a state that allows the operation.

    One without a task state may begin beside what shares the server, too. A move begins on the host
    that it names, with the flavor there, and may come back to its first task.
    """
    if not kind.tasks:
        return {"vm_state": kind.begins, "task_state": (None, *SHARED)}
    if migration is None:
        return {}
    before = {"task_state": None, "host": migration.host_at(kind.begins_at)}
    if kind.begins_at == SOURCE:
        before["flavor_id"] = migration.old_flavor.flavorid
    return before


def list_under_way(session: Session, instance_uuid: str) -> list[Operation]:
    """Return all operations of an instance, the first that began at the front."""
    rows = session.execute(_OF_INSTANCE, {"instance_uuid": instance_uuid})
    return [_operation(row) for row in rows]


def find(session: Session, instance_uuid: str) -> Operation | None:
    """Return the operation that has the task state of an instance."""
    found = list_under_way(session, instance_uuid)
    return next((each for each in found if KINDS[each.kind].tasks), None)


def find_blocking(session: Session, instance_uuid: str, lock: str) -> Operation | None:
    """Return what keeps another operation from beginning; None: nothing does (any more).

    :param lock: what the other one would lock
    """
    rows = session.execute(_BLOCKING, {"instance_uuid": instance_uuid, "lock": lock})
    found = [_operation(row) for row in rows]
    return min(found, key=lambda one: not KINDS[one.kind].tasks, default=None)


def get(
    session: Session, operation: Operation, *, expected: Mapping[str, Any] | None = None
) -> Operation | None:
    """Return an operation with all that its row has; None: it is over, or another host's.

    :param expected: column -> the value that it must have, too
    """
    is_it = {name: getattr(operation, name) for name in NAMES} | {**(expected or {})}
    row = prepared.select(session, *_COLUMNS, where=is_it).one_or_none()
    return None if row is None else _operation(row)


def _operation(row: sa.Row[Any]) -> Operation:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
    return Operation.of(**values | {"params": wire.load(values["params"])})


def find_build(session: Session, instance_uuid: str) -> Operation | None:
    """Return the build that is under way of an instance."""
    found = find(session, instance_uuid)
    return found if found is not None and KINDS[found.kind].builds else None


def find_move(session: Session, instance_uuid: str) -> Operation | None:
    """Return the move that is under way on an instance."""
    found = find(session, instance_uuid)
    return found if found is not None and KINDS[found.kind].is_move else None


def take_up(session: Session, operation: Operation, *, until: datetime.datetime) -> bool:
    """Give the host of an operation a lease on it; False: it is over, or another host's.

    A host that is forced down gets none. A lease that ends later stays as it is: the host has
    renewed it meanwhile.
    """
    asked = {**_named(operation), "worker": operation.worker, "until": until}
    return session.execute(_TAKE_UP, asked).rowcount == 1


def check(session: Session, operation: Operation) -> int:
    """Make sure that an operation is under way on its host, and stays so in this transaction.

    Lock the instance's row first.

    :returns: how often its step was sent to its host again
    :raises roost.exception.Conflict: when it is over, or another host's
    """
    row = session.execute(_LOCK, _named(operation)).first()
    if row is None:
        raise _is_over(operation.uuid)
    return int(row.tries)


def is_under_way(session: Session, operation: Operation) -> bool:
    """Return whether an operation is under way on its host, and in its step."""
    return session.execute(_CHECK, _named(operation)).first() is not None


def ask(session: Session, operation: Operation, what: str) -> None:
    """Ask something of the host of an operation while it does its step.

    :raises roost.exception.Conflict: when it is over, or in another step
    """
    is_it = {name: getattr(operation, name) for name in NAMES}
    if prepared.update(session, _table, is_it, {"asked": what}) == 0:
        raise _is_over(operation.uuid)


def asked(session: Session, operation: Operation) -> str | None:
    """Return what its host is asked meanwhile; None: nothing.

    :raises roost.exception.Conflict: when it is over, or in another step
    """
    row = session.execute(_ASKED, _named(operation)).one_or_none()
    if row is None:
        raise _is_over(operation.uuid)
    what: str | None = row.asked
    return what


def named(row: OverdueOperation | Operation, **changes: Any) -> Operation:
    """Return an operation as messages name it."""
    return Operation.of(**{name: getattr(row, name) for name in NAMES} | changes)


def _named(operation: Operation) -> dict[str, Any]:
    return {f"is_{name}": getattr(operation, name) for name in NAMES}


def end(
    session: Session,
    uuid: str,
    events: Sequence[InstanceActionEvent],
    *,
    expected: Mapping[str, Any],
    message: str | None,
    code: str | None = None,
) -> None:
    """Delete the row of an operation, and finish its action. The instance's row is changed before.

    :param expected: column -> the value that it must have
    :param message: why it failed
    :param code: the error with which its host failed
    :raises roost.exception.Conflict: when it is over, or not as expected
    """
    if prepared.delete(session, _table, {"uuid": uuid, **expected}) == 0:
        raise _is_over(uuid)
    actions.add_to_operation(session, uuid, events, finish=True, message=message, code=code)


def preempt(session: Session, instance_uuid: str, why: str) -> None:
    """End all operations that are under way on an instance: something else begins.

    The instance's row is changed, and so locked, before.

    :param why: what preempts it, for the user
    """
    under_way = prepared.select(session, _c.uuid, where={"instance_uuid": instance_uuid})
    for uuid in under_way.scalars().all():
        end(session, uuid, [], expected={}, message=why)


def go_on(
    session: Session,
    operation: Operation,
    step: OperationStep,
    events: Sequence[InstanceActionEvent],
    *,
    host: str | None,
    until: datetime.datetime,
    expected: Mapping[str, Any] | None = None,
    **values: Any,
) -> None:
    """Write the next step into the row of an operation. The instance's row is changed before.

    :param operation: as it was, and as its row has to be
    :param host: does the step; None: a conductor
    :param until: when it must have begun it
    :param expected: further columns of its row
    :param values: other columns to change
    :raises roost.exception.Conflict: when it is over, or in another step
    """
    begun = {"host": host, "step": step.name, "tries": 0, "lease_until": until}
    if "params" in values:
        values["params"] = wire.dump(values["params"])
    is_it = {name: getattr(operation, name) for name in NAMES} | {**(expected or {})}
    if prepared.update(session, _table, is_it, begun | values) == 0:
        raise _is_over(operation.uuid)
    actions.add_to_operation(session, operation.uuid, events)


def request_of(
    session: Session, operation: Operation
) -> tuple[RequestSpec | None, str | None, str | None] | None:
    """Return the request for the destination of a move, why it is undone, and what was asked.

    :returns: None: the move is over, or in another step
    """
    row = session.execute(_REQUEST, _named(operation)).one_or_none()
    if row is None:
        return None
    params: OperationParams | None = wire.load(row.params)
    return None if params is None else params.spec, row.reason, row.asked


def waits_for_image(session: Session, instance_uuid: str, image_id: str) -> bool:
    """Return whether the operation of an instance is to upload this image."""
    found = find(session, instance_uuid)
    image = None if found is None or found.params is None else found.params.image
    return image is not None and image.id == image_id and image.status == _QUEUED


def renew(session: Session, uuids: Collection[str], *, host: str, seconds: float) -> set[str]:
    """Renew the leases of a host, and return those of these operations that it has no more."""
    if not uuids:
        return set()
    # In one order, against deadlocks with sweeps.
    kept = [*session.scalars(_STILL_MINE, {"uuids": [*uuids], "of_host": host})]
    until = clock.now(session) + datetime.timedelta(seconds=seconds)
    if kept:
        session.execute(_RENEW, {"uuids": kept, "of_host": host, "until": until})
    return {*uuids} - {*kept}


def end_others(session: Session, held: Iterable[str], *, host: str) -> None:
    """End the leases of all operations on a host except those that it holds."""
    now = clock.now(session)
    others = (_c.host == host, _c.uuid.not_in([*held]))
    session.execute(sa.update(_table).where(*others).values(lease_until=now))


def take_overdue(session: Session, *, seconds: float) -> list[OverdueOperation]:
    """Take operations whose lease has expired; only one caller gets each.

    Steps that destroy a guest are left out if it expired longer ago than ``OLD_COPY``. They wait
    until their host starts again (see ``end_others``), or their server is deleted.

    :param seconds: until when a host must have begun one; and the caller's own lease
    """
    now = clock.now(session)
    length = datetime.timedelta(seconds=seconds)
    overdue = sa.or_(
        _c.lease_until <= now, _c.lease_until.is_(None) & (_c.created_at <= now - length)
    )
    lately = sa.func.coalesce(_c.lease_until, _c.created_at, type_=UtcDateTime()) > now - OLD_COPY
    safe = sa.or_(_c.step.not_in(DESTROYING), lately)
    found = [*session.scalars(sa.select(_c.uuid).where(overdue, safe).limit(_AT_ONCE))]
    if not found:
        return []
    # Its lease does not say whose it is: another sweep may have begun in the same microsecond.
    still = sa.select(_c.uuid).where(_c.uuid.in_(found), overdue).order_by(_c.uuid)
    taken = [*session.scalars(still.with_for_update())]
    session.execute(sa.update(_table).where(_c.uuid.in_(taken)).values(lease_until=now + length))
    columns = {**models.instances.c, **_c}
    rows = session.execute(
        sa.select(*[columns[name] for name in OverdueOperation._fields])
        .join(models.instances, models.instances.c.uuid == _c.instance_uuid)
        .where(_c.uuid.in_(taken))
        .order_by(_c.created_at)
    )
    return [OverdueOperation(*row) for row in rows]


def note_try(session: Session, operation: OverdueOperation, event: InstanceActionEvent) -> None:
    """Count that an operation was sent to its host again, with the event that says so."""
    here = _c.uuid == operation.uuid
    if session.execute(sa.update(_table).where(here).values(tries=_c.tries + 1)).rowcount:
        actions.add_to_operation(session, operation.uuid, [event])


def _is_over(uuid: str) -> exception.Conflict:
    return exception.Conflict(f"The operation {uuid} is not under way there any more.")
