"""What projects use and may use. Usage moves with the mappings, by conditional updates: exact."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db.api import models, quota_limits
from roost.db.engine import Session
from roost.db.insert import insert_once

RESOURCES = ("instances", "cores", "ram", "server_groups")
_usages = models.quota_usages


def take(session: Session, *, project_id: str, defaults: Mapping[str, int], **amounts: int) -> None:
    """Count more against the project, if it stays within its limits.

    :param defaults: limits of resources for which the project has none of its own; -1: no limit
    :param amounts: how much, by resource
    :raises roost.exception.QuotaExceeded: when any limit would be passed; nothing is taken then
    """
    bounds = limits(session, project_id, defaults)
    if _taken(session, project_id, amounts, bounds):
        return
    _ensure_row(session, project_id)
    if not _taken(session, project_id, amounts, bounds):
        raise _exceeded(usage(session, project_id), amounts, bounds)


def charge(session: Session, *, project_id: str, **amounts: int) -> None:
    """Count more against the project, whatever its limits: for what is there already."""
    _ensure_row(session, project_id)
    session.execute(
        sa.update(_usages).where(_usages.c.project_id == project_id).values(_moved(amounts))
    )


def give_back(session: Session, *, project_id: str, **amounts: int) -> None:
    """Count so much less, by resource, against the project."""
    less = {name: -amount for name, amount in amounts.items()}
    session.execute(
        sa.update(_usages).where(_usages.c.project_id == project_id).values(_moved(less))
    )


def limits(session: Session, project_id: str, defaults: Mapping[str, int]) -> dict[str, int]:
    """Return the limit of each resource for this project."""
    return {**defaults, **quota_limits.of_project(session, project_id)}


def usage(session: Session, project_id: str) -> dict[str, int]:
    """Return what counts against this project now."""
    row = session.execute(
        sa.select(*[_usages.c[name] for name in RESOURCES]).where(
            _usages.c.project_id == project_id
        )
    ).one_or_none()
    return dict(zip(RESOURCES, row or (0,) * len(RESOURCES), strict=True))


def usage_of_user(session: Session, project_id: str, user_id: str) -> dict[str, int]:
    """Return what a user has in this project, which is counted now: nobody is charged by user."""
    rows = sa.union_all(*_having(user_id)).subquery()
    query = _summed(rows).where(rows.c.project_id == project_id)
    found = session.execute(query).one_or_none()
    return dict.fromkeys(RESOURCES, 0) if found is None else _difference(found[1:]).counted


def locked_usage(session: Session, project_id: str) -> dict[str, int]:
    """Return the same as :func:`usage`, and let nobody change it before the transaction ends."""
    row = sa.select(_usages.c.project_id).where(_usages.c.project_id == project_id)
    session.execute(row.with_for_update())
    return usage(session, project_id)


def all_usages(session: Session) -> dict[str, dict[str, int]]:
    """Return every project's usage, for audits."""
    rows = session.execute(sa.select(_usages)).mappings()
    return {row["project_id"]: {name: row[name] for name in RESOURCES} for row in rows}


class Difference(NamedTuple):
    """What a project is charged, and what its mappings and server groups add up to."""

    used: dict[str, int]
    counted: dict[str, int]


def differences(session: Session) -> dict[str, Difference]:
    """Return the projects that are charged something else than they have.

    By one statement, which sees everything as at one moment: so nothing under way is found.
    """
    rows = session.execute(_COMPARED)
    return {project: _difference(amounts) for project, *amounts in rows}


def recount(session: Session, project_id: str) -> Difference:
    """Charge a project for what it has; return what it was charged, and what it has.

    Whoever takes quota waits for this; who gives it back afterwards counts on.
    """
    _ensure_row(session, project_id)
    row = sa.select(_usages).where(_usages.c.project_id == project_id).with_for_update()
    before = session.execute(row).mappings().one()
    used = {name: before[name] for name in RESOURCES}
    has = counted(session, project_id).get(project_id, dict.fromkeys(RESOURCES, 0))
    if used != has:
        session.execute(sa.update(_usages).where(_usages.c.project_id == project_id).values(has))
    return Difference(used, has)


def counted(session: Session, project_id: str | None = None) -> dict[str, dict[str, int]]:
    """Return what mappings and server groups add up to, by project (or of one only)."""
    query = _summed(_COUNTED)
    if project_id is not None:
        query = query.where(_COUNTED.c.project_id == project_id)
    found = {project: _difference(amounts) for project, *amounts in session.execute(query)}
    return {project: difference.counted for project, difference in found.items()}


def _charged() -> sa.Select[Any]:
    nothing = [sa.literal(0).label(f"counted_{name}") for name in RESOURCES]
    used = [_usages.c[name].label(f"used_{name}") for name in RESOURCES]
    return sa.select(_usages.c.project_id, *used, *nothing)


def _having(user_id: str | None = None) -> list[sa.Select[Any]]:
    """Return what projects (or one user in them) have, as rows like what they are charged."""
    instances, groups = models.instance_mappings.c, models.instance_groups.c
    amounts = {
        "instances": sa.func.count(),
        "cores": sa.func.sum(instances.vcpus),
        "ram": sa.func.sum(instances.memory_mb),
    }
    of_instances = sa.select(instances.project_id, *_columns(amounts))
    lives = (instances.queued_for_delete.is_(False), instances.put_away_at.is_(None))
    of_instances = of_instances.where(*lives).group_by(instances.project_id)
    of_groups = sa.select(groups.project_id, *_columns({"server_groups": sa.func.count()}))
    of_groups = of_groups.group_by(groups.project_id)
    if user_id is None:
        return [of_instances, of_groups]
    return [
        of_instances.where(instances.user_id == user_id),
        of_groups.where(groups.user_id == user_id),
    ]


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


_COUNTED: Final = sa.union_all(*_having()).subquery()
_COMPARED: Final = _compared()


def _difference(amounts: Sequence[Any]) -> Difference:
    numbers = [int(amount) for amount in amounts]
    count = len(RESOURCES)
    return Difference(
        dict(zip(RESOURCES, numbers[:count], strict=True)),
        dict(zip(RESOURCES, numbers[count:], strict=True)),
    )


def _taken(
    session: Session, project_id: str, asked: Mapping[str, int], bounds: Mapping[str, int]
) -> bool:
    fits = [_usages.c[name] + asked[name] <= bounds[name] for name in asked if bounds[name] >= 0]
    done = session.execute(
        sa.update(_usages).where(_usages.c.project_id == project_id, *fits).values(_moved(asked))
    )
    return done.rowcount == 1


def _moved(amounts: Mapping[str, int]) -> dict[str, sa.ColumnElement[int]]:
    return {name: _usages.c[name] + amount for name, amount in amounts.items()}


def _ensure_row(session: Session, project_id: str) -> None:
    row = {"project_id": project_id, **dict.fromkeys(RESOURCES, 0)}
    insert_once(session, _usages, row)


def _exceeded(
    used: Mapping[str, int], asked: Mapping[str, int], bounds: Mapping[str, int]
) -> exception.QuotaExceeded:
    over = [n for n in asked if bounds[n] >= 0 and used[n] + asked[n] > bounds[n]]
    over = over or list(asked)[:1]  # somebody gave back what was missing a moment ago
    said = ", ".join(
        f"{name}: asked for {asked[name]}, used {used[name]} of {bounds[name]}" for name in over
    )
    return exception.QuotaExceeded(
        f"Quota exceeded for {said}",
        resources=over,
        used=dict(used),
        asked=dict(asked),
        limits=dict(bounds),
    )
