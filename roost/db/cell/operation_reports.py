"""Operations as operators see them: those under way, those that wait for their users, and the past.

Read by ``roost-manage operation``. What an operation has done so far is in its action, which stays
when its row is deleted.
"""

import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost.db.cell import actions, models
from roost.db.engine import Session
from roost.objects import InstanceAction
from roost.objects.migration import FINISHED

_rows = models.operations.c
_actions = models.instance_actions.c
_migrations = models.migrations.c


class OperationReport(NamedTuple):
    """An operation; only one that is under way has ``step``, ``host`` and ``lease_until``.

    :param kind: its kind; of one that is not under way any more: the name of its action
    :param since: when it was accepted
    :param tries: how often it was sent to its host again
    :param reason: why it is undone, or has failed; None: neither
    :param lease_until: until when its host has it, by the cell's clock; None: not begun there
    :param unconfirmed: whether it is a move that waits for its user to confirm or revert it
    """

    uuid: str
    instance_uuid: str
    kind: str
    since: datetime.datetime
    step: str | None = None
    host: str | None = None
    tries: int = 0
    reason: str | None = None
    lease_until: datetime.datetime | None = None
    unconfirmed: bool = False


_UNDER_WAY: Final = sa.select(
    *(_rows.uuid, _rows.instance_uuid, _rows.kind, _rows.created_at, _rows.step, _rows.host),
    *(_rows.tries, _rows.reason, _rows.lease_until),
).order_by(_rows.created_at, _rows.uuid)
_OVER: Final = sa.select(
    _actions.operation_uuid, _actions.instance_uuid, _actions.action, _actions.start_time
)
_OF_MOVE: Final = (_actions.instance_uuid == _migrations.instance_uuid) & (
    _actions.request_id == _migrations.request_id
)
_UNCONFIRMED: Final = (
    _OVER.add_columns(sa.null(), _migrations.dest_host)
    .join(models.migrations, _OF_MOVE)
    .where(_migrations.status == FINISHED, _actions.operation_uuid.is_not(None))
    .order_by(_actions.start_time, _actions.id)
)


def list_current(session: Session, *, instance_uuid: str | None = None) -> list[OperationReport]:
    """Return the operations that are under way, and the moves that wait for their users.

    Both the oldest first.

    :param instance_uuid: those of this instance only
    """
    under_way, unconfirmed = _UNDER_WAY, _UNCONFIRMED
    if instance_uuid is not None:
        under_way = under_way.where(_rows.instance_uuid == instance_uuid)
        unconfirmed = unconfirmed.where(_migrations.instance_uuid == instance_uuid)
    waiting = _reports(session, unconfirmed)
    return _reports(session, under_way) + [each._replace(unconfirmed=True) for each in waiting]


def find(session: Session, uuid: str) -> list[tuple[OperationReport, InstanceAction | None]]:
    """Return the operation of a uuid, or the current ones of an instance, each with its action.

    If an instance has no current one, its last one is returned. Nothing: the uuid is unknown, or
    of an instance that never had one.
    """
    current = list_current(session, instance_uuid=uuid) or _find_one(session, uuid)
    return [(report, actions.find_of_operation(session, report.uuid)) for report in current]


def _find_one(session: Session, uuid: str) -> list[OperationReport]:
    """Return the operation of a uuid, or the last one of an instance."""
    waiting = _reports(session, _UNCONFIRMED.where(_actions.operation_uuid == uuid))
    of_instance = (_actions.instance_uuid == uuid) & _actions.operation_uuid.is_not(None)
    over = _OVER.where((_actions.operation_uuid == uuid) | of_instance)
    return (
        _reports(session, _UNDER_WAY.where(_rows.uuid == uuid))
        or [each._replace(unconfirmed=True) for each in waiting]
        or _reports(session, over.order_by(_actions.id.desc()).limit(1))
    )


def _reports(session: Session, query: sa.Select[Any]) -> list[OperationReport]:
    return [OperationReport(*row) for row in session.execute(query)]
