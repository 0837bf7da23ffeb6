"""``roost-manage placement inventory`` and ``traits``: what hosts have, by the names of flavors."""

from typing import Any, Final

import click

from roost.cmd.manage.arguments import host_and_node
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.context import admin_context
from roost.objects import ResourceInventory
from roost.objects.inventory import inventories_of

_NAMES: Final = tuple(name for name in ResourceInventory.fields if name != "resource_class")
_host_option = click.option("--host", help="Those of this host only.")


@click.command()
@_host_option
@json_option
@pass_deployment
def inventory(deployment: Deployment, *, host: str | None, as_json: bool) -> None:
    """List what hosts have of each resource class, and how much of it is claimed.

    All servers of a host together may have (total - reserved) * allocation ratio.
    """
    reports = deployment.answering_scheduler.all_hosts(admin_context())
    rows = [
        {"host": host_and_node(report.host, report.node), "resource_class": one.resource_class}
        | {name: getattr(one, name) for name in _NAMES}
        for report in reports
        if host in (None, report.host)
        for one in inventories_of(report)
    ]
    show_rows(rows, ("host", "resource_class", *_NAMES), as_json=as_json)


@click.command()
@_host_option
@json_option
@pass_deployment
def traits(deployment: Deployment, *, host: str | None, as_json: bool) -> None:
    """List the traits of hosts: those of their hypervisors, and those that operators add."""
    rows: list[dict[str, Any]] = [
        {"host": host_and_node(report.host, report.node), "trait": trait}
        for report in deployment.answering_scheduler.all_hosts(admin_context())
        if host in (None, report.host)
        for trait in report.traits
    ]
    show_rows(rows, ("host", "trait"), as_json=as_json)
