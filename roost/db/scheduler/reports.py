"""Reports of hosts: stored, and read back for the API's hypervisors; who reads which parts."""

import datetime
import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db import clock, prepared
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.scheduler import hosts, models
from roost.db.scheduler.cells import VERSION_HOLDS
from roost.db.scheduler.hosts import HostRow, touched
from roost.db.scheduler.ranges import check_limit
from roost.db.types import as_json, database_now
from roost.objects import HostReport, NUMACell, PciPool, ResourceInventory, ResourceProvider
from roost.objects.allocations import Allocations
from roost.objects.base import version_at

_HOSTS = models.hosts
_PLAIN = (
    "host", "node", "cell_uuid", "availability_zone", "io_operations", "failed_builds", "host_ip",
)  # fmt: skip
_NAMES = ("host", "node", "cell_uuid", "availability_zone", "host_ip")
_IN_COMMON = (
    "hypervisor_type", "hypervisor_version",
    "architectures", "capabilities", "traits", "labels",
)  # fmt: skip
_FOR_OPERATORS = ("cpu_info", "booted_at", "stale_collectors")
_LOAD = ("load_average", "users")  # different in each report, and not used for scheduling
_CONTENTS = ("instances", "holdings", "instance_resources")
_NO_NEWS = (
    "reported_at",
    "up",
    "generation",
    "enabled",
    "enabled_version",
    "instances_used",
    "unreadable",
    *_LOAD,
)
# of an inventory, in the order in which rows have them
_AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


class TakenIn(NamedTuple):
    """The result of storing a report.

    ``settled``: claims agreed with the previous report, and neither has changed since.
    ``unclaimed`` are the instances of the previous report that had no claim. ``same``: the host
    describes itself as in the previous report.
    """

    host_id: int
    settled: bool
    unclaimed: list[str]
    same: bool


def take_in(
    session: Session,
    report: HostReport,
    *,
    reported_at: datetime.datetime,
    cell_uuid: str | None = None,
) -> TakenIn | None:
    """Store the report of a host; its first report creates the host.

    Usage stays the sum of its claims, whatever the host reports. The host is locked until the
    transaction ends.

    :param reported_at: the time of the report, by the clock of the schedulers
    :param cell_uuid: the only cell whose hosts may change; None: any
    :raises roost.exception.Forbidden: when the host belongs to another cell
    :returns: None when a report as new was stored before; the host's own clock is used only to
        order its reports
    """
    values = _reported(report, reported_at)
    known = session.execute(_KNOWN, {"host": report.host, "node": report.node}).one_or_none()
    if cell_uuid is not None and (known is None or known.cell_uuid != cell_uuid):
        _check_is_of(session, report.host, cell_uuid)
    if known is None:
        return _create(session, report, values)
    is_late = (known.report_version or 0) >= values["report_version"]
    if is_late and known.reported_at >= reported_at - VERSION_HOLDS:
        return None
    if report.enabled_version < known.enabled_version:  # the host does not know the newest yet
        values |= {"enabled": known.enabled, "enabled_version": known.enabled_version}
    same = all(values[name] == getattr(known, name) for name in _COMPARED)
    news = {} if same else {**_described(report), **touched(described=True)}
    changes = {"touched_at": database_now(), **values, **news}
    prepared.update(session, _HOSTS, {"id": known.id}, changes)
    agreed = known.settled == known.generation and same
    return TakenIn(
        known.id,
        settled=agreed and known.contents_digest == values["contents_digest"],
        unclaimed=json.loads(known.unclaimed) if known.unclaimed else [],
        same=same,
    )


def _check_is_of(session: Session, host: str, cell_uuid: str) -> None:
    elsewhere = sa.select(_HOSTS.c.id).where(_HOSTS.c.host == host, _HOSTS.c.cell_uuid != cell_uuid)
    if session.scalar(elsewhere.limit(1)) is not None:
        raise exception.Forbidden(
            f"another cell has a host {host}; remove it there with roost-manage cell remove-host"
        )


def note_settled(session: Session, host_id: int, *, settled: bool, unclaimed: list[str]) -> None:
    """Store how the claims of a host compare with its last report."""
    values = {
        "settled": _HOSTS.c.generation if settled else 0,
        "unclaimed": json.dumps(unclaimed) if unclaimed else None,
    }
    prepared.update(session, _HOSTS, {"id": host_id}, values)


