"""Server groups, as the API level sent them, and their members, as claims have them.

A transaction that changes claims of a group locks its row first, before hosts and claims, and
raises its generation. So a generation identifies one set of members and their hosts, and
transactions do not deadlock.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.scheduler import hosts, models
from roost.db.scheduler.ranges import covered, in_parts
from roost.objects import ServerGroup, SnapshotRange

_GROUPS = models.server_groups
_CLAIMS = models.claims
# Frequent statements are built once: to build them costs more than to run them.
_THESE = _GROUPS.c.uuid.in_(sa.bindparam("uuids", expanding=True))
_FIND = sa.select(_GROUPS.c.uuid).where(_THESE)
_LOCK = (
    sa.select(_GROUPS.c.uuid, _GROUPS.c.generation)
    .where(_THESE)
    .order_by(_GROUPS.c.uuid)
    .with_for_update()
)
_GROW = sa.update(_GROUPS).where(_THESE).values(generation=_GROUPS.c.generation + 1)
_UPDATE = (
    sa.update(_GROUPS)
    .where(_GROUPS.c.uuid == sa.bindparam("group"))
    .values(version=sa.bindparam("new_version"), deleted=sa.bindparam("new_deleted"))
)
_MEMBERS = (
    sa.select(_CLAIMS.c.group_uuid, _CLAIMS.c.host_id, sa.func.count())
    .where(_CLAIMS.c.group_uuid.in_(sa.bindparam("uuids", expanding=True)))
    .group_by(_CLAIMS.c.group_uuid, _CLAIMS.c.host_id)
)


def lock(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Lock these groups, and with them their claims; return their generations.

    Inserts groups that are not known yet. Call it once in a transaction, before hosts and claims
    are locked. All rows are inserted before the first lock: a transaction that waits for a new row
    holds no old one for which the inserting transaction may wait.
    """
    wanted = {"uuids": list(uuids)}
    missing = set(uuids).difference(session.scalars(_FIND, wanted))
    for uuid in sorted(missing):
        insert_once(session, _GROUPS, {"uuid": uuid, **_UNKNOWN})
    return {row.uuid: row.generation for row in session.execute(_LOCK, wanted)}


def grow(session: Session, uuids: Collection[str]) -> None:
    """Raise the generations of these groups, since their claims change. They must be locked."""
    session.execute(_GROW, {"uuids": list(uuids)})


def members_by_host(session: Session, uuids: Collection[str]) -> dict[str, dict[int, int]]:
    """Return the number of claims of each of these groups by host id.

    It belongs to the generations that :func:`lock` returned in the same transaction.
    """
    found: dict[str, dict[int, int]] = {uuid: {} for uuid in uuids}
    for uuid, host_id, count in session.execute(_MEMBERS, {"uuids": list(uuids)}):
        found[uuid][host_id] = count
    return found


def take_in(
    session: Session, groups: Sequence[ServerGroup], *, snapshot: SnapshotRange | None
) -> bool:
    """Store changed groups, or all of a range; return whether anything is new.

    Claims of members without a group get it, and the group's generation grows then. Only new
    groups are locked, so repeated messages block no other transaction.
    """
    known = _known(session, [group.uuid for group in groups])
    if snapshot is not None:
        known |= _alive_in(session, snapshot)
    news = _news(known, groups, snapshot)
    strays = _strays(session, groups)
    touched = {*news, *strays}
    if not touched:
        return False
    lock(session, touched)
    known = _known(session, touched)  # read again under the lock
    news = _news(known, [group for group in groups if group.uuid in touched], snapshot)
    _write(session, news)
    gone = {uuid for uuid, state in {**known, **news}.items() if state.deleted}
    joined = _join_all(session, {uuid: of for uuid, of in strays.items() if uuid not in gone})
    return bool(news) or joined


@dataclasses.dataclass(frozen=True)
class _State:
    """The state of a group that the API level last sent."""

    version: int
    deleted: bool


_UNKNOWN = {"generation": 0, "version": 0, "deleted": False}


