"""Quota: usage and limits of projects. Usage changes with the mappings, by conditional updates.

The usage of one user is not stored, so it cannot drift. It is counted when it is read, and before a
user with limits of their own takes more: then under the lock of the project's row, for which every
transaction that takes quota of this project waits, so this is exact, too.

Operators set limits of projects, of users in them and of classes of projects; -1: no limit. Options
give the limits that are not set here. Every project is in the class ``default``; other classes are
only stored, and limit no project. The limits of a project apply to each of its users, too.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

DEFAULT_CLASS: Final = "default"
_of_projects = models.quota_limits
_of_users = models.quota_user_limits
_of_classes = models.quota_class_limits
_OWNERS: Final = {
    "class": (_of_classes, ("class_name",)),
    "project": (_of_projects, ("project_id",)),
    "user": (_of_users, ("project_id", "user_id")),
}
_LIMITS: Final = sa.union_all(
    *[
        sa.select(table.c.resource, table.c.hard_limit, sa.literal(of).label("of")).where(
            *[table.c[name] == sa.bindparam(name) for name in owner]
        )
        for of, (table, owner) in _OWNERS.items()
    ]
)


class QuotaLimits(NamedTuple):
    """The limits set for a project or its class, and those for one user in it, by resource."""

    project: dict[str, int]
    user: dict[str, int]


def read(session: Session, project_id: str, user_id: str | None = None) -> QuotaLimits:
    """Return the limits that apply to a project, its own before those of its class.

    In one statement, since it delays boots.

    :param user_id: read this user's own limits, too
    """
    found: dict[str, dict[str, int]] = {of: {} for of in _OWNERS}
    whose = {"class_name": DEFAULT_CLASS, "project_id": project_id, "user_id": user_id}
    for row in session.execute(_LIMITS, whose):
        found[row.of][row.resource] = row.hard_limit
    of_class, of_project, of_user = found.values()
    return QuotaLimits({**of_class, **of_project}, of_user)


def of_users(session: Session, project_id: str, *, but: str = "") -> dict[str, tuple[int, int]]:
    """Return the sum and the highest of the limits of a project's users, by resource.

    :param but: a user to leave out
    """
    c = _of_users.c
    numbers = (sa.func.sum(c.hard_limit), sa.func.max(c.hard_limit))
    rows = session.execute(
        sa.select(c.resource, *numbers)
        .where(c.project_id == project_id, c.user_id != but, c.hard_limit >= 0)
        .group_by(c.resource)
    )
    return {resource: (int(total), most) for resource, total, most in rows}


def of_class(session: Session, name: str) -> dict[str, int]:
    """Return the limits set for a class."""
    return {
        row.resource: row.hard_limit
        for row in session.execute(_limits(_of_classes, class_name=name))
    }


def set_for_project(session: Session, project_id: str, limits: Mapping[str, int]) -> None:
    """Set limits of a project, by resource; others stay as they are."""
    _set(session, _of_projects, limits, project_id=project_id)


def set_for_user(
    session: Session, project_id: str, user_id: str, limits: Mapping[str, int]
) -> None:
    """Set limits of a user in a project, by resource; others stay as they are."""
    _set(session, _of_users, limits, project_id=project_id, user_id=user_id)


def set_for_class(session: Session, name: str, limits: Mapping[str, int]) -> None:
    """Set limits of a class, by resource; others stay as they are."""
    _set(session, _of_classes, limits, class_name=name)


def forget_project(session: Session, project_id: str) -> None:
    """Delete the limits of a project and of its users, if there are any."""
    for table in (_of_users, _of_projects):
        session.execute(sa.delete(table).where(table.c.project_id == project_id))


def forget_user(session: Session, project_id: str, user_id: str) -> None:
    """Delete the limits of a user in a project, if there are any."""
    c = _of_users.c
    session.execute(sa.delete(_of_users).where(c.project_id == project_id, c.user_id == user_id))


def _limits(table: sa.Table, **owner: str) -> sa.Select[Any]:
    return sa.select(table.c.resource, table.c.hard_limit).filter_by(**owner)


def _set(session: Session, table: sa.Table, limits: Mapping[str, int], **owner: str) -> None:
    for resource, limit in sorted(limits.items()):
        row = {**owner, "resource": resource}
        if not insert_once(session, table, {**row, "hard_limit": limit}):
            where = [table.c[name] == value for name, value in row.items()]
            session.execute(sa.update(table).where(*where).values(hard_limit=limit))


RESOURCES = ("instances", "cores", "ram", "server_groups")
_usages = models.quota_usages
_mappings = models.instance_mappings
_groups = models.instance_groups


def take(
    session: Session,
    *,
    project_id: str,
    user_id: str,
    defaults: Mapping[str, int],
    **amounts: int,
) -> None:
    """Count more against the project, if it and this user stay within their limits.

    :param defaults: limits of resources for which the project has none of its own; -1: no limit
    :param amounts: how much, by resource
    :raises roost.exception.QuotaExceeded: when any limit would be exceeded; nothing is taken then
    """
    own = read(session, project_id, user_id)
    bounds = {**defaults, **own.project}
    _check_user(session, project_id, user_id, amounts, own.user)
    if _taken(session, project_id, amounts, bounds):
        return
    _ensure_row(session, project_id)
    if not _taken(session, project_id, amounts, bounds):
        raise _exceeded(usage(session, project_id), amounts, bounds)


def charge(session: Session, *, project_id: str, **amounts: int) -> None:
    """Count more against the project, whatever its limits: for what exists already."""
    _ensure_row(session, project_id)
    _move(session, project_id, amounts)


def give_back(session: Session, *, project_id: str, **amounts: int) -> None:
    """Count less against the project, by resource."""
    _move(session, project_id, {name: -amount for name, amount in amounts.items()})


def limits(
    session: Session, project_id: str, defaults: Mapping[str, int], *, user_id: str | None = None
) -> dict[str, int]:
    """Return the limit of each resource as set for this project, or for a user in it."""
    own = read(session, project_id, user_id)
    return {**defaults, **own.project, **own.user}


def bounds(
    session: Session, project_id: str, defaults: Mapping[str, int], *, user_id: str
) -> dict[str, int]:
    """Return the effective limit of each resource: the lower of the project's and the user's."""
    own = read(session, project_id, user_id)
    found = {**defaults, **own.project}
    for name, limit in own.user.items():
        found[name] = min(found.get(name, -1), limit, key=lambda one: (one < 0, one))
    return found


def given_to_users(session: Session, project_id: str, *, but: str = "") -> dict[str, int]:
    """Return how much of the project's limits the limits of its users cover, by resource.

    For resources that users share, that is the sum; for limits per item (such as the metadata items
    of a server) the highest.

    :param but: a user to leave out
    """
    found = of_users(session, project_id, but=but)
    return {name: total if name in RESOURCES else most for name, (total, most) in found.items()}


def usage(session: Session, project_id: str) -> dict[str, int]:
    """Return the current usage of this project, by resource."""
    row = session.execute(
        sa.select(*[_usages.c[name] for name in RESOURCES]).where(
            _usages.c.project_id == project_id
        )
    ).one_or_none()
    return dict(zip(RESOURCES, row or (0,) * len(RESOURCES), strict=True))


def usage_of_user(session: Session, project_id: str, user_id: str) -> dict[str, int]:
    """Count what a user has in this project, by resource."""
    mine = _groups.c.project_id == project_id, _groups.c.user_id == user_id
    groups = sa.select(sa.func.count()).select_from(_groups).where(*mine).scalar_subquery()
    c = _mappings.c
    sums = [sa.func.coalesce(sa.func.sum(c[name]), 0) for name in ("vcpus", "memory_mb")]
    row = session.execute(
        sa.select(sa.func.count(), *sums, groups)
        .select_from(_mappings)
        .where(c.project_id == project_id, c.user_id == user_id, *_COUNT)
    ).one()
    return dict(zip(RESOURCES, map(int, row), strict=True))


def locked_usage(session: Session, project_id: str) -> dict[str, int]:
    """Return the same as :func:`usage`, and lock it until the transaction ends."""
    lock(session, project_id)
    return usage(session, project_id)


def lock(session: Session, project_id: str) -> None:
    """Lock the usage of the project until the transaction ends."""
    row = sa.select(_usages.c.project_id).where(_usages.c.project_id == project_id)
    if session.execute(row.with_for_update()).first() is None:
        _ensure_row(session, project_id)
        session.execute(row.with_for_update())


class QuotaDifference(NamedTuple):
    """The stored usage of a project, and the sums of its mappings and server groups."""

    used: dict[str, int]
    counted: dict[str, int]


def differences(session: Session) -> dict[str, QuotaDifference]:
    """Return the projects whose stored usage differs from what they have.

    One statement sees one snapshot of the database, so changes under way are not found.
    """
    rows = session.execute(_COMPARED)
    return {project: _difference(amounts) for project, *amounts in rows}


def recount(session: Session, project_id: str) -> QuotaDifference:
    """Set a project's stored usage to what it has; return both values.

    Transactions that take quota wait for this one; those that release quota later subtract from it.
    """
    _ensure_row(session, project_id)
    row = sa.select(_usages).where(_usages.c.project_id == project_id).with_for_update()
    before = session.execute(row).mappings().one()
    used = {name: before[name] for name in RESOURCES}
    has = counted(session, project_id).get(project_id, dict.fromkeys(RESOURCES, 0))
    if used != has:
        session.execute(sa.update(_usages).where(_usages.c.project_id == project_id).values(has))
    return QuotaDifference(used, has)


def counted(session: Session, project_id: str | None = None) -> dict[str, dict[str, int]]:
    """Return the sums of mappings and server groups, by project (or of one only)."""
    query = _summed(_COUNTED)
    if project_id is not None:
        query = query.where(_COUNTED.c.project_id == project_id)
    found = {project: _difference(amounts) for project, *amounts in session.execute(query)}
    return {project: difference.counted for project, difference in found.items()}


def _charged() -> sa.Select[Any]:
    nothing = [sa.literal(0).label(f"counted_{name}") for name in RESOURCES]
    used = [_usages.c[name].label(f"used_{name}") for name in RESOURCES]
    return sa.select(_usages.c.project_id, *used, *nothing)


def _having() -> list[sa.Select[Any]]:
    """Return what projects have, in the columns of :func:`_charged`."""
    instances, groups = _mappings.c, _groups.c
    amounts = {
        "instances": sa.func.count(),
        "cores": sa.func.sum(instances.vcpus),
        "ram": sa.func.sum(instances.memory_mb),
    }
    of_instances = sa.select(instances.project_id, *_columns(amounts)).where(*_COUNT)
    of_groups = sa.select(groups.project_id, *_columns({"server_groups": sa.func.count()}))
    return [of_instances.group_by(instances.project_id), of_groups.group_by(groups.project_id)]


def _columns(amounts: Mapping[str, sa.ColumnElement[Any]]) -> list[sa.Label[Any]]:
    nothing = [sa.literal(0).label(f"used_{name}") for name in RESOURCES]
    there = [amounts.get(name, sa.literal(0)).label(f"counted_{name}") for name in RESOURCES]
    return [*nothing, *there]


def _summed(rows: sa.Subquery) -> sa.Select[Any]:
    names = [f"{kind}_{name}" for kind in ("used", "counted") for name in RESOURCES]
    sums = [sa.func.sum(rows.c[name]) for name in names]
    return sa.select(rows.c.project_id, *sums).group_by(rows.c.project_id)


def _compared() -> sa.Select[Any]:
    rows = sa.union_all(_charged(), *_having()).subquery()
    differs = [
        sa.func.sum(rows.c[f"used_{name}"]) != sa.func.sum(rows.c[f"counted_{name}"])
        for name in RESOURCES
    ]
    return _summed(rows).having(sa.or_(*differs)).order_by(rows.c.project_id)


# Conditions of the mappings that count.
_COUNT: Final = (_mappings.c.queued_for_delete.is_(False), _mappings.c.put_away_at.is_(None))
_COUNTED: Final = sa.union_all(*_having()).subquery()
_COMPARED: Final = _compared()


def _difference(amounts: Sequence[Any]) -> QuotaDifference:
    numbers = [int(amount) for amount in amounts]
    count = len(RESOURCES)
    return QuotaDifference(
        dict(zip(RESOURCES, numbers[:count], strict=True)),
        dict(zip(RESOURCES, numbers[count:], strict=True)),
    )


def _check_user(
    session: Session,
    project_id: str,
    user_id: str,
    asked: Mapping[str, int],
    own: Mapping[str, int],
) -> None:
    """Make sure that a user stays within their own limits; most have none.

    :raises roost.exception.QuotaExceeded: when any would be exceeded
    """
    bounds = {name: own.get(name, -1) for name in asked}
    if not any(limit >= 0 for limit in bounds.values()):
        return
    lock(session, project_id)
    used = usage_of_user(session, project_id, user_id)
    if _over(used, asked, bounds):
        raise _exceeded(used, asked, bounds)


def _taken(
    session: Session, project_id: str, asked: Mapping[str, int], bounds: Mapping[str, int]
) -> bool:
    bounded = tuple(name for name in asked if bounds[name] >= 0)
    parameters = {f"most_{name}": bounds[name] for name in bounded}
    parameters |= {f"more_{name}": amount for name, amount in asked.items()}
    taking = _taking(tuple(asked), bounded)
    return session.execute(taking, {"whose": project_id, **parameters}).rowcount == 1


@functools.cache
def _taking(asked: tuple[str, ...], bounded: tuple[str, ...]) -> sa.Update:
    """Return the statement that counts more of these resources, if some are within bounds."""
    after = {
        name: _usages.c[name] + sa.bindparam(f"more_{name}", type_=sa.BigInteger())
        for name in asked
    }
    fits = [after[name] <= sa.bindparam(f"most_{name}") for name in bounded]
    mine = _usages.c.project_id == sa.bindparam("whose")
    return sa.update(_usages).where(mine, *fits).values(after)


def _move(session: Session, project_id: str, amounts: Mapping[str, int]) -> None:
    """Count more, or less, against a project, within no bounds."""
    parameters = {f"more_{name}": amount for name, amount in amounts.items()}
    session.execute(_taking(tuple(amounts), ()), {"whose": project_id, **parameters})


def _ensure_row(session: Session, project_id: str) -> None:
    row = {"project_id": project_id, **dict.fromkeys(RESOURCES, 0)}
    insert_once(session, _usages, row)


def _over(
    used: Mapping[str, int], asked: Mapping[str, int], bounds: Mapping[str, int]
) -> list[str]:
    """Return the resources that would exceed their bounds."""
    return [name for name in asked if 0 <= bounds[name] < used[name] + asked[name]]


def _exceeded(
    used: Mapping[str, int], asked: Mapping[str, int], bounds: Mapping[str, int]
) -> exception.QuotaExceeded:
    """Return the error for an exceeded limit, with the text that clients match."""
    # the missing amount may have been released meanwhile
    over = _over(used, asked, bounds) or list(asked)[:1]
    names = ", ".join(over)

    def each(amounts: Mapping[str, int]) -> str:
        return ", ".join(str(amounts[name]) for name in over)

    return exception.QuotaExceeded(
        f"Quota exceeded for {names}: Requested {each(asked)}, but already used {each(used)} of"
        f" {each(bounds)} {names}",
        resources=over,
        used=dict(used),
        asked=dict(asked),
        limits=dict(bounds),
    )
