"""Server groups, as claims and the API level tell of them.

Whoever changes claims of a group locks its row first, before hosts and claims, and lets its
generation grow. So a generation stands for one set of members and their hosts, and no two
transactions wait for each other in a circle.
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
# Statements of the busy path are put together once: that costs more than running them.
_THESE = _GROUPS.c.uuid.in_(sa.bindparam("uuids", expanding=True))
_FIND = sa.select(_GROUPS.c.uuid).where(_THESE)
_LOCK = (
    sa.select(_GROUPS.c.uuid, _GROUPS.c.generation)
    .where(_THESE)
    .order_by(_GROUPS.c.uuid)
    .with_for_update()
)
_GROW = sa.update(_GROUPS).where(_THESE).values(generation=_GROUPS.c.generation + 1)
_TELL = (
    sa.update(_GROUPS)
    .where(_GROUPS.c.uuid == sa.bindparam("group"))
    .values(version=sa.bindparam("told_version"), deleted=sa.bindparam("told_deleted"))
)
_MEMBERS = (
    sa.select(_CLAIMS.c.group_uuid, _CLAIMS.c.host_id, sa.func.count())
    .where(_CLAIMS.c.group_uuid.in_(sa.bindparam("uuids", expanding=True)))
    .group_by(_CLAIMS.c.group_uuid, _CLAIMS.c.host_id)
)


def lock(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Let nobody else change claims of these groups; return their generations.

    Groups that are not known yet are from here on. To be called once in a transaction, before hosts
    and claims are locked. Nothing is locked before the last group is there: who waits for a new row
    holds no old one that its maker may wait for.
    """
    wanted = {"uuids": list(uuids)}
    missing = set(uuids).difference(session.scalars(_FIND, wanted))
    for uuid in sorted(missing):
        insert_once(session, _GROUPS, {"uuid": uuid, **_UNKNOWN})
    return {row.uuid: row.generation for row in session.execute(_LOCK, wanted)}


def grow(session: Session, uuids: Collection[str]) -> None:
    """Note that claims of these groups change. The groups must be locked."""
    session.execute(_GROW, {"uuids": list(uuids)})


def members_by_host(session: Session, uuids: Collection[str]) -> dict[str, dict[int, int]]:
    """Return how many claims each of these groups has on which host, by the host's id.

    It belongs to the generations that :func:`lock` returned in the same transaction.
    """
    found: dict[str, dict[int, int]] = {uuid: {} for uuid in uuids}
    for uuid, host_id, count in session.execute(_MEMBERS, {"uuids": list(uuids)}):
        found[uuid][host_id] = count
    return found


def take_in(
    session: Session, groups: Sequence[ServerGroup], *, snapshot: SnapshotRange | None
) -> bool:
    """Note groups that changed, or all of a range; tell whether anything is new.

    Claims of members that do not know their group learn it, and the group's generation grows then.
    Only what is new is locked, so what repeats itself holds up nobody.
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
    known = _known(session, touched)  # as it is now that nobody else changes it
    news = _news(known, [group for group in groups if group.uuid in touched], snapshot)
    _write(session, news)
    gone = {uuid for uuid, told in {**known, **news}.items() if told.deleted}
    learned = _teach(session, {uuid: of for uuid, of in strays.items() if uuid not in gone})
    return bool(news) or learned


@dataclasses.dataclass(frozen=True)
class _Told:
    """What the API level last told of a group."""

    version: int
    deleted: bool


_UNKNOWN = {"generation": 0, "version": 0, "deleted": False}


def _known(session: Session, uuids: Iterable[str]) -> dict[str, _Told]:
    return {
        uuid: told
        for chunk in in_parts(uuids)
        for uuid, told in _told(session, _GROUPS.c.uuid.in_(chunk))
    }


def _alive_in(session: Session, snapshot: SnapshotRange) -> dict[str, _Told]:
    """Return the groups within a snapshot's range that are not known as deleted."""
    in_range = covered(_GROUPS.c.uuid, snapshot)
    return dict(_told(session, _GROUPS.c.deleted.is_(False), *in_range))


def _told(session: Session, *conditions: sa.ColumnElement[bool]) -> Iterator[tuple[str, _Told]]:
    columns = (_GROUPS.c.uuid, _GROUPS.c.version, _GROUPS.c.deleted)
    for uuid, version, deleted in session.execute(sa.select(*columns).where(*conditions)):
        yield uuid, _Told(version, deleted)


def _news(
    known: Mapping[str, _Told], groups: Iterable[ServerGroup], snapshot: SnapshotRange | None
) -> dict[str, _Told]:
    """Return what has to be written of what we are told, knowing what we know.

    All that a snapshot has is as new as the snapshot. That matters where the API level has
    forgotten, as a restored database does: then what it says now counts, not the higher version
    that it gave before.
    """
    as_of = snapshot.version if snapshot else 0
    told = {group.uuid: group for group in groups}
    news = {
        uuid: _Told(max(group.version, as_of), group.deleted)
        for uuid, group in told.items()
        if _is_news(group, known.get(uuid), as_of)
    }
    missed = {
        uuid: _Told(as_of, deleted=True)
        for uuid, had in known.items()
        if snapshot and uuid not in told and not had.deleted and had.version <= as_of
    }
    return {**news, **missed}


def _is_news(group: ServerGroup, known: _Told | None, as_of: int) -> bool:
    if known is None or known.version < group.version:
        return True
    return known.version < as_of and known.deleted != group.deleted


def _write(session: Session, news: Mapping[str, _Told]) -> None:
    if news:
        rows = [
            {"group": uuid, "told_version": told.version, "told_deleted": told.deleted}
            for uuid, told in news.items()
        ]
        session.execute(_TELL, rows)


def _strays(session: Session, groups: Iterable[ServerGroup]) -> dict[str, list[str]]:
    """Return the members, by group, whose claims know of no group."""
    group_of = {member: group.uuid for group in groups for member in group.members}
    strays: dict[str, list[str]] = defaultdict(list)
    for chunk in in_parts(group_of):
        claims = sa.select(_CLAIMS.c.instance_uuid).where(*_grouplessness(chunk))
        for uuid in session.scalars(claims):
            strays[group_of[uuid]].append(uuid)
    return strays


def _teach(session: Session, strays: Mapping[str, Sequence[str]]) -> bool:
    """Let claims know their group, and tell whether any learned it."""
    members = [uuid for of_group in strays.values() for uuid in of_group]
    _lock_hosts(session, members)
    learned = [uuid for uuid, of_group in strays.items() if _join(session, uuid, of_group)]
    if learned:
        grow(session, learned)
    return bool(learned)


def _lock_hosts(session: Session, members: Iterable[str]) -> None:
    """Lock the hosts of claims."""
    host_ids: set[int] = set()
    for chunk in in_parts(members):
        claims = sa.select(_CLAIMS.c.host_id).where(*_grouplessness(chunk))
        host_ids.update(session.scalars(claims))
    hosts.lock(session, host_ids)


def _join(session: Session, group_uuid: str, members: Iterable[str]) -> bool:
    learned = 0
    for chunk in in_parts(members):
        claims = sa.update(_CLAIMS).where(*_grouplessness(chunk))
        learned += session.execute(claims.values(group_uuid=group_uuid)).rowcount
    return learned > 0


def _grouplessness(members: Collection[str]) -> tuple[sa.ColumnElement[bool], ...]:
    return _CLAIMS.c.instance_uuid.in_(members), _CLAIMS.c.group_uuid.is_(None)
