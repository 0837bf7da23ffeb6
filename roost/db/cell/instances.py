"""Instances of a cell. A change names the values that it expects, so the loser of a race fails."""

import collections
import datetime
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception, states
from roost.db import clock, prepared, wire
from roost.db.cell import instance_index, models
from roost.db.cell.left_behind import OLD_COPY
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import database_now
from roost.objects import GuestConfig, Instance, NetworkInfo
from roost.operations.transitions import TRANSITIONS, Transitions

_instances = models.instances
_OWNED = (
    models.instance_faults,
    models.operations,
    models.migrations,
    models.ports,
    models.instance_tags,
    models.instance_addresses,
    models.instance_provisions,
    models.left_behind,
)
STATE = ("uuid", "host", "vm_state", "task_state", "locked", "shelved_image_id")
_STATE = tuple(_instances.c[name] for name in STATE)
_BEGIN_ANEW = (states.REBUILDING, states.UNSHELVING)
_AT_ONCE = 1000  # rows that one statement names
_OBJECTS = ("flavor", "image", "keypair", "network_info", "numa_topology")
_LISTS = ("networks", "pci")
_JSON = ("metadata", "tags", "security_groups", "trusted_certs", "allocations")
# in rows of older releases
_UNSET = {"security_groups": '["default"]', "trusted_certs": "[]", "allocations": "{}"}
_ELSEWHERE = ("fault", "provisions")
_PLAIN = tuple(
    name for name in Instance.fields if name not in (*_OBJECTS, *_LISTS, *_JSON, *_ELSEWHERE)
)
_COLUMNS = tuple(_instances.c.keys())
_READ = frozenset(Instance.fields).difference(_ELSEWHERE)


def _loader(load: Callable[[str], Any], unset: str) -> Callable[[str | None], Any]:
    return lambda text: load(text or unset)


_LOAD: dict[str, Callable[[str | None], Any]] = {
    **dict.fromkeys(("flavor", "image", "keypair"), wire.load_shared),
    **dict.fromkeys(("network_info", "numa_topology"), wire.load),
    **dict.fromkeys(_LISTS, _loader(wire.load_list, "[]")),
    **{name: _loader(wire.load_plain, _UNSET.get(name, "[]")) for name in _JSON},
}
_ANY = sa.select(_instances).where(_instances.c.uuid == sa.bindparam("uuid"))
_LIVE = _ANY.where(_instances.c.deleted_at.is_(None))
_INSERT = sa.insert(_instances)
_INSERT_PROVISIONS = sa.insert(models.instance_provisions)
_POSTED = models.instance_provisions.c.password.is_not(None)
_NEXT = _instances.c.attempt + 1
_AWAY = sa.func.coalesce(_instances.c.soft_deleted_at, database_now())
_SHELVED = sa.func.coalesce(_instances.c.shelved_at, database_now())
_LAUNCHED = sa.func.coalesce(_instances.c.launched_at, database_now())
_THESE = _instances.c.uuid.in_(sa.bindparam("uuids", expanding=True))
_KNOWN = sa.select(_instances.c.uuid).where(_THESE)
_STATES = sa.select(_instances.c.uuid, _instances.c.task_state, _instances.c.host).where(
    _THESE, _instances.c.deleted_at.is_(None)
)
_conditions: dict[Any, sa.ColumnElement[bool]] = {}  # of moves between states, once built


def create(session: Session, instance: Instance) -> bool:
    """Insert an instance, once; return whether this call did it."""
    created = insert_once(session, _instances, _row(instance))
    if created:
        _insert_rest(session, [instance])
    return created


def create_all(session: Session, some: Sequence[Instance]) -> None:
    """Insert new instances.

    :raises roost.exception.Conflict: when one exists already; roll back then
    """
    try:
        session.execute(_INSERT, [_row(instance) for instance in some])
    except db_exception.DBDuplicateEntry as error:
        raise exception.Conflict("some instances exist already") from error
    _insert_rest(session, some)


def provisions_row(provisions: GuestConfig) -> dict[str, str | None]:
    """Return the columns of a guest's configuration: the password has one of its own."""
    kept = provisions.obj_clone()
    kept.admin_password = None
    return {"provisions": wire.dump(kept), "admin_password": provisions.admin_password}


