"""``roost-manage cell after-restore``: compares a restored database with the cell's hosts."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import click

from roost.audit import restore
from roost.audit.collector import ask_hosts
from roost.cells import Cell
from roost.cmd.manage.cell_hosts import COMPUTE
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.db.api import cells, instance_mappings
from roost.db.cell import audits as in_cell
from roost.db.cell import instances, services
from roost.db.spans import UuidRange

_COLUMNS: Final = ("cell", "server", "host", "found", "advice")
_AT_ONCE: Final = 1000


@click.command("after-restore")
@click.argument("name", metavar="[NAME|UUID]", required=False)
@json_option
@click.pass_context
@pass_deployment
def after_restore(
    deployment: Deployment, context: click.Context, *, name: str | None, as_json: bool
) -> None:
    """Compare cells with a restored database with their hosts and with the API level.

    Run it while the hosts are up and before the conductors of the cell are started. It changes
    nothing: it lists the differences, and what can be done about them once the conductors are up.
    See doc/restore. Exits with 1 when anything differs.
    """
    rows: list[dict[str, Any]] = []
    for cell in deployment.named_cells(name):
        for each in _differences(deployment, cell):
            values = (cell.name, *dataclasses.astuple(each))
            rows.append(dict(zip(_COLUMNS, values, strict=True)))
    show_rows(rows, _COLUMNS, as_json=as_json)
    if rows:
        context.exit(1)


def _differences(deployment: Deployment, cell: Cell) -> Iterator[restore.RestoreDifference]:
    hosts = _hosts(deployment, cell)
    guests = _ask(cell, hosts)
    with cell.database.read() as session:
        rows = in_cell.list_live(session, UuidRange())
    live = {row.uuid for row in rows}
    return restore.compare(
        rows,
        guests,
        mapped=_mapped(deployment, sorted(live)),
        silent=hosts - guests.keys(),
        deleted=_known(cell, sorted({uuid for some in guests.values() for uuid in some} - live)),
    )


def _hosts(deployment: Deployment, cell: Cell) -> set[str]:
    """Return the hosts in the cell's database, and those that were mapped to it since."""
    if cell.is_cell0:
        return set()
    with deployment.checked(cell).read() as session:
        known = {one.host for one in services.list_services(session, binary=COMPUTE)}
    with deployment.api_database.read() as session:
        return known | {one.host for one in cells.list_hosts(session, cell.uuid)}


def _ask(cell: Cell, hosts: Collection[str]) -> dict[str, set[str]]:
    """Return the guests of each host that answers."""
    unchecked: list[str] = []
    found = ask_hosts({(cell.uuid, host): cell.compute.on(host) for host in hosts}, unchecked)
    for what in unchecked:
        warn(what)
    return {host: guests for (_cell, host), guests in found.items()}


def _known(cell: Cell, uuids: Sequence[str]) -> set[str]:
    """Return those of these instances that have a row in the cell, if only a deleted one."""
    found: set[str] = set()
    for some in _batched(uuids):
        with cell.database.read() as session:
            found |= instances.list_known(session, some)
    return found


def _mapped(deployment: Deployment, uuids: Sequence[str]) -> set[str]:
    """Return those of these instances that have an instance mapping."""
    found: set[str] = set()
    for some in _batched(uuids):
        with deployment.api_database.read() as session:
            found |= {*instance_mappings.cells_of(session, some)}
    return found


def _batched(uuids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(uuids), _AT_ONCE):
        yield uuids[start : start + _AT_ONCE]