def _known(session: Session, uuids: Iterable[str]) -> dict[str, _State]:
    return {
        uuid: state
        for chunk in in_parts(uuids)
        for uuid, state in _states(session, _GROUPS.c.uuid.in_(chunk))
    }


def _alive_in(session: Session, snapshot: SnapshotRange) -> dict[str, _State]:
    """Return the groups within a snapshot's range that are not marked as deleted."""
    in_range = covered(_GROUPS.c.uuid, snapshot)
    return dict(_states(session, _GROUPS.c.deleted.is_(False), *in_range))


def _states(session: Session, *conditions: sa.ColumnElement[bool]) -> Iterator[tuple[str, _State]]:
    columns = (_GROUPS.c.uuid, _GROUPS.c.version, _GROUPS.c.deleted)
    for uuid, version, deleted in session.execute(sa.select(*columns).where(*conditions)):
        yield uuid, _State(version, deleted)


def _news(
    known: Mapping[str, _State], groups: Iterable[ServerGroup], snapshot: SnapshotRange | None
) -> dict[str, _State]:
    """Return the states to write: those received that are newer than the known ones.

    Every group in a snapshot is as new as the snapshot. That matters after a restore of the API
    database: its current content counts, not the higher version that it sent before.
    """
    as_of = snapshot.version if snapshot else 0
    received = {group.uuid: group for group in groups}
    news = {
        uuid: _State(max(group.version, as_of), group.deleted)
        for uuid, group in received.items()
        if _is_news(group, known.get(uuid), as_of)
    }
    missed = {
        uuid: _State(as_of, deleted=True)
        for uuid, had in known.items()
        if snapshot and uuid not in received and not had.deleted and had.version <= as_of
    }
    return {**news, **missed}


def _is_news(group: ServerGroup, known: _State | None, as_of: int) -> bool:
    if known is None or known.version < group.version:
        return True
    return known.version < as_of and known.deleted != group.deleted


def _write(session: Session, news: Mapping[str, _State]) -> None:
    if news:
        rows = [
            {"group": uuid, "new_version": state.version, "new_deleted": state.deleted}
            for uuid, state in news.items()
        ]
        session.execute(_UPDATE, rows)


def _strays(session: Session, groups: Iterable[ServerGroup]) -> dict[str, list[str]]:
    """Return the members, by group, whose claims have no group."""
    group_of = {member: group.uuid for group in groups for member in group.members}
    strays: dict[str, list[str]] = defaultdict(list)
    for chunk in in_parts(group_of):
        claims = sa.select(_CLAIMS.c.instance_uuid).where(*_grouplessness(chunk))
        for uuid in session.scalars(claims):
            strays[group_of[uuid]].append(uuid)
    return strays


def _join_all(session: Session, strays: Mapping[str, Sequence[str]]) -> bool:
    """Set the group of claims, and return whether any changed."""
    members = [uuid for of_group in strays.values() for uuid in of_group]
    _lock_hosts(session, members)
    joined = [uuid for uuid, of_group in strays.items() if _join(session, uuid, of_group)]
    if joined:
        grow(session, joined)
    return bool(joined)


def _lock_hosts(session: Session, members: Iterable[str]) -> None:
    """Lock the hosts of claims."""
    host_ids: set[int] = set()
    for chunk in in_parts(members):
        claims = sa.select(_CLAIMS.c.host_id).where(*_grouplessness(chunk))
        host_ids.update(session.scalars(claims))
    hosts.lock(session, host_ids)


def _join(session: Session, group_uuid: str, members: Iterable[str]) -> bool:
    joined = 0
    for chunk in in_parts(members):
        claims = sa.update(_CLAIMS).where(*_grouplessness(chunk))
        joined += session.execute(claims.values(group_uuid=group_uuid)).rowcount
    return joined > 0


def _grouplessness(members: Collection[str]) -> tuple[sa.ColumnElement[bool], ...]:
    return _CLAIMS.c.instance_uuid.in_(members), _CLAIMS.c.group_uuid.is_(None)
