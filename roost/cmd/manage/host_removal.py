"""``roost-manage cell remove-host`` (and ``placement remove-host``): removes a host."""

import click

from roost import exception
from roost.cells import Cell
from roost.cells import cell as cells_cell
from roost.cmd.manage.cell_hosts import COMPUTE, is_up
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_done, warn
from roost.context import admin_context
from roost.db.cell import services
from roost.scheduler.client import SchedulerClient


@click.command("remove-host")
@click.argument("host")
@click.option("--force", is_flag=True, help="Even if its roost-compute still counts as up.")
@json_option
@pass_deployment
def remove_host(deployment: Deployment, *, host: str, force: bool, as_json: bool) -> None:
    """Remove a host permanently.

    Removes it from the schedulers, its service, its membership in aggregates and its mapping to a
    cell. Refused while it has instances or claims. Stop its roost-compute before, which would
    otherwise report again. May be repeated after an interruption.
    """
    home = _cell_of(deployment, host)
    if home is not None:
        _refuse_while_in_use(deployment, home, host, force=force)
    removed = _from_schedulers(deployment.answering_scheduler, host)
    if home is not None and cells_cell.forget_services(home, host, binary=COMPUTE):
        removed.append(f"the services of cell {home.name}")
    removed += _from_api_level(deployment, host)
    if not removed:
        raise exception.NotFound(f"there is no host {host!r}; see roost-manage placement hosts")
    done = f"removed the host {host} from {', '.join(removed)}"
    show_done(done, {"host": host, "removed_from": removed}, as_json=as_json)


def _cell_of(deployment: Deployment, host: str) -> Cell | None:
    """Return the cell that the host is mapped to, or else one that it has reported to."""
    try:
        return deployment.cells.of_host(host)
    except exception.NotFound:
        for cell in deployment.cells.all():
            if not cell.is_cell0 and deployment.checked(cell).query(
                services.list_services, hosts=[host], binary=COMPUTE
            ):
                return cell
    return None


def _refuse_while_in_use(deployment: Deployment, cell: Cell, host: str, *, force: bool) -> None:
    """Make sure that the host has no instances, and that no roost-compute would report it again.

    :raises roost.exception.Conflict: saying what to do first
    """
    cells_cell.refuse_while_in_use(deployment.checked(cell), host)
    if is_up(deployment, cell, host) and not force:
        raise exception.Conflict(
            f"the {COMPUTE} of {host} counts as up, and would report again: stop it, and wait until"
            " roost-manage service list shows it down, or use --force"
        )


def _from_schedulers(scheduler: SchedulerClient, host: str) -> list[str]:
    context = admin_context()
    known = any(report.host == host for report in scheduler.all_hosts(context))
    scheduler.remove_host(context, host=host)
    return ["the schedulers"] if known else []


def _from_api_level(deployment: Deployment, host: str) -> list[str]:
    left, unmapped = cells_cell.leave_api_level(deployment.api_database, host)
    if left:
        try:
            deployment.scheduler.update_aggregates(admin_context(), aggregates=left)
        except exception.Unavailable as error:
            warn(f"the schedulers receive the change of its aggregates later: {error.message}")
    removed = [f"the aggregate {aggregate.name}" for aggregate in left]
    return removed + (["the mapped hosts"] if unmapped else [])
