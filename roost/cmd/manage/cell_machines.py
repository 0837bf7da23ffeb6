"""``roost-manage cell replace-host`` and ``give-up-missing``: words on the machine of a host."""

import click

from roost import exception
from roost.cells import Cell
from roost.cmd.manage.cell_hosts import COMPUTE, is_up
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_done
from roost.context import admin_context
from roost.db.cell import services
from roost.db.engine import retried


@click.command("replace-host")
@click.argument("host")
@click.option("--force", is_flag=True, help="Even if its roost-compute still counts as up.")
@json_option
@pass_deployment
def replace_host(deployment: Deployment, *, host: str, force: bool, as_json: bool) -> None:
    """Let another machine or state path be a host from now on.

    The next roost-compute of this name that reports is the host, whatever state path it has; one
    that waits for this word goes on by itself. End the one before first.
    """
    cell = deployment.cells.of_host(host)
    if is_up(deployment, cell, host) and not force:
        raise exception.Conflict(
            f"the {COMPUTE} of {host} counts as up: end it, and wait until roost-manage service"
            " list shows it down, or say --force"
        )
    if not _forget_state(cell, host):
        raise exception.NotFound(f"no {COMPUTE} of {host} has ever reported to its cell")
    told = f"the next {COMPUTE} that reports as {host} is that host"
    show_done(told, {"host": host, "cell": cell.name}, as_json=as_json)


@retried
def _forget_state(cell: Cell, host: str) -> bool:
    with cell.database.begin() as session:
        return services.forget_state(session, host, binary=COMPUTE)


@click.command("give-up-missing")
@click.argument("host")
@json_option
@pass_deployment
def give_up_missing(deployment: Deployment, *, host: str, as_json: bool) -> None:
    """Let all servers of a host whose guests are gone be in ERROR, however many these are.

    Where more than [compute] max_lost_servers are gone, they wait for this. A guest that is found
    again later brings its server back.
    """
    cell = deployment.cells.of_host(host)
    cell.compute.on(host).reconcile_guests(admin_context(), give_up=True)
    told = f"{host} has given up the servers whose guests are gone"
    show_done(told, {"host": host, "cell": cell.name}, as_json=as_json)
