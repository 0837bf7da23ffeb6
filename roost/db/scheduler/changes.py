"""Changes of hosts, in their order, from a marker on.

The order is that of ``touched_at``: the database's clock when a change was written, before its
commit. So a change may appear behind a marker that is already past it. A marker therefore never
ends a listing later than ``LOOK_BACK`` before its first page: changes of that time are returned
again, with the same generation.
"""

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import sqlalchemy as sa

from roost import exception
from roost.db import clock
from roost.db.engine import Session
from roost.db.scheduler import models
from roost.db.scheduler.hosts import LOOK_BACK
from roost.db.scheduler.ranges import check_limit, in_parts
from roost.db.scheduler.tombstones import KEPT
from roost.objects import HostChange, HostChangePage
from roost.objects.host_changes import REMOVED

_HOSTS = models.hosts
_REMOVED = models.removed_hosts
_COMMON: Final = ("id", "host", "node", "node_uuid", "cell_uuid", "generation", "described")
_PLAIN: Final = (*_COMMON, "enabled", "told_down", "reported_at")
_LAST_ID: Final = 2**63 - 1
_CURRENT: Final = sa.select(
    *(_HOSTS.c[name] for name in _PLAIN),
    _HOSTS.c.touched_at.label("at"),
    _HOSTS.c.instances_used,
    _HOSTS.c.used,
)
_GONE: Final = sa.select(*(_REMOVED.c[name] for name in _COMMON), _REMOVED.c.removed_at.label("at"))


class _Marker(NamedTuple):
    """A position in a listing, and from when on the next listing begins."""

    at: datetime.datetime
    host_id: int
    then: datetime.datetime

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            at, host_id, then = text.split("/")
            times = (datetime.datetime.fromisoformat(each) for each in (at, then))
            first, second = (each.astimezone(datetime.UTC) for each in times)
            found = cls(first, int(host_id), second)
        except (ValueError, OverflowError) as error:
            raise exception.Invalid(f"{text!r} is no marker of changes.") from error
        if not 0 <= found.host_id <= _LAST_ID:
            raise exception.Invalid(f"{text!r} is no marker of changes.")
        return found

    def __str__(self) -> str:
        return f"{self.at.isoformat()}/{self.host_id}/{self.then.isoformat()}"


def read(session: Session, changed: Mapping[int, Collection[str]]) -> list[HostChange]:
    """Return hosts as they are now, in order of id, removed ones included.

    :param changed: what changed, by id
    """
    found: list[sa.RowMapping] = []
    for ids in in_parts(changed):
        for chosen, table in ((_CURRENT, _HOSTS), (_GONE, _REMOVED)):
            found += session.execute(chosen.where(table.c.id.in_(ids))).mappings().all()
    return [_as_change(row, changed[row["id"]]) for row in sorted(found, key=lambda row: row["id"])]


def since(session: Session, *, marker: str | None, limit: int) -> HostChangePage:
    """Return a page of the hosts that changed after a marker; without one: of all hosts.

    :raises roost.exception.Invalid: when it is no marker, or no limit of a page
    :raises roost.exception.NotFound: when it is too old to know which hosts were removed since
    """
    check_limit(limit)
    now = clock.now(session)
    after = _Marker.parse(marker) if marker is not None else None
    if after is not None and after.at < now - KEPT + LOOK_BACK:
        raise exception.NotFound("The marker is too old: begin again without one.")
    rows = _page(session, _CURRENT, after=after, limit=limit)
    if after is not None:
        gone = _page(session, _GONE, after=after, limit=limit)
        rows = sorted([*rows, *gone], key=lambda row: (row["at"], row["id"]))[:limit]
    then = now - LOOK_BACK if after is None or after.host_id == 0 else after.then
    more = len(rows) == limit
    end = _Marker(rows[-1]["at"], rows[-1]["id"], then) if more else _Marker(then, 0, then)
    changes = [_as_change(row, ()) for row in rows]
    return HostChangePage.of(changes=changes, marker=str(end), more=more)


def _page(
    session: Session, chosen: sa.Select[Any], *, after: _Marker | None, limit: int
) -> Sequence[sa.RowMapping]:
    at, id_ = chosen.selected_columns["at"], chosen.selected_columns["id"]
    if after is not None:
        # the first condition is for the index
        chosen = chosen.where(at >= after.at, sa.or_(at > after.at, id_ > after.host_id))
    return session.execute(chosen.order_by(at, id_).limit(limit)).mappings().all()


def _as_change(row: sa.RowMapping, changed: Collection[str]) -> HostChange:
    is_there = "reported_at" in row
    return HostChange.of(
        **{name: row[name] for name in _COMMON},
        changed=sorted(changed) if is_there else [REMOVED],
        enabled=row["enabled"] if is_there else None,
        told_down=row["told_down"] if is_there else None,
        reported_at=row["reported_at"] if is_there else None,
        instances=row["instances_used"] if is_there else None,
        used=row["used"] if is_there else None,
    )
