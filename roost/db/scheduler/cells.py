"""Cells, which of their hosts are up, and which user of the bus speaks for which cell.

A cell's row is locked by whoever takes in what its conductors report. So messages of one cell come
one after the other, and a late one finds the version of the newer. The first user that reported for
a cell speaks for it.
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
    """Return the uuid of the cell that a user speaks for, or None."""
    return session.scalar(sa.select(_USERS.c.cell_uuid).where(_USERS.c.bus_user == bus_user))


def claim(session: Session, bus_user: str, cell_uuid: str) -> str | None:
    """Let a user speak for a cell, unless one of the two is taken; return its cell then."""
    insert_once(session, _USERS, {"cell_uuid": cell_uuid, "bus_user": bus_user})
    return find(session, bus_user)


def forget(session: Session, cell_uuid: str) -> None:
    """Let nobody speak for a cell."""
    session.execute(sa.delete(_USERS).where(_USERS.c.cell_uuid == cell_uuid))


_CELLS = models.cells
_HOSTS = models.hosts
# After so long a silence any version counts: the clock that it is from, of a cell's database or of
# a host, may have been set back, and nothing older can still be on its way.
VERSION_HOLDS: Final = datetime.timedelta(seconds=60)


class _Host(NamedTuple):
    id: int
    host: str
    told_down: bool
    reported_at: datetime.datetime


def take_in(
    session: Session, liveness: CellLiveness, *, reported_at: datetime.datetime
) -> list[int]:
    """Note which hosts of a cell are up; return the ids of those for which that changed, in order.

    Hosts that changed have ``generation`` and ``described`` raised and ``touched_at`` set. A
    message that is not newer than the last one of its cell is dropped.

    :param reported_at: when the cell counts as heard of
    :raises roost.exception.Deadlock: at worst when several are the first of a cell: do it again
    """
    if not _is_news(session, liveness, reported_at):
        return []
    judged = {host.id: (host.told_down, down) for host, down in _judge(session, liveness)}
    changed = sorted(host_id for host_id, (was, down) in judged.items() if was is not down)
    for some in in_parts(changed):
        lock(session, some)
        _note(session, [each for each in some if judged[each][1]], told_down=True)
        _note(session, [each for each in some if not judged[each][1]], told_down=False)
    return changed


def heard_of(session: Session) -> dict[str, datetime.datetime]:
    """Return when each cell that reports liveness did so last, by uuid."""
    rows = session.execute(sa.select(_CELLS.c.cell_uuid, _CELLS.c.reported_at))
    return {row.cell_uuid: row.reported_at for row in rows}


def _is_news(session: Session, liveness: CellLiveness, reported_at: datetime.datetime) -> bool:
    """Note that the cell was heard of, unless by a message that is late or came before."""
    told = {"version": liveness.version, "reported_at": reported_at}
    newer = (
        sa.update(_CELLS)
        .where(
            _CELLS.c.cell_uuid == liveness.cell_uuid,
            sa.or_(
                _CELLS.c.version < liveness.version,
                _CELLS.c.reported_at < reported_at - VERSION_HOLDS,
            ),
        )
        .values(told)
    )
    if session.execute(newer).rowcount:
        return True
    same = sa.select(_CELLS.c.version).where(_CELLS.c.cell_uuid == liveness.cell_uuid)
    known = session.scalar(same)
    if known is not None and known >= liveness.version:
        return False
    if known is None and insert_once(session, _CELLS, {"cell_uuid": liveness.cell_uuid, **told}):
        return True
    return bool(session.execute(newer).rowcount)  # another scheduler has made it just now


def _judge(session: Session, liveness: CellLiveness) -> Iterator[tuple[_Host, bool]]:
    """Tell of each host that the message is about whether it is down.

    Of those that a whole message leaves out its cell knows nothing: they are down, too, unless they
    have reported since, and may have come while the cell was looked at.
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
