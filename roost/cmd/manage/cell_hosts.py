"""``roost-manage cell``: the mapping of hosts to cells, and the replacement of hosts.

``discover-hosts`` and ``list-hosts`` map and list them. ``replace-host`` is for a host whose
machine or state path was replaced.
"""

import click

from roost import exception
from roost.cells import Cell
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_done, show_rows, warn
from roost.db.api import cells
from roost.db.cell import services
from roost.db.engine import Database

COMPUTE = "roost-compute"
_cell = click.option("--cell", "cell_name", metavar="NAME", help="Look at this cell only.")


@click.command("discover-hosts")
@_cell
@json_option
@click.pass_context
@pass_deployment
def discover_hosts(
    deployment: Deployment, context: click.Context, *, cell_name: str | None, as_json: bool
) -> None:
    """Map the hosts that have reported to their cells since the last time. May be repeated.

    Exits with 1 when a cell is unavailable or a host name is used twice; the others are mapped.
    """
    found: list[dict[str, str]] = []
    problems = []
    for cell in deployment.named_cells(cell_name):
        try:
            found += _discover(deployment, cell)
        except (exception.Unavailable, exception.Conflict) as error:
            problems.append(f"cell {cell.name}: {error.message}")
    show_rows(found, ("host", "cell"), as_json=as_json)
    for problem in problems:
        warn(problem)
    if problems:
        context.exit(1)


@click.command("list-hosts")
@_cell
@json_option
@pass_deployment
def list_hosts(deployment: Deployment, *, cell_name: str | None, as_json: bool) -> None:
    """List the mapped hosts with their cells."""
    names = {cell.uuid: cell.name for cell in deployment.named_cells(cell_name)}
    hosts = deployment.api_database.query(cells.list_hosts)
    rows = [
        {"host": mapping.host, "cell": names[mapping.cell_uuid], "cell_uuid": mapping.cell_uuid}
        for mapping in hosts
        if mapping.cell_uuid in names
    ]
    show_rows(rows, ("host", "cell", "cell_uuid"), as_json=as_json)


def is_up(deployment: Deployment, cell: Cell, host: str) -> bool:
    """Return whether the compute of a host of this cell counts as up."""
    roll = deployment.checked(cell).query(services.call_roll, hosts=[host], binary=COMPUTE)
    group = deployment.service_group
    return bool(group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now))


def list_computes(cell_database: Database) -> list[str]:
    """Return the hosts that have reported to a cell."""
    return [each.host for each in cell_database.query(services.list_services, binary=COMPUTE)]


def _discover(deployment: Deployment, cell: Cell) -> list[dict[str, str]]:
    if cell.is_cell0:
        return []
    hosts = list_computes(deployment.checked(cell))
    with deployment.api_database.begin() as session:
        return [
            {"host": host, "cell": cell.name}
            for host in hosts
            if cells.map_host(session, host, cell.uuid)
        ]


@click.command("replace-host")
@click.argument("host")
@click.option("--force", is_flag=True, help="Even if its roost-compute still counts as up.")
@json_option
@pass_deployment
def replace_host(deployment: Deployment, *, host: str, force: bool, as_json: bool) -> None:
    """Let another machine or state path replace a host.

    The next roost-compute of this name that reports becomes the host, whatever its state path, and
    any other is refused from then on; one that waits for this command goes on by itself. End the
    old one first: it might be the next one that reports.
    """
    cell = deployment.cells.of_host(host)
    if is_up(deployment, cell, host) and not force:
        raise exception.Conflict(
            f"the {COMPUTE} of {host} counts as up: end it, and wait until roost-manage service"
            " list shows it down, or use --force"
        )
    if not cell.database.write(services.forget_state, host, binary=COMPUTE):
        raise exception.NotFound(f"no {COMPUTE} of {host} has ever reported to its cell")
    done = f"the next {COMPUTE} that reports as {host} becomes that host"
    show_done(done, {"host": host, "cell": cell.name}, as_json=as_json)
