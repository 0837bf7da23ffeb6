"""``roost-manage placement inventory`` and ``traits``: what hosts have, by the names of flavors."""

from typing import Any, Final

import click

from roost.cmd.manage.arguments import host_and_node
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.context import admin_context
from roost.objects import ResourceInventory
from roost.objects.inventory import providers_of

_NAMES: Final = tuple(name for name in ResourceInventory.fields if name != "resource_class")
_TEXTS: Final = ("host", "provider", "parent", "resource_class")
_host_option = click.option("--host", help="Those of this host only.")


@click.command()
@_host_option
@json_option
@pass_deployment
def inventory(deployment: Deployment, *, host: str | None, as_json: bool) -> None:
    """List what hosts and their parts have of each resource class, and how much is claimed.

    All servers of a provider together may have (total - reserved) * allocation ratio. Where more is
    claimed, because there is less than before, it is overcommitted: servers keep what they have.
    """
    reports = deployment.answering_scheduler.all_hosts(admin_context())
    rows = [
        {
            "host": host_and_node(report.host, report.node),
            "provider": part.name,
            "parent": part.parent,
            "resource_class": one.resource_class,
            **{name: getattr(one, name) for name in _NAMES},
            "overcommitted": one.is_overcommitted,
        }
        for report in reports
        if host in (None, report.host)
        for _, part in providers_of(report)
        for one in part.inventories
    ]
    show_rows(rows, (*_TEXTS, *_NAMES, "overcommitted"), as_json=as_json)


@click.command()
@_host_option
@json_option
@pass_deployment
def traits(deployment: Deployment, *, host: str | None, as_json: bool) -> None:
    """List the traits of hosts and their parts: their hypervisors', and those of operators."""
    rows: list[dict[str, Any]] = [
        {
            "host": host_and_node(report.host, report.node),
            "provider": part.name,
            "trait": trait,
        }
        for report in deployment.answering_scheduler.all_hosts(admin_context())
        if host in (None, report.host)
        for _, part in providers_of(report)
        for trait in part.traits
    ]
    show_rows(rows, ("host", "provider", "trait"), as_json=as_json)
