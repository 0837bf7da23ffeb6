"""Tells a cell that a server is put away, or comes back. The API does, then the super-conductors.

Each may be repeated: a cell follows the latest turn that it has heard of.
"""

import functools
import logging
from collections.abc import Callable

from roost import exception, states
from roost.cells.cell import Cell
from roost.context import RequestContext
from roost.db.cell import put_away as rows
from roost.db.engine import Session, retried
from roost.db.types import utcnow
from roost.objects import InstanceAction

LOG = logging.getLogger(__name__)
_Write = Callable[[Session], str | None]


def put_away(cell: Cell, context: RequestContext, instance_uuid: str, *, turn: int) -> bool:
    """Let an instance be put away, and tell its host.

    :returns: False when it cannot be put away, only deleted, or is gone
    :raises roost.exception.Unavailable: when the cell cannot be reached
    """
    record = _record(context, instance_uuid, "delete")
    write = functools.partial(rows.put_away, record=record, turn=turn)
    return _begin(cell, context, record, write, task=states.SOFT_DELETING)


def restore(cell: Cell, context: RequestContext, instance_uuid: str, *, turn: int) -> bool:
    """Let an instance that is put away come back, and tell its host.

    :returns: False when it is not put away (any more)
    :raises roost.exception.Unavailable: when the cell cannot be reached
    """
    record = _record(context, instance_uuid, "restore")
    write = functools.partial(rows.restore, record=record, turn=turn)
    return _begin(cell, context, record, write, task=states.RESTORING)


def _begin(
    cell: Cell, context: RequestContext, record: InstanceAction, write: _Write, *, task: str
) -> bool:
    """Write it down, then cast a hint; a lost one is sent again by the cell's sweeper."""
    uuid = str(record.instance_uuid)
    try:
        host = _written(cell, write)
    except (exception.Conflict, exception.NotFound):
        return False
    if host is not None:
        try:
            cell.compute.on(host).change_power(context, instance_uuid=uuid, task=task)
        except exception.Unavailable as error:
            LOG.warning("%s: host %s does not know yet that it is %s: %s", uuid, host, task, error)
    return True


@retried
def _written(cell: Cell, write: _Write) -> str | None:
    with cell.database.begin() as session:
        return write(session)


def _record(context: RequestContext, instance_uuid: str, word: str) -> InstanceAction:
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=word,
        request_id=context.request_id,
        user_id=context.user_id,
        project_id=context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )
