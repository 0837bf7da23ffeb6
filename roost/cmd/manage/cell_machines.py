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
    that waits for this word goes on by itself. End the one before first: it is refused from then
    on. Said once more before another has come, whoever reports next is the host, that one too.
    """
    cell = deployment.cells.of_host(host)
    if is_up(deployment, cell, host) and not force:
        raise exception.Conflict(
            f"the {COMPUTE} of {host} counts as up: end it, and wait until roost-manage service"
            " list shows it down, or say --force"
        )
    with cell.database.read() as session:
        known = services.start_of(session, host, binary=COMPUTE)
    if known is None:
        raise exception.NotFound(f"no {COMPUTE} of {host} has ever reported to its cell")
    if not _forget_state(cell, host, known):
        raise exception.Conflict(
            f"another {COMPUTE} was taken in as {host} at this moment: look which it is, and say"
            " it again if it is not the right one"
        )
    who = f"the next {COMPUTE}" if known.replaced else f"the next other {COMPUTE}"
    told = f"{who} that reports as {host} is that host"
    show_done(told, {"host": host, "cell": cell.name}, as_json=as_json)


@retried
def _forget_state(cell: Cell, host: str, known: services.Start) -> bool:
    with cell.database.begin() as session:
        return services.forget_state(session, host, binary=COMPUTE, known=known)


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
