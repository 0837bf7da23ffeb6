"""``roost-manage cell verify``: checks that a cell can work, and says how to fix it."""

import dataclasses
from collections.abc import Callable, Iterator

import click

from roost import exception
from roost.cells import Cell
from roost.cmd import _checks
from roost.cmd.manage.cell_hosts import list_computes
from roost.cmd.manage.deployment import Deployment, masked, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.db.api import cells
from roost.db.cell import identity

_COLUMNS = ("cell", "check", "passed", "what_to_do")


@dataclasses.dataclass(frozen=True)
class CellCheck:
    """A condition that must hold; ``ask`` raises a RoostError that says what to do."""

    cell: str
    name: str
    ask: Callable[[], object]


@click.command()
@click.argument("name", metavar="[NAME|UUID]", required=False)
@json_option
@click.pass_context
@pass_deployment
def verify(
    deployment: Deployment, context: click.Context, *, name: str | None, as_json: bool
) -> None:
    """Check that cells can work: databases, buses, hosts. Exits with 1 when anything fails."""
    rows = [_row(check) for check in _checks_of(deployment, name)]
    show_rows(rows, _COLUMNS, as_json=as_json)
    if not all(row["passed"] for row in rows):
        context.exit(1)


def _checks_of(deployment: Deployment, name: str | None) -> Iterator[CellCheck]:
    if name is None:
        yield CellCheck("-", "there is a cell0", deployment.cells.cell0)
        yield CellCheck("-", "there is a cell for servers", lambda: _any_cell(deployment))
    for cell in deployment.named_cells(name):
        yield from _checks_of_one(deployment, cell)


def _checks_of_one(deployment: Deployment, cell: Cell) -> Iterator[CellCheck]:
    yield CellCheck(cell.name, "database and schema", lambda: deployment.checked(cell))
    yield CellCheck(cell.name, "the database is this cell's", lambda: _identity(deployment, cell))
    if not cell.is_cell0:
        yield CellCheck(cell.name, "bus", lambda: _bus(deployment, cell))
        yield CellCheck(cell.name, "hosts are mapped", lambda: _hosts(deployment, cell))


def _row(check: CellCheck) -> dict[str, object]:
    try:
        check.ask()
    except exception.RoostError as error:
        return {**_named(check), "passed": False, "what_to_do": error.message}
    return {**_named(check), "passed": True, "what_to_do": None}


def _named(check: CellCheck) -> dict[str, object]:
    return {"cell": check.cell, "check": check.name}


def _any_cell(deployment: Deployment) -> None:
    cells_for_servers = [cell for cell in deployment.cells.all() if not cell.is_cell0]
    if all(cell.mapping.disabled for cell in cells_for_servers):
        raise exception.NotFound(
            "no cell is enabled: run roost-manage cell create, or cell update NAME --enable"
        )


def _identity(deployment: Deployment, cell: Cell) -> None:
    known = deployment.checked(cell).query(identity.get_identity)
    if known is None:
        raise exception.NotFound(
            "it belongs to no cell; to make it this one's, run roost-manage cell update"
            f" {cell.name} --database-url URL"
        )
    if known[0] != cell.uuid:
        raise exception.Conflict(
            f"it belongs to the cell {known[1]!r} ({known[0]}); two mappings share a database:"
            f" run roost-manage cell update {cell.name} --database-url URL"
        )


def _bus(deployment: Deployment, cell: Cell) -> None:
    """Check the port first: a refused connection says more than oslo.messaging's timeout."""
    url = cell.mapping.transport_url
    try:
        _checks.broker(deployment.conf, url).ask()
        cell.bus.check_replies()
    except exception.Unavailable as error:
        raise exception.Unavailable(
            f"{masked(url)}: {error.message}: start the broker, or correct the URL (user, password,"
            f" vhost) by roost-manage cell update {cell.name} --transport-url URL"
        ) from error


def _hosts(deployment: Deployment, cell: Cell) -> None:
    reported = set(list_computes(deployment.checked(cell)))
    mapped = {
        mapping.host for mapping in deployment.api_database.query(cells.list_hosts, cell.uuid)
    }
    unmapped, silent = sorted(reported - mapped), sorted(mapped - reported)
    if unmapped:
        raise exception.NotFound(
            f"{', '.join(unmapped)} not mapped: run roost-manage cell discover-hosts"
        )
    if silent:
        raise exception.NotFound(
            f"{', '.join(silent)} mapped, but no roost-compute of that name has reported to this"
            " cell: start it, with this cell's transport_url"
        )
