"""Leases on builds; all times are by the clock of the cell's database.

An instance that is being built has a lease (``instances.lease_until``). It is empty when
the task begins, and the next sweep sets a first one; the host renews it while it works. An expired
lease is taken over by one sweep, which holds a lease of its own meanwhile. Operations have their
leases in rows of their own (``operations.py``).
"""

import collections
import datetime
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from roost import states
from roost.db import clock
from roost.db.cell import actions, models
from roost.db.engine import Session
from roost.db.types import UtcDateTime

_instances = models.instances
# Tasks that a host has begun, and on which it may assume a whole lease.
_BEGUN = (states.NETWORKING, states.SPAWNING)
_WHOSE = ("instance_uuid", "project_id", "request_id")
_AT_ONCE = 500  # rows that one statement names, or one sweep takes


class HeldLease(NamedTuple):
    """A build that a host reports: its instance, its attempt and its possible tasks."""

    instance_uuid: str
    attempt: int
    tasks: tuple[str, ...]


class ExpiredLease(NamedTuple):
    """A build whose lease has expired; ``lease_until`` is the lease of the sweep that took it.

    A change that expects this lease fails if the host has renewed its own since.
    """

    instance_uuid: str
    project_id: str
    request_id: str | None
    host: str | None
    attempt: int
    vm_state: str
    task_state: str
    lease_until: datetime.datetime

    @property
    def expected(self) -> dict[str, object]:
        """The values that the instance has until another daemon changes it."""
        return {name: getattr(self, name) for name in self._fields if name not in _WHOSE}


class _Found(NamedTuple):
    """Columns of an instance on the host."""

    attempt: int
    vm_state: str
    task_state: str | None
    lease_until: datetime.datetime | None


def renew(session: Session, held: Sequence[HeldLease], *, host: str, seconds: float) -> set[int]:
    """Renew leases of a host, and return the positions in ``held`` of those that it has lost.

    A build that the host itself has finished is not lost: it has become a server, whatever task
    that has by now (except a delete, which the host must follow).
    """
    until = clock.now(session) + datetime.timedelta(seconds=seconds)
    rows: dict[str, _Found] = {}
    for start in range(0, len(held), _AT_ONCE):
        chunk = held[start : start + _AT_ONCE]
        session.execute(
            sa.update(_instances)
            .where(_here(host), sa.or_(*_matches(chunk)))
            .values(lease_until=until)
        )
        rows.update(_read(session, host, {each.instance_uuid for each in chunk}))
    return {
        at for at, each in enumerate(held) if not _keeps(each, rows.get(each.instance_uuid), until)
    }


def end_others(session: Session, held: Iterable[HeldLease], *, host: str) -> None:
    """End the leases of all builds on a host but those that it holds."""
    kept = {each.instance_uuid for each in held}
    c = _instances.c
    others = sa.true() if not kept else c.uuid.not_in(kept)
    now = clock.now(session)
    session.execute(
        sa.update(_instances)
        .where(_here(host), c.task_state.in_(states.BUILD_TASKS), others)
        .values(lease_until=now)
    )


def take_overdue(session: Session, *, begun_seconds: float, seconds: float) -> list[ExpiredLease]:
    """Give builds without a lease a first one; take those whose lease has expired.

    Only one caller gets each: those that another has taken or a host has renewed are left out.

    :param begun_seconds: the first lease on a task that a host has begun; at least as long as the
        host assumes
    :param seconds: any other first lease, and the caller's own on what is returned
    """
    now = clock.now(session)
    c = _instances.c
    found = session.execute(
        sa.select(c.uuid, c.lease_until)
        .where(
            c.task_state.in_(states.BUILD_TASKS),
            c.deleted_at.is_(None),
            sa.or_(c.lease_until.is_(None), c.lease_until <= now),
        )
        .limit(_AT_ONCE)
    ).all()
    fresh = [row.uuid for row in found if row.lease_until is None]
    begun = _lock(session, fresh, c.lease_until.is_(None))
    first = _first(clock.now(session), begun_seconds, seconds)
    _give(session, begun, first)
    over = [row.uuid for row in found if row.lease_until is not None]
    taken = _lock(session, over, c.lease_until <= now)
    _give(session, taken, now + datetime.timedelta(seconds=seconds))
    return _taken(session, taken)


def _first(
    now: datetime.datetime, begun_seconds: float, seconds: float
) -> sa.ColumnElement[datetime.datetime]:
    begun = _instances.c.task_state.in_(_BEGUN)
    whole, other = (
        sa.literal(now + datetime.timedelta(seconds=each), UtcDateTime())
        for each in (begun_seconds, seconds)
    )
    return sa.case((begun, whole), else_=other)


def _lock(
    session: Session, uuids: Collection[str], still: sa.ColumnElement[bool]
) -> Collection[str]:
    """Lock rows, and return those that are as they were found; lock before the clock is read.

    A host counts its lease from the moment before its request. This may wait for the locks, and a
    lease counted from before the wait would end sooner than the host assumes. The end of a lease
    does not say whose it is: another sweep may have begun in the same microsecond.
    """
    if not uuids:
        return []
    c = _instances.c
    rows = sa.select(c.uuid).where(c.uuid.in_(uuids), c.task_state.is_not(None), still)
    return [*session.scalars(rows.order_by(c.id).with_for_update())]


def _give(
    session: Session,
    uuids: Collection[str],
    until: datetime.datetime | sa.ColumnElement[datetime.datetime],
) -> None:
    if uuids:
        session.execute(
            sa.update(_instances).where(_instances.c.uuid.in_(uuids)).values(lease_until=until)
        )


def _taken(session: Session, uuids: Collection[str]) -> list[ExpiredLease]:
    if not uuids:
        return []
    c = _instances.c
    request = actions.request_of(c.uuid, sa.literal(actions.CREATE))
    columns = {**c, "instance_uuid": c.uuid, "request_id": request}
    rows = session.execute(
        sa.select(*[columns[name] for name in ExpiredLease._fields])
        .where(c.uuid.in_(uuids))
        .order_by(c.id)
    )
    return [ExpiredLease(*row) for row in rows]


def _here(host: str) -> sa.ColumnElement[bool]:
    return sa.and_(_instances.c.host == host, _instances.c.deleted_at.is_(None))


def _matches(held: Iterable[HeldLease]) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for the rows of this work, one per set of tasks."""
    c = _instances.c
    kinds: dict[tuple[str, ...], list[HeldLease]] = collections.defaultdict(list)
    for each in held:
        kinds[each.tasks].append(each)
    found = []
    for tasks, some in kinds.items():
        named = [(each.instance_uuid, each.attempt) for each in some]
        found.append(sa.and_(c.task_state.in_(tasks), sa.tuple_(c.uuid, c.attempt).in_(named)))
    return found


def _read(session: Session, host: str, uuids: Collection[str]) -> dict[str, _Found]:
    c = _instances.c
    rows = session.execute(
        sa.select(c.uuid, *[c[name] for name in _Found._fields]).where(
            _here(host), c.uuid.in_(uuids)
        )
    )
    return {uuid: _Found(*found) for uuid, *found in rows}


def _keeps(held: HeldLease, found: _Found | None, until: datetime.datetime) -> bool:
    if found is None or held.attempt != found.attempt:
        return False
    if found.task_state in held.tasks:
        return found.lease_until == until
    return found.vm_state != states.BUILDING and found.task_state != states.DELETING