def _row(instance: Instance) -> dict[str, Any]:
    values = {name: getattr(instance, name) for name in _PLAIN}
    values.update({name: wire.dump(getattr(instance, name)) for name in _OBJECTS})
    values.update({name: json.dumps(getattr(instance, name)) for name in _JSON})
    values.update({name: wire.dump_list(getattr(instance, name)) for name in _LISTS})
    values["flavor_id"] = instance.flavor.flavorid
    values["image_id"] = instance.image.id if instance.image else None
    return values


def _insert_rest(session: Session, some: Sequence[Instance]) -> None:
    """Insert what other tables have of new instances."""
    kept = [
        {"instance_uuid": instance.uuid, **provisions_row(instance.provisions)}
        for instance in some
        if instance.provisions is not None
    ]
    if kept:
        session.execute(_INSERT_PROVISIONS, kept)
    for instance in some:
        instance_index.index_tags(session, instance.uuid, instance.tags)
        if instance.network_info is not None:
            instance_index.index_addresses(session, instance.uuid, instance.network_info)


def get(session: Session, uuid: str, *, deleted: bool = False) -> Instance:
    """Return an instance, one marked as deleted only if ``deleted``.

    :raises roost.exception.NotFound: when there is none
    """
    found = find(session, uuid, deleted=deleted)
    if found is None:
        raise exception.NotFound(f"Instance {uuid} could not be found.")
    return found


def network_info(session: Session, uuid: str) -> NetworkInfo | None:
    """Return the interfaces of an instance; None: it has none yet, or does not exist."""
    text = prepared.select(session, _instances.c.network_info, where={"uuid": uuid}).scalar()
    found: NetworkInfo | None = wire.load(text)
    return found


def has_networks(session: Session, uuid: str) -> bool:
    """Return whether an instance is to have interfaces."""
    text = prepared.select(session, _instances.c.networks, where={"uuid": uuid}).scalar()
    return bool(json.loads(text or "[]"))


def find(session: Session, uuid: str, *, deleted: bool = False) -> Instance | None:
    row = session.execute(_ANY if deleted else _LIVE, {"uuid": uuid}).one_or_none()
    return None if row is None else row_to_instance(row)


def find_state(session: Session, uuid: str) -> Instance | None:
    """Return a live instance of which only the fields ``STATE`` are set."""
    where = {"uuid": uuid, "deleted_at": None}
    row = prepared.select(session, *_STATE, where=where).one_or_none()
    return None if row is None else Instance.as_stored(**dict(zip(STATE, row, strict=True)))


def update(
    session: Session,
    uuid: str,
    changes: Mapping[str, Any],
    *,
    expected: Mapping[str, Any],
    at: datetime.datetime | None = None,
    moves: Transitions = TRANSITIONS,
) -> bool:
    """Change an instance, if it is as expected.

    A rebuild raises ``attempt``. ``launched_at`` stays the time of the first launch. The password
    that a guest has posted is deleted before the next guest is created.

    A step that may be retried after a commit with unknown outcome passes the time of its first try,
    by :meth:`roost.db.engine.Database.now`: a row that was last changed exactly ``at`` that time
    has the change already.

    :param changes: column -> new value, as the object has it
    :param expected: column -> the value it must have, or a collection of such values
    :param moves: the table of allowed state changes
    :returns: False when an earlier try of the same step did it
    :raises roost.exception.Conflict: when it is not as expected, or the table of states forbids
        the change; nothing is changed then
    :raises roost.exception.NotFound: when it is deleted
    """
    where = {"uuid": uuid, "deleted_at": None, **expected}
    values = {
        **_put_away(changes),
        **_attempt(changes),
        **_stored(changes),
        "updated_at": at or database_now(),
    }
    if prepared.update(session, _instances, where, values, *_move(changes, moves)) == 1:
        if "network_info" in changes:
            instance_index.index_addresses(session, uuid, changes["network_info"])
        if "attempt" in changes or changes.get("task_state") == states.REBUILD_SPAWNING:
            _forget_guest(session, uuid)
        return True
    if at is not None and _was_changed(session, uuid, at):
        return False
    raise _refused(session, uuid, changes, expected)


def _forget_guest(session: Session, uuid: str) -> None:
    kept, mine = models.instance_provisions, {"instance_uuid": uuid}
    prepared.update(session, kept, mine, {"password": None}, _POSTED)


def mark_deleted(session: Session, uuid: str) -> bool:
    """Mark an instance as deleted; return whether this call did it."""
    now = database_now()
    deleted = {
        "vm_state": states.DELETED,
        "task_state": None,
        "power_state": states.NOSTATE,
        "deleted_at": now,
        "updated_at": now,
    }
    done = prepared.update(session, _instances, {"uuid": uuid, "deleted_at": None}, deleted)
    prepared.delete(session, models.instance_provisions, {"instance_uuid": uuid})
    return done == 1


def remove(session: Session, uuids: Sequence[str]) -> None:
    """Remove the rows of instances and all that belong to them, as if they had never existed."""
    for table, are_theirs in rows_of(uuids):
        session.execute(sa.delete(table).where(are_theirs))


def rows_of(uuids: Sequence[str]) -> list[tuple[sa.Table, sa.ColumnElement[bool]]]:
    """Return (table, condition) for all rows of these instances; ``instances`` comes last."""
    actions, events = models.instance_actions, models.instance_action_events
    theirs = sa.select(actions.c.id).where(actions.c.instance_uuid.in_(uuids))
    owned = [(table, table.c.instance_uuid.in_(uuids)) for table in (*_OWNED, actions)]
    return [
        (events, events.c.action_id.in_(theirs)),
        *owned,
        (_instances, _instances.c.uuid.in_(uuids)),
    ]


def hosts_of(session: Session, uuids: Collection[str]) -> dict[str, str | None]:
    """Return the hosts of the live ones of these instances; None: on no host."""
    c = _instances.c
    rows = session.execute(
        sa.select(c.uuid, c.host).where(c.uuid.in_(uuids), c.deleted_at.is_(None))
    )
    return {row.uuid: row.host for row in rows}


def list_on_host(
    session: Session, host: str, uuids: Collection[str] | None = None
) -> list[Instance]:
    """Return the live instances of a host, builds included.

    :param uuids: only those of these; None: all
    """
    query = sa.select(_instances).where(
        _instances.c.host == host, _instances.c.deleted_at.is_(None)
    )
    if uuids is not None:
        query = query.where(_instances.c.uuid.in_(uuids))
    return [row_to_instance(row) for row in session.execute(query.order_by(_instances.c.id))]


def list_live(session: Session, uuids: Collection[str]) -> list[Instance]:
    """Return the live ones of these instances."""
    live = (_instances.c.uuid.in_(uuids), _instances.c.deleted_at.is_(None))
    return [row_to_instance(row) for row in session.execute(sa.select(_instances).where(*live))]


def list_shelved(session: Session, *, seconds: float) -> list[Instance]:
    """Return the shelved instances that have been on their hosts for so long since; some at once.

    Those that were due for longer than ``OLD_COPY`` are left out: their rows may be old ones, and
    their guests run. Only the fields ``STATE`` and ``project_id`` are set.
    """
    before = clock.now(session) - datetime.timedelta(seconds=seconds)
    due = _instances.c.shelved_at.between(before - OLD_COPY, before)
    query = sa.select(*_STATE, _instances.c.project_id).where(
        due, _instances.c.task_state.is_(None), _instances.c.deleted_at.is_(None)
    )
    rows = session.execute(query.order_by(_instances.c.shelved_at).limit(_AT_ONCE))
    return [Instance.as_stored(**row._mapping) for row in rows]  # noqa: SLF001 - a public name


def hosts_in_use(session: Session, hosts: Collection[str]) -> set[str]:
    """Return those of these hosts that have live instances, builds included."""
    found: set[str] = set()
    wanted, column = list(hosts), _instances.c.host
    for start in range(0, len(wanted), _AT_ONCE):
        some = column.in_(wanted[start : start + _AT_ONCE])
        query = sa.select(column).distinct().where(some, _instances.c.deleted_at.is_(None))
        found.update(session.scalars(query))
    return found


