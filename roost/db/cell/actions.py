"""Instance actions and their events.

Clients list changes since a time, so ``updated_at`` is by the clock of the database. Events have
the time of the daemon that ran them.
"""

import datetime
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db import newest, prepared
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_new
from roost.db.types import database_now
from roost.objects import InstanceAction, InstanceActionEvent

KEPT: Final = 1000  # of one instance, and a few more
_PRUNED: Final = 16  # one in so many actions deletes old ones of its instance
CREATE: Final = "create"
_actions = models.instance_actions
_events = models.instance_action_events
_ACTION = tuple(name for name in InstanceAction.fields if name != "events")
_EVENT = tuple(InstanceActionEvent.fields)
_END: Final = sa.select(*[_actions.c[name] for name in ("finish_time", "message", "code")]).where(
    _actions.c.operation_uuid == sa.bindparam("operation_uuid")
)
_OVER: Final = (_actions.c.action != CREATE, _actions.c.finish_time.is_not(None))
_NO_EVENT: Final = dict.fromkeys(_EVENT)
_OF_OPERATION: Final = _actions.c.operation_uuid == sa.bindparam("operation_uuid")
_ID: Final = sa.select(_actions.c.id).where(_OF_OPERATION)
_INSERT: Final = sa.insert(_actions)
_ADD_EVENTS: Final = sa.insert(_events)


class ActionEnd(NamedTuple):
    """How an operation ended: why it failed, for its user, and with which error; None: it did not.

    One that was ended without its host has a message, and no code.
    """

    message: str | None
    code: str | None


def start(session: Session, action: InstanceAction, *, operation_uuid: str | None = None) -> bool:
    """Begin an action, with the events it has so far; the same again changes nothing.

    Now and then it deletes old actions of the instance, except the latest ones and the create.

    :param operation_uuid: the operation that it records
    :returns: whether it is new
    """
    values = {
        **action.values(),
        "operation_uuid": operation_uuid,
        "updated_at": database_now(),
    }
    events = values.pop("events", [])
    action_id = insert_new(session, _actions, values)
    if action_id is None:
        return False
    _insert_events(session, action_id, events)
    if action.action != CREATE and action_id % _PRUNED == 0:
        mine = {"instance_uuid": action.instance_uuid}
        newest.keep(session, _actions, mine, KEPT, *_OVER)
    return True


def start_builds(
    session: Session, begun: Mapping[str, InstanceAction], *, now: datetime.datetime
) -> None:
    """Begin the actions of new instances, each with the events it has so far.

    :param begun: action by the uuid of its operation
    """
    rows = [
        action.values() | {"operation_uuid": uuid, "updated_at": now}
        for uuid, action in begun.items()
    ]
    events = [row.pop("events") for row in rows]
    if len(rows) == 1:
        key: Any = session.execute(_INSERT, rows[0]).inserted_primary_key
        ids = dict.fromkeys(begun, key[0])
    else:
        session.execute(_INSERT, rows)
        theirs = {"operation_uuid": [*begun]}
        columns = (_actions.c.operation_uuid, _actions.c.id)
        found = prepared.select(session, *columns, where=theirs)
        ids = {row.operation_uuid: row.id for row in found}
    happened = [
        _NO_EVENT | event.values() | {"action_id": ids[uuid]}
        for uuid, some in zip(begun, events, strict=True)
        for event in some
    ]
    session.execute(_ADD_EVENTS, happened)


def add_to_operation(
    session: Session,
    operation_uuid: str,
    events: Sequence[InstanceActionEvent],
    *,
    finish: bool = False,
    message: str | None = None,
    code: str | None = None,
) -> None:
    """Add events to the action of an operation, and finish it if ``finish``.

    :param code: of the error with which it failed, if there was one
    """
    if not (events or finish):
        return
    named = {"operation_uuid": operation_uuid}
    if events:
        given = {
            f"{name}_{number}": value
            for number, event in enumerate(events)
            for name, value in (_NO_EVENT | event.values()).items()
        }
        session.execute(_add_to_operation(len(events)), given | named)
    changes: dict[str, Any] = {"updated_at": database_now()}
    if finish:
        changes["finish_time"] = changes["updated_at"]
    if message is not None:
        changes |= {"message": message, "code": code}
    prepared.update(session, _actions, named, changes)


@functools.cache
def _add_to_operation(count: int) -> sa.Insert:
    """Return the insert of so many events, without a look at the id of their action."""
    rows = [
        sa.select(
            _actions.c.id,
            *[
                sa.bindparam(f"{name}_{number}", type_=_events.c[name].type).label(name)
                for name in _EVENT
            ],
        ).where(_OF_OPERATION)
        for number in range(count)
    ]
    return _ADD_EVENTS.from_select(["action_id", *_EVENT], sa.union_all(*rows))


def records(session: Session, operation_uuid: str) -> bool:
    """Return whether there is an action of this operation, under way or over."""
    return session.execute(_ID, {"operation_uuid": operation_uuid}).first() is not None


def find_of_operation(session: Session, operation_uuid: str) -> InstanceAction | None:
    """Return the action of an operation, under way or over, with its events."""
    query = sa.select(_actions).where(_actions.c.operation_uuid == operation_uuid)
    row = session.execute(query).one_or_none()
    return None if row is None else _action(row, events_of(session, operation_uuid))


def find_end(session: Session, operation_uuid: str) -> ActionEnd | None:
    """Return how an operation ended; None: it has not."""
    row = session.execute(_END, {"operation_uuid": operation_uuid}).one_or_none()
    return None if row is None or row.finish_time is None else ActionEnd(row.message, row.code)


def events_of(session: Session, operation_uuid: str) -> list[InstanceActionEvent]:
    """Return the events of an operation in order of their start."""
    query = sa.select(_events).join(_actions, _actions.c.id == _events.c.action_id)
    rows = session.execute(
        query.where(_actions.c.operation_uuid == operation_uuid).order_by(
            _events.c.start_time, _events.c.id
        )
    )
    return [_event(row) for row in rows]


def list_actions(session: Session, instance_uuid: str) -> list[InstanceAction]:
    """Return the actions of an instance, the newest first, without their events."""
    rows = session.execute(
        sa.select(_actions)
        .where(_actions.c.instance_uuid == instance_uuid)
        .order_by(_actions.c.id.desc())
    )
    return [_action(row, []) for row in rows]


def get(session: Session, instance_uuid: str, request_id: str) -> InstanceAction:
    """Return one action with its events in order of their start.

    :raises roost.exception.NotFound: when the instance has none of this request
    """
    row = session.execute(
        sa.select(_actions)
        .where(_actions.c.instance_uuid == instance_uuid, _actions.c.request_id == request_id)
        .order_by(_actions.c.id.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        raise exception.NotFound(f"Action for request_id {request_id} could not be found.")
    events = session.execute(
        sa.select(_events)
        .where(_events.c.action_id == row.id)
        .order_by(_events.c.start_time, _events.c.id)
    )
    return _action(row, [_event(found) for found in events])


def _insert_events(session: Session, action_id: int, events: Sequence[InstanceActionEvent]) -> None:
    if events:
        rows = [_NO_EVENT | event.values() | {"action_id": action_id} for event in events]
        session.execute(_ADD_EVENTS, rows)


def _action(row: sa.Row[tuple[object, ...]], events: list[InstanceActionEvent]) -> InstanceAction:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return InstanceAction.of(events=events, **{name: values[name] for name in _ACTION})


def _event(row: sa.Row[tuple[object, ...]]) -> InstanceActionEvent:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return InstanceActionEvent.of(**{name: values[name] for name in _EVENT})
