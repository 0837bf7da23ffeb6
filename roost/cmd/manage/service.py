"""``roost-manage service``: the daemons of the cells."""

import click

from roost import exception
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.db.cell import services
from roost.objects import Service

_COLUMNS = ("cell", "binary", "host", "zone", "status", "state", "last_seen_up", "reason")


@click.group()
def service() -> None:
    """List the daemons of the cells."""


@service.command("list")
@click.option("--cell", "cell_name", metavar="NAME", help="Those of this cell only.")
@json_option
@click.pass_context
@pass_deployment
def list_services(
    deployment: Deployment, context: click.Context, *, cell_name: str | None, as_json: bool
) -> None:
    """List daemons, and whether they are up; exits with 1 when a cell is out of reach."""
    group = deployment.service_group
    rows, away = [], []
    for cell in deployment.named_cells(cell_name):
        try:
            roll = deployment.checked(cell).query(services.call_roll)
        except exception.Unavailable as error:
            away.append(f"cell {cell.name}: {error.message}")
        else:
            up = group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
            rows += [
                {"cell": cell.name, **_row(each, up=each.uuid in up)} for each in roll.services
            ]
    show_rows(rows, _COLUMNS, as_json=as_json)
    for message in away:
        warn(message)
    if away:
        context.exit(1)


def _row(service: Service, *, up: bool) -> dict[str, object]:
    return {
        "binary": service.binary,
        "host": service.host,
        "zone": service.availability_zone,
        "status": "disabled" if service.disabled else "enabled",
        "state": "up" if up else "down",
        "last_seen_up": service.last_seen_up,
        "reason": service.disabled_reason,
    }