def ending_states(session: Session, uuids: Collection[str]) -> dict[str, bool]:
    """Return whether a host is to delete them, for the live ones of these instances."""
    rows = session.execute(_STATES, {"uuids": [*uuids]})
    return {r.uuid: r.task_state == states.DELETING and r.host is not None for r in rows}


def list_known(session: Session, uuids: Collection[str]) -> set[str]:
    """Return those of these instances that have a row here, deleted or not."""
    return {*session.scalars(_KNOWN, {"uuids": [*uuids]})}


def row_to_instance(row: Sequence[Any], columns: Sequence[str] = _COLUMNS) -> Instance:
    """Make the object of a row that begins with these columns; no other fields are set.

    ``fault`` is left for the caller, and so is ``provisions``, which is None.
    """
    found = {
        name: _LOAD[name](value) if name in _LOAD else value
        for name, value in zip(columns, row, strict=False)
        if name in _READ
    }
    return Instance.as_stored(**found, provisions=None)


def _move(changes: Mapping[str, Any], moves: Transitions) -> list[sa.ColumnElement[bool]]:
    """Return the condition that the table of states allows the change."""
    after = {name: changes[name] for name in ("vm_state", "task_state") if name in changes}
    if not after:
        return []
    key = (id(moves), *after.items())
    if key not in _conditions:
        _conditions[key] = _allowed(after, moves)
    return [_conditions[key]]


def _allowed(after: Mapping[str, Any], moves: Transitions) -> sa.ColumnElement[bool]:
    """Return the condition as text, once: it names up to a hundred states, in most updates."""
    tasks: dict[str, set[str]] = collections.defaultdict(set)
    for before in moves:
        vm_state = after.get("vm_state", before.vm)
        if states.State(vm_state, after.get("task_state", before.task)) in moves[before]:
            tasks[before.vm].add(f"'{before.task or ''}'")
    allowed = [
        f"vm_state = '{vm_state}' AND COALESCE(task_state, '') IN ({', '.join(sorted(found))})"
        for vm_state, found in tasks.items()
    ]
    return sa.literal_column(f"({' OR '.join(allowed) or '1 = 0'})")


def _attempt(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the change that gives a guest that is made anew a new attempt."""
    return {"attempt": _NEXT} if changes.get("task_state") in _BEGIN_ANEW else {}


def _put_away(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of what belongs to a state: set with it, and cleared by other states."""
    if "vm_state" not in changes:
        return {}
    after = changes["vm_state"]
    put = {
        "soft_deleted_at": _AWAY if after == states.SOFT_DELETED else None,
        "shelved_at": _SHELVED if after == states.SHELVED else None,
    }
    if after not in (states.SHELVED, states.SHELVED_OFFLOADED):
        put["shelved_image_id"] = None
    return put


def _stored(changes: Mapping[str, Any]) -> dict[str, Any]:
    stored = dict(changes)
    if "image" in stored:
        stored["image_id"] = stored["image"].id if stored["image"] else None
    if "flavor" in stored:
        stored["flavor_id"] = stored["flavor"].flavorid
    for names, dump in ((_OBJECTS, wire.dump), (_LISTS, wire.dump_list), (_JSON, json.dumps)):
        stored.update({name: dump(stored[name]) for name in names if name in stored})
    if stored.get("launched_at") is not None:
        # The host's clock set it; usage is counted by the database's clock, from the first launch.
        stored["launched_at"] = _LAUNCHED
    return stored


def _was_changed(session: Session, uuid: str, at: datetime.datetime) -> bool:
    return prepared.select(session, _instances.c.updated_at, where={"uuid": uuid}).scalar() == at


def _refused(
    session: Session, uuid: str, changes: Mapping[str, Any], expected: Mapping[str, Any]
) -> exception.RoostError:
    found = get(session, uuid)  # NotFound, if that is why
    seen = {name: getattr(found, name) for name in ("host", "attempt", "vm_state", "task_state")}
    return exception.Conflict(
        f"Instance {uuid} is not in the state that this expects "
        f"(found {seen['vm_state']}/{seen['task_state']})",
        found=seen,
        expected={name: _plain(value) for name, value in expected.items()},
        wanted={n: v for n, v in changes.items() if n in ("vm_state", "task_state", "host")},
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | set | frozenset) else value
