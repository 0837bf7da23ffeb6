"""``roost-manage placement inventory`` and ``traits``: what hosts have, by the names of flavors."""

from collections.abc import Iterator
from typing import Any, Final

import click

from roost.cmd.manage.arguments import host_and_node
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.context import admin_context
from roost.objects import HostReport, ResourceInventory

_STANDARD: Final = {"VCPU": "vcpus", "MEMORY_MB": "memory_mb", "DISK_GB": "disk_gb"}
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
        for one in (*_standard(report), *report.inventories)
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


def _standard(report: HostReport) -> Iterator[ResourceInventory]:
    for resource_class, name in _STANDARD.items():
        total = getattr(report, name)
        yield ResourceInventory.of(
            resource_class=resource_class,
            total=total,
            reserved=getattr(report, f"{name}_reserved"),
            max_unit=total,
            allocation_ratio=getattr(report, f"{name}_ratio"),
            used=getattr(report, f"{name}_used"),
        )
    if report.pcpus:
        pcpus, used = report.pcpus, report.pcpus_used
        yield ResourceInventory.of(resource_class="PCPU", total=pcpus, max_unit=pcpus, used=used)