def list_page(
    session: Session,
    *,
    marker: str | None,
    limit: int,
    node_uuid: str | None = None,
    host: str | None = None,
    node: str | None = None,
    is_up: Callable[[sa.RowMapping], bool],
    problem_of: Callable[[HostRow], str | None],
) -> list[HostReport]:
    """Return nodes after the host ``marker`` in order of host and node; usage is that of claims.

    Only that of ``node_uuid``, the nodes of ``host``, or those called ``node``, if they are named.
    A page never ends between two nodes of one host, so it may be longer than ``limit``.

    :param is_up: decides by cell_uuid, told_down and reported_at of a row
    :param problem_of: returns why schedulers cannot read a row, or None
    """
    check_limit(limit)
    statement = sa.select(_HOSTS).order_by(_HOSTS.c.host, _HOSTS.c.node)
    if node_uuid is not None:
        statement = statement.where(_HOSTS.c.node_uuid == node_uuid)
    if host is not None:
        statement = statement.where(_HOSTS.c.host == host)
    if node is not None:
        statement = statement.where(_HOSTS.c.node == node)
    after = statement if marker is None else statement.where(_HOSTS.c.host > marker)
    rows = session.execute(after.limit(limit)).mappings().all()
    if len(rows) == limit and rows:
        last = rows[-1]
        same = (_HOSTS.c.host == last["host"], _HOSTS.c.node > last["node"])
        rows = [*rows, *session.execute(statement.where(*same)).mappings()]
    return [_shown(row, up=is_up(row), problem_of=problem_of) for row in rows]


READER_KEPT: Final = datetime.timedelta(minutes=5)
_READERS = models.report_readers


def note_read_parts(session: Session, reader: str, parts: Iterable[str]) -> None:
    """Store what a scheduler process reads of reports, and remove those that have ended.

    One counts for ``READER_KEPT`` after its last note: hosts then send too much, not too little.
    """
    now = clock.now(session)
    values = {"parts": _json(sorted(parts)), "noted_at": now}
    if not insert_once(session, _READERS, {"reader": reader, **values}):
        session.execute(sa.update(_READERS).where(_READERS.c.reader == reader).values(values))
    session.execute(sa.delete(_READERS).where(_READERS.c.noted_at < now - READER_KEPT))


def list_read_parts(session: Session) -> set[str]:
    """Return the parts that any scheduler reads."""
    found = session.scalars(sa.select(_READERS.c.parts))
    return {part for parts in found for part in json.loads(parts)}


_COMPARED = ("description_digest", "enabled")
_KNOWN = (
    sa.select(
        _HOSTS.c.id,
        _HOSTS.c.cell_uuid,
        _HOSTS.c.generation,
        _HOSTS.c.enabled,
        _HOSTS.c.enabled_version,
        _HOSTS.c.description_digest,
        _HOSTS.c.contents_digest,
        _HOSTS.c.settled,
        _HOSTS.c.unclaimed,
        _HOSTS.c.reported_at,
        _HOSTS.c.report_version,
    )
    .where(_HOSTS.c.host == sa.bindparam("host"), _HOSTS.c.node == sa.bindparam("node"))
    .with_for_update()
)


def _create(session: Session, report: HostReport, values: dict[str, Any]) -> TakenIn | None:
    row = {
        **_described(report),
        **values,
        "used": {},
        "instances_used": 0,
        "generation": 1,
        "described": 1,
        "settled": 0,
        "told_down": False,
        "touched_at": database_now(),
    }
    if not insert_once(session, _HOSTS, row):
        return None  # another scheduler has inserted it; the next report comes soon
    known = session.execute(_KNOWN, {"host": report.host, "node": report.node}).one()
    return TakenIn(known.id, settled=False, unclaimed=[], same=False)


