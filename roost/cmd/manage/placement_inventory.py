"""``roost-manage placement inventory``, ``usage``, ``traits``: what hosts have, and its usage."""

from collections.abc import Iterator
from typing import Any, Final

import click

from roost.cmd.manage.arguments import host_and_node
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.context import admin_context
from roost.objects import HostReport, ResourceInventory, ResourceProvider
from roost.objects.inventory import providers_of

_NAMES: Final = tuple(name for name in ResourceInventory.fields if name != "resource_class")
_TEXTS: Final = ("host", "provider", "parent", "resource_class")
_USAGE: Final = (
    *("host", "provider", "resource_class", "used", "capacity", "percent"),
    *("total", "reserved", "allocation_ratio", "overcommitted"),
)
_host_option = click.option("--host", help="Those of this host only.")


@click.command()
@_host_option
@json_option
@pass_deployment
def inventory(deployment: Deployment, *, host: str | None, as_json: bool) -> None:
    """List what hosts and their parts have of each resource class, and how much is claimed.

    All servers of a provider together may have (total - reserved) * allocation ratio. Where more is
    claimed, because there is less than before, it is overcommitted: servers keep what they have.
    A warning names each collector of a host that no longer answers.
    """
    rows = [
        {
            "host": host_and_node(report.host, report.node),
            "provider": part.name,
            "parent": part.parent,
            "resource_class": one.resource_class,
            **{name: getattr(one, name) for name in _NAMES},
            "overcommitted": one.is_overcommitted,
        }
        for report, part in _providers(deployment, host)
        for one in part.inventories
    ]
    show_rows(rows, (*_TEXTS, *_NAMES, "overcommitted"), as_json=as_json)


@click.command()
@_host_option
@click.option("--class", "resource_class", metavar="NAME", help="Of this resource class only.")
@json_option
@pass_deployment
def usage(
    deployment: Deployment, *, host: str | None, resource_class: str | None, as_json: bool
) -> None:
    """List what is claimed of each resource class of hosts and their parts, in percent.

    The capacity is (total - reserved) * allocation ratio, by the host's own ratio; an aggregate may
    set another one. A row is overcommitted where more is claimed.
    """
    rows = [
        {
            "host": host_and_node(report.host, report.node),
            "provider": part.name,
            "resource_class": one.resource_class,
            "used": one.used,
            "capacity": one.capacity,
            "percent": round(100 * one.used / one.capacity) if one.capacity > 0 else None,
            "total": one.total,
            "reserved": one.reserved,
            "allocation_ratio": one.allocation_ratio,
            "overcommitted": one.is_overcommitted,
        }
        for report, part in _providers(deployment, host)
        for one in part.inventories
        if resource_class in (None, one.resource_class)
    ]
    show_rows(rows, _USAGE, as_json=as_json)


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
        for report, part in _providers(deployment, host)
        for trait in part.traits
    ]
    show_rows(rows, ("host", "provider", "trait"), as_json=as_json)


def _providers(
    deployment: Deployment, host: str | None
) -> Iterator[tuple[HostReport, ResourceProvider]]:
    """Yield each node, or those of one host, with each of its providers.

    A warning names each collector that no longer answers.
    """
    for report in deployment.answering_scheduler.all_hosts(admin_context()):
        if host in (None, report.host):
            for name, since in report.stale_collectors.items():
                when = f"since {since}; what it found then is listed" if since else "and never did"
                warn(f"{report.host}: the collector {name} does not answer, {when}")
            for _, part in providers_of(report):
                yield report, part
