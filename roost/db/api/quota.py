"""What projects use and may use. Usage moves with the mappings, by conditional updates: exact."""

from collections.abc import Mapping

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

RESOURCES = ("instances", "cores", "ram")
_usages = models.quota_usages
_limits = models.quota_limits


def take(
    session: Session,
    *,
    project_id: str,
    instances: int,
    cores: int,
    ram: int,
    defaults: Mapping[str, int],
) -> None:
    """Count more against the project, if it stays within its limits.

    :param defaults: limits of resources for which the project has none of its own; -1: no limit
    :raises roost.exception.QuotaExceeded: when any limit would be passed; nothing is taken then
    """
    asked = {"instances": instances, "cores": cores, "ram": ram}
    bounds = limits(session, project_id, defaults)
    if _taken(session, project_id, asked, bounds):
        return
    _ensure_row(session, project_id)
    if not _taken(session, project_id, asked, bounds):
        raise _exceeded(usage(session, project_id), asked, bounds)


def give_back(session: Session, *, project_id: str, instances: int, cores: int, ram: int) -> None:
    """Count less against the project."""
    asked = {"instances": -instances, "cores": -cores, "ram": -ram}
    session.execute(
        sa.update(_usages).where(_usages.c.project_id == project_id).values(_moved(asked))
    )


def limits(session: Session, project_id: str, defaults: Mapping[str, int]) -> dict[str, int]:
    """Return the limit of each resource for this project."""
    own = session.execute(
        sa.select(_limits.c.resource, _limits.c.hard_limit).where(
            _limits.c.project_id == project_id
        )
    )
    return {**defaults, **{row.resource: row.hard_limit for row in own}}


def usage(session: Session, project_id: str) -> dict[str, int]:
    """Return what counts against this project now."""
    row = session.execute(
        sa.select(*[_usages.c[name] for name in RESOURCES]).where(
            _usages.c.project_id == project_id
        )
    ).one_or_none()
    return dict(zip(RESOURCES, row or (0, 0, 0), strict=True))


def all_usages(session: Session) -> dict[str, dict[str, int]]:
    """Return every project's usage, for audits."""
    rows = session.execute(sa.select(_usages)).mappings()
    return {row["project_id"]: {name: row[name] for name in RESOURCES} for row in rows}


def counted(session: Session) -> dict[str, dict[str, int]]:
    """Return what the mappings add up to per project, for audits."""
    mappings = models.instance_mappings
    rows = session.execute(
        sa.select(
            mappings.c.project_id,
            sa.func.count(),
            sa.func.sum(mappings.c.vcpus),
            sa.func.sum(mappings.c.memory_mb),
        )
        .where(mappings.c.queued_for_delete.is_(False))
        .group_by(mappings.c.project_id)
    )
    return {
        project: dict(zip(RESOURCES, map(int, amounts), strict=True)) for project, *amounts in rows
    }


def _taken(
    session: Session, project_id: str, asked: Mapping[str, int], bounds: Mapping[str, int]
) -> bool:
    fits = [
        _usages.c[name] + asked[name] <= bounds[name] for name in RESOURCES if bounds[name] >= 0
    ]
    done = session.execute(
        sa.update(_usages).where(_usages.c.project_id == project_id, *fits).values(_moved(asked))
    )
    return done.rowcount == 1


def _moved(asked: Mapping[str, int]) -> dict[str, sa.ColumnElement[int]]:
    return {name: _usages.c[name] + asked[name] for name in RESOURCES}


def _ensure_row(session: Session, project_id: str) -> None:
    row = {"project_id": project_id, **dict.fromkeys(RESOURCES, 0)}
    insert_once(session, _usages, row)


def _exceeded(
    used: Mapping[str, int], asked: Mapping[str, int], bounds: Mapping[str, int]
) -> exception.QuotaExceeded:
    over = [n for n in RESOURCES if bounds[n] >= 0 and used[n] + asked[n] > bounds[n]] or [
        "instances"
    ]
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