def _reported(report: HostReport, reported_at: datetime.datetime) -> dict[str, Any]:
    data = report.obj_to_primitive()["roost_object.data"]
    contents = {name: data.pop(name, None) for name in _CONTENTS}
    described = {name: value for name, value in data.items() if name not in _NO_NEWS}
    described |= {"inventories": _inventories(report), "providers": ()}  # without what is used
    return {
        "enabled": report.enabled,
        "enabled_version": report.enabled_version,
        "description_digest": _digest(described),
        "contents_digest": _digest(contents),
        "node_load": _json({name: getattr(report, name) for name in _LOAD}),
        "reported_at": reported_at,
        "report_version": version_at(report.reported_at),
    }


def _described(report: HostReport) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(report, name) for name in _PLAIN}
    values["profile"] = _json({name: getattr(report, name) for name in _IN_COMMON})
    values["metrics"] = _json(report.metrics) if report.metrics else None
    values["node_uuid"] = report.node_uuid
    data = report.obj_to_primitive()["roost_object.data"]
    values["details"] = _json({name: data.get(name) for name in _FOR_OPERATORS})
    values["inventories"] = as_json(_inventories(report))
    values["topology"] = None
    parts = (report.numa_cells, report.pci_pools)
    if any(parts):
        values["topology"] = _json([[one.obj_to_primitive() for one in part] for part in parts])
    return values


def _inventories(report: HostReport) -> list[list[Any]]:
    """Return the providers of a node as rows have them, the node itself first.

    Of each the name (that of the node is empty), parent, uuid, traits (those of the node are
    elsewhere), and ``_AMOUNTS`` by class.
    """
    node = ResourceProvider.of(name="", inventories=report.inventories)
    return [
        [
            each.name,
            each.parent,
            each.uuid,
            list(each.traits),
            {
                one.resource_class: [getattr(one, amount) for amount in _AMOUNTS]
                for one in each.inventories
            },
        ]
        for each in (node, *report.providers)
    ]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(value: Any) -> str:
    return hashlib.sha256(_json(value).encode()).hexdigest()


def _shown(
    row: sa.RowMapping, *, up: bool, problem_of: Callable[[HostRow], str | None]
) -> HostReport:
    """Return a host; of one that cannot be read its names, and why."""
    problem = problem_of(hosts.as_row(row))
    if problem is None:
        try:
            return _as_report(row, up=up)
        except Exception as error:  # noqa: BLE001 - the others are listed
            problem = f"{type(error).__name__}: {error}"
    return HostReport.of(
        up=up,
        enabled=row["enabled"],
        generation=row["generation"],
        reported_at=row["reported_at"],
        hypervisor_type="",
        hypervisor_version=0,
        instances_used=row["instances_used"],
        unreadable=problem,
        **{name: row[name] for name in _NAMES},
    )


def _as_report(row: sa.RowMapping, *, up: bool) -> HostReport:
    cells, pools = json.loads(row["topology"] or "[[], []]")
    node, *parts = [_provider(each, row["used"]) for each in json.loads(row["inventories"])]
    return HostReport.of(
        up=up,
        enabled=row["enabled"],
        generation=row["generation"],
        reported_at=row["reported_at"],
        metrics=json.loads(row["metrics"]) if row["metrics"] else {},
        numa_cells=[NUMACell.obj_from_primitive(cell) for cell in cells],
        pci_pools=[PciPool.obj_from_primitive(pool) for pool in pools],
        inventories=node.inventories,
        providers=parts,
        **{name: row[name] for name in _PLAIN},
        instances_used=row["instances_used"],
        **_for_operators(json.loads(row["details"] or "{}")),
        **json.loads(row["node_load"] or "{}"),
        **json.loads(row["profile"]),
    )


def _provider(stored: list[Any], used: Allocations) -> ResourceProvider:
    name, parent, uuid, traits, classes = stored
    taken = used.get(name, {})
    inventories = [
        ResourceInventory.of(
            resource_class=each,
            used=taken.get(each, 0),
            **dict(zip(_AMOUNTS, amounts, strict=True)),
        )
        for each, amounts in classes.items()
    ]
    return ResourceProvider.of(
        name=name, parent=parent, uuid=uuid, traits=traits, inventories=inventories
    )


def _for_operators(details: dict[str, Any]) -> dict[str, Any]:
    at = details.get("booted_at")
    booted_at = None if at is None else datetime.datetime.fromisoformat(at)
    return {**details, "booted_at": booted_at}
