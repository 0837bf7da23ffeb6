"""Cells, the liveness of their hosts, and the bus user of each cell.

A transaction that stores a liveness report of a cell locks the cell's row. So messages of one cell
are serialized, and a late one finds the version of the newer. The first bus user that reports for a
cell is bound to it.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.scheduler import models
from roost.db.scheduler.hosts import lock, touched
from roost.db.scheduler.ranges import in_parts
from roost.objects import CellLiveness
from roost.objects.base import version_at

_USERS = models.cell_users


def find(session: Session, bus_user: str) -> str | None:
    """Return the uuid of the cell that a bus user is bound to, or None."""
    return session.scalar(sa.select(_USERS.c.cell_uuid).where(_USERS.c.bus_user == bus_user))


def claim(session: Session, bus_user: str, cell_uuid: str) -> str | None:
    """Bind a bus user to a cell, unless one of the two is bound; return the user's cell then."""
    insert_once(session, _USERS, {"cell_uuid": cell_uuid, "bus_user": bus_user})
    return find(session, bus_user)


def forget(session: Session, cell_uuid: str) -> None:
    """Unbind the bus user of a cell."""
    session.execute(sa.delete(_USERS).where(_USERS.c.cell_uuid == cell_uuid))


_CELLS = models.cells
_HOSTS = models.hosts
# After so long without a message any version is accepted: the clock that it is from, of a cell's
# database or of a host, may have been set back, and no older message can still be under way.
VERSION_HOLDS: Final = datetime.timedelta(seconds=60)


class _Host(NamedTuple):
    id: int
    host: str
    told_down: bool
    reported_at: datetime.datetime


def take_in(
    session: Session, liveness: CellLiveness, *, reported_at: datetime.datetime
) -> list[int] | None:
    """Store which hosts of a cell are up; return the ids of those for which that changed, in order.

    Hosts that changed have ``generation`` and ``described`` raised and ``touched_at`` set. A
    message that is not newer than the last one of its cell is dropped: returns None.

    :param reported_at: the time of the report
    :raises roost.exception.Deadlock: possible for concurrent first messages of a cell: retry
    """
    if not _is_news(session, liveness, reported_at):
        return None
    judged = {host.id: (host.told_down, down) for host, down in _judge(session, liveness)}
    changed = sorted(host_id for host_id, (was, down) in judged.items() if was is not down)
    for some in in_parts(changed):
        lock(session, some)
        _note(session, [each for each in some if judged[each][1]], told_down=True)
        _note(session, [each for each in some if not judged[each][1]], told_down=False)
    return changed


def last_reports(session: Session) -> dict[str, datetime.datetime]:
    """Return the time of the last liveness report of each cell, by uuid."""
    rows = session.execute(sa.select(_CELLS.c.cell_uuid, _CELLS.c.reported_at))
    return {row.cell_uuid: row.reported_at for row in rows}


def _is_news(session: Session, liveness: CellLiveness, reported_at: datetime.datetime) -> bool:
    """Store version and time of a message; False: the message is late or was received before."""
    values = {"version": liveness.version, "reported_at": reported_at}
    newer = (
        sa.update(_CELLS)
        .where(
            _CELLS.c.cell_uuid == liveness.cell_uuid,
            sa.or_(
                _CELLS.c.version < liveness.version,
                _CELLS.c.reported_at < reported_at - VERSION_HOLDS,
            ),
        )
        .values(values)
    )
    if session.execute(newer).rowcount:
        return True
    same = sa.select(_CELLS.c.version).where(_CELLS.c.cell_uuid == liveness.cell_uuid)
    known = session.scalar(same)
    if known is not None and known >= liveness.version:
        return False
    if known is None and insert_once(session, _CELLS, {"cell_uuid": liveness.cell_uuid, **values}):
        return True
    return bool(session.execute(newer).rowcount)  # another scheduler has just inserted it


def _judge(session: Session, liveness: CellLiveness) -> Iterator[tuple[_Host, bool]]:
    """Yield each host that the message covers, and whether it is down.

    The cell does not know hosts that a whole message leaves out: they are down, too, unless they
    have reported since, so that they may have been added while the cell was read.
    """
    up, down = set(liveness.up), set(liveness.down)
    for host in _hosts(session, liveness):
        if host.host in up or host.host in down:
            yield host, host.host in down
        elif version_at(host.reported_at) < liveness.version:
            yield host, True


def _hosts(session: Session, liveness: CellLiveness) -> Iterator[_Host]:
    columns = _HOSTS.c
    of_cell = sa.select(columns.id, columns.host, columns.told_down, columns.reported_at).where(
        columns.cell_uuid == liveness.cell_uuid
    )
    statements = [of_cell]
    if not liveness.whole:
        pages = in_parts([*liveness.up, *liveness.down])
        statements = [of_cell.where(columns.host.in_(some)) for some in pages]
    for statement in statements:
        yield from (_Host(*row) for row in session.execute(statement))


def _note(session: Session, ids: Sequence[int], *, told_down: bool) -> None:
    if ids:
        values = {"told_down": told_down, **touched(described=True)}
        session.execute(sa.update(_HOSTS).where(_HOSTS.c.id.in_(ids)).values(values))
