"""The hosts that the scheduler knows, as they reported themselves, and what is claimed of them."""

import dataclasses
import datetime
import json
from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.scheduler import models
from roost.objects import HostReport

RESOURCES: Final = ("vcpus", "memory_mb", "disk_gb")
Amounts = tuple[int, ...]
"""So much of each of ``RESOURCES``, in their order."""

_HOSTS = models.hosts
_CAPACITY = tuple(_HOSTS.c[f"{name}_capacity"] for name in RESOURCES)
_USED = tuple(_HOSTS.c[f"{name}_used"] for name in RESOURCES)
_READ_AT_ONCE = 1000  # rows that one statement names
_AS_REPORTED = (
    "host", "node", "cell_uuid", "availability_zone", "enabled",
    "vcpus", "memory_mb", "disk_gb",
    "vcpus_reserved", "memory_mb_reserved", "disk_gb_reserved",
    "vcpus_ratio", "memory_mb_ratio", "disk_gb_ratio",
    "hypervisor_type", "hypervisor_version",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class HostRow:
    """What a decision needs of one host. ``capacity`` is what instances may have of it."""

    id: int
    generation: int
    host: str
    node: str
    cell_uuid: str
    availability_zone: str
    enabled: bool
    reported_at: datetime.datetime
    capacity: Amounts
    used: Amounts


def take_in(session: Session, report: HostReport, *, reported_at: datetime.datetime) -> int | None:
    """Note what a host says of itself; its first report creates it.

    What is used stays the sum of its claims, whatever the host says.

    :param reported_at: when the report counts as made
    :returns: the id of the host, or None when a report as late was taken in before
    """
    values = _values(report, reported_at)
    known = _find_id(session, report.host, report.node)
    if known is None:
        created = _create(session, values)
        if created is not None:
            return created
    if not _overwrite(session, values):
        return None
    return known or _find_id(session, report.host, report.node)


def set_enabled(session: Session, host: str, *, enabled: bool) -> list[int]:
    """Open or close all nodes of a host for new instances; return their ids."""
    session.execute(
        sa.update(_HOSTS)
        .where(_HOSTS.c.host == host)
        .values(enabled=enabled, generation=_HOSTS.c.generation + 1)
    )
    return list(session.scalars(sa.select(_HOSTS.c.id).where(_HOSTS.c.host == host)))


def generations(session: Session) -> list[tuple[int, int]]:
    """Return id and generation of every host: cheap enough to be asked every second."""
    rows = session.execute(sa.select(_HOSTS.c.id, _HOSTS.c.generation))
    return [(row[0], row[1]) for row in rows]


def read(session: Session, ids: Iterable[int]) -> list[HostRow]:
    """Return the hosts of these ids, as far as they exist, in order of id."""
    wanted = sorted(ids)
    found: list[HostRow] = []
    for start in range(0, len(wanted), _READ_AT_ONCE):
        found += _rows(session, _HOSTS.c.id.in_(wanted[start : start + _READ_AT_ONCE]))
    return found


def find(session: Session, host: str, node: str) -> HostRow | None:
    """Return one host, or None when it never reported."""
    rows = _rows(session, sa.and_(_HOSTS.c.host == host, _HOSTS.c.node == node))
    return rows[0] if rows else None


def list_page(
    session: Session, *, marker: str | None, limit: int, alive_since: datetime.datetime
) -> list[HostReport]:
    """Return hosts after ``marker`` in order of host and node; used is what is claimed.

    A page never ends between two nodes of one host, so it may be longer than ``limit``.
    """
    statement = sa.select(_HOSTS).order_by(_HOSTS.c.host, _HOSTS.c.node)
    after = statement if marker is None else statement.where(_HOSTS.c.host > marker)
    rows = session.execute(after.limit(limit)).mappings().all()
    if len(rows) == limit and rows:
        last = rows[-1]
        same = (_HOSTS.c.host == last["host"], _HOSTS.c.node > last["node"])
        rows = [*rows, *session.execute(statement.where(*same)).mappings()]
    return [_as_report(row, alive_since) for row in rows]


def _find_id(session: Session, host: str, node: str) -> int | None:
    statement = sa.select(_HOSTS.c.id).where(_HOSTS.c.host == host, _HOSTS.c.node == node)
    return session.scalar(statement)


def _create(session: Session, values: dict[str, Any]) -> int | None:
    """Return the new host's id, or None when another scheduler has just created it."""
    if not insert_once(session, _HOSTS, {"generation": 1, **values}):
        return None
    return _find_id(session, values["host"], values["node"])


def _overwrite(session: Session, values: dict[str, Any]) -> bool:
    written = session.execute(
        sa.update(_HOSTS)
        .where(
            _HOSTS.c.host == values["host"],
            _HOSTS.c.node == values["node"],
            _HOSTS.c.reported_at < values["reported_at"],
        )
        .values(generation=_HOSTS.c.generation + 1, **values)
    )
    return bool(written.rowcount)


def _values(report: HostReport, reported_at: datetime.datetime) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(report, name) for name in _AS_REPORTED}
    for name in RESOURCES:
        net = values[name] - values[f"{name}_reserved"]
        values[f"{name}_capacity"] = max(0, int(net * values[f"{name}_ratio"]))
    return {**values, "traits": json.dumps(list(report.traits)), "reported_at": reported_at}


def _rows(session: Session, condition: sa.ColumnElement[bool]) -> list[HostRow]:
    columns = _HOSTS.c
    statement = (
        sa.select(
            columns.id, columns.generation, columns.host, columns.node, columns.cell_uuid,
            columns.availability_zone, columns.enabled, columns.reported_at, *_CAPACITY, *_USED,
        )
        .where(condition)
        .order_by(columns.id)
    )  # fmt: skip
    return [_as_row(row) for row in session.execute(statement)]


def _as_row(row: sa.Row[Any]) -> HostRow:
    amounts = row[-2 * len(RESOURCES) :]
    return HostRow(
        id=row.id,
        generation=row.generation,
        host=row.host,
        node=row.node,
        cell_uuid=row.cell_uuid,
        availability_zone=row.availability_zone,
        enabled=row.enabled,
        reported_at=row.reported_at,
        capacity=tuple(amounts[: len(RESOURCES)]),
        used=tuple(amounts[len(RESOURCES) :]),
    )


def _as_report(row: sa.RowMapping, alive_since: datetime.datetime) -> HostReport:
    return HostReport.of(
        up=row["reported_at"] >= alive_since,
        traits=json.loads(row["traits"]),
        instances=[],
        reported_at=row["reported_at"],
        **{name: row[name] for name in _AS_REPORTED},
        **{f"{name}_used": row[f"{name}_used"] for name in RESOURCES},
    )
