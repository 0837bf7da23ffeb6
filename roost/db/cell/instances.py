"""Instances of a cell. A change names what it expects to find, so who loses a race sees it."""

import datetime
import json
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from roost import exception, states
from roost.db import wire
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import utcnow
from roost.objects import Instance, NetworkInfo

_instances = models.instances
_AT_ONCE = 1000  # rows that one statement names
_OBJECTS = ("flavor", "image", "network_info")
_JSON = ("metadata", "tags")
_PLAIN = tuple(
    name for name in Instance.fields if name not in (*_OBJECTS, *_JSON, "networks", "fault")
)


def create(session: Session, instance: Instance) -> bool:
    """Insert an instance, once; tell whether this call did it."""
    values = {name: getattr(instance, name) for name in _PLAIN}
    values.update({name: wire.dump(getattr(instance, name)) for name in _OBJECTS})
    values.update({name: json.dumps(getattr(instance, name)) for name in _JSON})
    values["networks"] = wire.dump_list(instance.networks)
    values["flavor_id"] = instance.flavor.flavorid
    values["image_id"] = instance.image.id if instance.image else None
    return insert_once(session, _instances, values)


def get(session: Session, uuid: str, *, deleted: bool = False) -> Instance:
    """Return an instance, a buried one only if ``deleted``.

    :raises roost.exception.NotFound: when there is none
    """
    found = find(session, uuid, deleted=deleted)
    if found is None:
        raise exception.NotFound(f"Instance {uuid} could not be found.")
    return found


def find(session: Session, uuid: str, *, deleted: bool = False) -> Instance | None:
    query = sa.select(_instances).where(_instances.c.uuid == uuid)
    if not deleted:
        query = query.where(_instances.c.deleted_at.is_(None))
    row = session.execute(query).one_or_none()
    return None if row is None else row_to_instance(row)


def update(
    session: Session, uuid: str, changes: Mapping[str, Any], *, expected: Mapping[str, Any]
) -> None:
    """Change an instance, if it is as expected.

    :param changes: column -> new value; network_info as an object
    :param expected: column -> the value it must have, or a collection of such values
    :raises roost.exception.Conflict: when it is not as expected, or the table of states forbids
        the move; nothing is changed then
    :raises roost.exception.NotFound: when it is gone
    """
    done = session.execute(
        sa.update(_instances)
        .where(
            _instances.c.uuid == uuid,
            _instances.c.deleted_at.is_(None),
            *[_is(name, value) for name, value in expected.items()],
            *_move(changes),
        )
        .values(updated_at=utcnow(), **_stored(changes))
    )
    if done.rowcount != 1:
        raise _refused(session, uuid, changes, expected)


def bury(session: Session, uuid: str) -> bool:
    """Mark an instance as deleted; tell whether this call did it."""
    now = utcnow()
    done = session.execute(
        sa.update(_instances)
        .where(_instances.c.uuid == uuid, _instances.c.deleted_at.is_(None))
        .values(
            vm_state=states.DELETED,
            task_state=None,
            power_state=states.NOSTATE,
            deleted_at=now,
            updated_at=now,
        )
    )
    return done.rowcount == 1


def remove(session: Session, uuid: str) -> None:
    """Take back an instance that nobody was told of, as if it had never been created."""
    actions = models.instance_actions
    mine = sa.select(actions.c.id).where(actions.c.instance_uuid == uuid)
    events = models.instance_action_events
    session.execute(sa.delete(events).where(events.c.action_id.in_(mine)))
    for table in (actions, models.instance_faults, models.builds, models.ports):
        session.execute(sa.delete(table).where(table.c.instance_uuid == uuid))
    session.execute(sa.delete(_instances).where(_instances.c.uuid == uuid))


def list_on_host(session: Session, host: str) -> list[Instance]:
    """Return the instances that belong on a host, those under way included."""
    rows = session.execute(
        sa.select(_instances)
        .where(_instances.c.host == host, _instances.c.deleted_at.is_(None))
        .order_by(_instances.c.id)
    )
    return [row_to_instance(row) for row in rows]


def ending_states(session: Session, uuids: Collection[str]) -> dict[str, bool]:
    """Tell, of those of these instances that still live, whether a host is to delete them."""
    rows = session.execute(
        sa.select(_instances.c.uuid, _instances.c.task_state, _instances.c.host).where(
            _instances.c.uuid.in_(uuids), _instances.c.deleted_at.is_(None)
        )
    )
    return {r.uuid: r.task_state == states.DELETING and r.host is not None for r in rows}


def lease_ending(session: Session, *, seconds: float) -> list[tuple[str, str]]:
    """Return (uuid, host) of instances whose deletion has not moved for ``seconds``.

    They get as long again: each is returned to one caller at a time.
    """
    c, now = _instances.c, utcnow()
    rows = session.execute(
        sa.select(c.uuid, c.host)
        .where(
            c.task_state == states.DELETING,
            c.deleted_at.is_(None),
            c.host.is_not(None),
            c.updated_at < now - datetime.timedelta(seconds=seconds),
        )
        .order_by(c.updated_at)
        .limit(_AT_ONCE)
    ).all()
    if rows:
        uuids = [row.uuid for row in rows]
        session.execute(sa.update(_instances).where(c.uuid.in_(uuids)).values(updated_at=now))
    return [(row.uuid, row.host) for row in rows]


def list_live(
    session: Session, *, marker: int = 0, limit: int = 1000
) -> list[tuple[int, str, str | None, str, str | None]]:
    """Return (place, uuid, host, vm_state, task_state) of live instances by pages, for audits."""
    c = _instances.c
    rows = session.execute(
        sa.select(c.id, c.uuid, c.host, c.vm_state, c.task_state)
        .where(c.deleted_at.is_(None), c.id > marker)
        .order_by(c.id)
        .limit(limit)
    )
    return [(row.id, row.uuid, row.host, row.vm_state, row.task_state) for row in rows]


def row_to_instance(row: sa.Row[tuple[object, ...]]) -> Instance:
    """Make the object of a whole row; ``fault`` is left for the caller."""
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return Instance.of(
        networks=wire.load_list(values["networks"]),
        **{name: values[name] for name in _PLAIN},
        flavor=wire.load_shared(values["flavor"]),
        image=wire.load_shared(values["image"]),
        network_info=wire.load(values["network_info"]),
        **{name: json.loads(values[name]) for name in _JSON},
    )


def _is(name: str, value: Any) -> sa.ColumnElement[bool]:
    column = _instances.c[name]
    if isinstance(value, Collection) and not isinstance(value, str):
        return sa.or_(*[_is(name, one) for one in value])
    return column.is_(None) if value is None else column == value


def _move(changes: Mapping[str, Any]) -> list[sa.ColumnElement[bool]]:
    """Allow only what the table of states allows."""
    if "vm_state" not in changes and "task_state" not in changes:
        return []
    allowed = []
    for before in states.MOVES:
        after = states.State(
            changes.get("vm_state", before.vm), changes.get("task_state", before.task)
        )
        if states.may_follow(before, after):
            allowed.append(_is("vm_state", before.vm) & _is("task_state", before.task))
    return [sa.or_(*allowed)] if allowed else [sa.false()]


def _stored(changes: Mapping[str, Any]) -> dict[str, Any]:
    stored = dict(changes)
    if isinstance(stored.get("network_info"), NetworkInfo):
        stored["network_info"] = wire.dump(stored["network_info"])
    if isinstance(stored.get("launched_at"), str):
        stored["launched_at"] = datetime.datetime.fromisoformat(stored["launched_at"])
    return stored


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
