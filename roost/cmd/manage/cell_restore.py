"""``roost-manage cell after-restore``: a database that was put back, compared and repaired."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from roost import exception
from roost.audit import restore
from roost.audit.lost_rows import Asked
from roost.cells import Cell
from roost.cmd.manage.cell_hosts import COMPUTE
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.context import admin_context
from roost.db.api import build_requests, cells, instance_mappings
from roost.db.cell import audits as in_cell
from roost.db.cell import instances, services
from roost.db.spans import Span

_COLUMNS: Final = ("cell", "server", "host", "what", "why", "done")
_AT_ONCE: Final = 1000


@click.command("after-restore")
@click.argument("name", metavar="[NAME|UUID]", required=False)
@click.option("--repair", is_flag=True, help="Put right what is found.")
@json_option
@click.pass_context
@pass_deployment
def after_restore(
    deployment: Deployment,
    context: click.Context,
    *,
    name: str | None,
    repair: bool,
    as_json: bool,
) -> None:
    """Compare cells whose database was put back with their hosts and with the API level.

    Run it while the hosts are up and before the conductors of the cell are started. Without
    --repair it only shows what would be done. Afterwards start the conductors, and run roost-manage
    audit --repair for claims, ports, mappings and quota; roost-manage cell held-tasks shows which
    tasks still wait. Exits with 1 when anything is left.
    """
    rows: list[dict[str, Any]] = []
    for cell in deployment.named_cells(name):
        rows += _rows_of(deployment, cell, repair=repair)
    show_rows(rows, _COLUMNS, as_json=as_json)
    if any(not row["done"] for row in rows):
        context.exit(1)


def _rows_of(deployment: Deployment, cell: Cell, *, repair: bool) -> list[dict[str, Any]]:
    rows = []
    for each in _differences(deployment, cell):
        done = repair and restore.repair(cell, each)
        if done and each.action == restore.BURY:
            deployment.scheduler.release_claims(admin_context(), instance_uuids=[each.uuid])
        values = (cell.name, each.uuid, each.host, each.action, each.why, done)
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    return rows


def _differences(deployment: Deployment, cell: Cell) -> list[restore.Difference]:
    hosts = _hosts(deployment, cell)
    guests = {}
    for host in hosts:
        try:
            guests[host] = cell.compute.on(host).describe_guests(admin_context())
        except exception.Unavailable as error:
            warn(f"host {host} does not answer, so no row is buried: {error.message}")
    with cell.database.read() as session:
        rows = in_cell.list_live(session, Span())
    live = {row.uuid for row in rows}
    rowless = sorted(restore.announced(guests).keys() - live)
    buried = {uuid for some in _batched(rowless) for uuid in _known(cell, some)}
    found = restore.compare(
        rows,
        guests,
        mapped=_mapped(deployment, sorted(live)),
        whole=len(guests) == len(hosts),
        buried=buried,
        asked={
            uuid: asked
            for uuid in rowless
            if uuid not in buried and (asked := _asked(deployment, cell, uuid)) is not None
        },
    )
    return list(found)


def _known(cell: Cell, uuids: Sequence[str]) -> set[str]:
    with cell.database.read() as session:
        return instances.list_known(session, uuids)


def _asked(deployment: Deployment, cell: Cell, uuid: str) -> Asked | None:
    """Return what the API level knows of a server of this cell."""
    with deployment.api_database.read() as session:
        mapping = instance_mappings.find(session, uuid)
        if mapping is None or mapping.cell_uuid != cell.uuid:
            return None
        spec = build_requests.find_spec(session, str(mapping.request_uuid))
        locked = bool(instance_mappings.is_locked(session, uuid))
    return None if spec is None else Asked(mapping, spec, locked)


def _hosts(deployment: Deployment, cell: Cell) -> list[str]:
    """Return the hosts that the cell knows, and those that were mapped to it since."""
    if cell.is_cell0:
        return []
    with deployment.checked(cell).read() as session:
        known = {one.host for one in services.list_services(session, binary=COMPUTE)}
    with deployment.api_database.read() as session:
        return sorted(known | {one.host for one in cells.list_hosts(session, cell.uuid)})


def _mapped(deployment: Deployment, uuids: Sequence[str]) -> set[str]:
    """Return those of these instances that somebody has."""
    found: set[str] = set()
    for some in _batched(uuids):
        with deployment.api_database.read() as session:
            found |= {*instance_mappings.cells_of(session, some)}
    return found


def _batched(uuids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(uuids), _AT_ONCE):
        yield uuids[start : start + _AT_ONCE]
