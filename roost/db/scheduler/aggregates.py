"""Aggregates, as the API level sent them.

Messages may arrive late, twice, in any order or never. The version decides: each aggregate has its
own, and a snapshot has one for all aggregates that its range has and has not. A deleted aggregate
stays as a tombstone, so that a late message does not bring it back.
"""

from collections.abc import Collection, Sequence
from typing import Final

import sqlalchemy as sa

from roost.db import wire
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.scheduler import models
from roost.db.scheduler.ranges import covered
from roost.objects import Aggregate, SnapshotRange

NAME: Final = "aggregates"  # of the row in revisions

_aggregates = models.aggregates
_revisions = models.revisions


def take_in(
    session: Session, aggregates: Sequence[Aggregate], *, snapshot: SnapshotRange | None
) -> bool:
    """Store changed aggregates, or all of a range; return whether anything is new.

    Anything new raises :func:`revision`.
    """
    received = {aggregate.uuid: aggregate for aggregate in aggregates}
    gone = _alive_in(session, snapshot) - received.keys() if snapshot else set()
    known = _known(session, received)
    as_of = snapshot.version if snapshot else 0
    new = [
        _drop(session, uuid, as_of=as_of)
        if uuid in gone
        else _take_in(session, received[uuid], known=known.get(uuid), as_of=as_of)
        for uuid in sorted(received.keys() | gone)  # always in this order, against deadlocks
    ]
    if any(new):
        _raise_revision(session)
    return any(new)


def revision(session: Session) -> int:
    """Return how often the aggregates changed; 0: never.

    A later :func:`read_all` returns at least the changes up to it.
    """
    number = sa.select(_revisions.c.number).where(_revisions.c.name == NAME)
    return int(session.execute(number).scalar() or 0)


def read_all(session: Session) -> list[Aggregate]:
    """Return the aggregates that exist, in order of uuid."""
    texts = sa.select(_aggregates.c.aggregate).where(_aggregates.c.deleted.is_(False))
    return [wire.load(text) for text in session.scalars(texts.order_by(_aggregates.c.uuid))]


def _take_in(
    session: Session, aggregate: Aggregate, *, known: tuple[str, bool] | None, as_of: int
) -> bool:
    """Write one aggregate unless the stored one is as new; return whether it was written.

    Every aggregate in a snapshot is as new as the snapshot, since it did not change between its
    last change and the read. That matters after a restore of the API database: its current content
    counts, not the higher version that it sent before.
    """
    received = (wire.dump(aggregate), aggregate.deleted)
    if received == known:
        return False
    values = dict(zip(("aggregate", "deleted"), received, strict=True))
    version = max(aggregate.version, as_of)
    if known is None:
        row = {"uuid": aggregate.uuid, "version": version, **values}
        if insert_once(session, _aggregates, row):
            return True
    older = (_aggregates.c.uuid == aggregate.uuid, _aggregates.c.version < version)
    written = sa.update(_aggregates).where(*older).values(version=version, **values)
    return session.execute(written).rowcount == 1


def _drop(session: Session, uuid: str, *, as_of: int) -> bool:
    """Mark an aggregate that a snapshot does not have as deleted, unless it is newer."""
    columns = _aggregates.c
    older = (columns.uuid == uuid, columns.version <= as_of, columns.deleted.is_(False))
    dropped = sa.update(_aggregates).where(*older).values(version=as_of, deleted=True)
    return session.execute(dropped).rowcount == 1


def _alive_in(session: Session, snapshot: SnapshotRange) -> set[str]:
    in_range = covered(_aggregates.c.uuid, snapshot)
    alive = sa.select(_aggregates.c.uuid).where(_aggregates.c.deleted.is_(False), *in_range)
    return set(session.scalars(alive))


def _known(session: Session, uuids: Collection[str]) -> dict[str, tuple[str, bool]]:
    columns = (_aggregates.c.uuid, _aggregates.c.aggregate, _aggregates.c.deleted)
    rows = session.execute(sa.select(*columns).where(_aggregates.c.uuid.in_(uuids)))
    return {row.uuid: (row.aggregate, row.deleted) for row in rows}


def _raise_revision(session: Session) -> None:
    mine = sa.update(_revisions).where(_revisions.c.name == NAME)
    higher = mine.values(number=_revisions.c.number + 1)
    if session.execute(higher).rowcount:
        return
    if not insert_once(session, _revisions, {"name": NAME, "number": 1}):
        session.execute(higher)
