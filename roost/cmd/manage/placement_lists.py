"""``roost-manage placement hosts`` and ``claims``: the schedulers' hosts and claims."""

import datetime
from collections.abc import Mapping
from typing import Any, Final

import click

from roost.cmd.manage.arguments import host_and_node
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.context import admin_context
from roost.db.api import aggregates
from roost.objects import HostReport
from roost.objects.allocations import Allocations

_ALL: Final = {"vcpus": "VCPU", "memory_mb": "MEMORY_MB", "disk_gb": "DISK_GB", "pcpus": "PCPU"}
_HOSTS_TABLE: Final = ("host", "cell", "zone", "enabled", "up", *_ALL, "reported_at")
_HOSTS_JSON: Final = (
    "host",
    "node",
    "cell",
    "cell_uuid",
    "zone",
    "enabled",
    "up",
    *(f"{name}_{what}" for name in _ALL for what in ("used", "total")),
    "io_operations",
    "failed_builds",
    "reported_at",
    "unreadable",
)
_CLAIMS_TABLE: Final = ("instance", "host", "state", "since", "resources", "project", "group")
_CLAIMS_JSON: Final = (
    "instance_uuid",
    "host",
    "node",
    "cell_uuid",
    "state",
    "created_at",
    "allocations",
    "project_id",
    "group_uuid",
)


@click.command()
@json_option
@pass_deployment
def hosts(deployment: Deployment, *, as_json: bool) -> None:
    """List the hosts that the schedulers know: whether they get servers, and the claimed amounts.

    The total of a resource is that of the host: less the reserved amount, times the host's
    allocation ratio. An aggregate may set another ratio. A warning names each host of which the
    schedulers cannot read what they have stored: it gets no servers until that is mended.
    """
    found = deployment.answering_scheduler.all_hosts(admin_context())
    zones = deployment.api_database.query(aggregates.zones)
    cells = {cell.uuid: cell.name for cell in deployment.cells.all()}
    rows = [_host_row(report, zones, cells) for report in found]
    for row in rows:
        if row["unreadable"]:
            warn(f"{row['host']}: what is stored of it cannot be read: {row['unreadable']}")
    if as_json:
        show_rows(rows, _HOSTS_JSON, as_json=True)
    else:
        show_rows([_host_line(row) for row in rows], _HOSTS_TABLE, as_json=False)


@click.command()
@click.option("--host", help="Those on this host only.")
@json_option
@pass_deployment
def claims(deployment: Deployment, *, host: str | None, as_json: bool) -> None:
    """List the claims on hosts, in order of instance.

    A claim is reserved until its host has listed the instance, then confirmed.
    """
    rows = list(deployment.answering_scheduler.all_claims(admin_context(), host=host))
    if as_json:
        show_rows(rows, _CLAIMS_JSON, as_json=True)
    else:
        show_rows([_claim_line(row) for row in rows], _CLAIMS_TABLE, as_json=False)


def _host_row(
    report: HostReport, zones: Mapping[str, str], cells: Mapping[str, str]
) -> dict[str, Any]:
    row = {
        "host": report.host,
        "node": report.node,
        "cell": cells.get(report.cell_uuid),
        "cell_uuid": report.cell_uuid,
        "zone": zones.get(report.host, report.availability_zone),
        "enabled": report.enabled,
        "up": report.up,
        "io_operations": report.io_operations,
        "failed_builds": report.failed_builds,
        "reported_at": report.reported_at,
        "unreadable": report.unreadable,
    }
    for name, resource_class in _ALL.items():
        row[f"{name}_total"] = max(0, report.amount(resource_class, "capacity"))
        row[f"{name}_used"] = report.amount(resource_class, "used")
    return row


def _host_line(row: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {name: f"{row[f'{name}_used']} of {row[f'{name}_total']}" for name in _ALL}
    return {**row, **sizes, "host": host_and_node(row["host"], row["node"])}


def _shown(allocations: Allocations) -> str:
    """Return the amounts, each with the name of its provider if that is a part of the host."""
    return ", ".join(
        f"{resource_class} {amount}" + (f" of {provider}" if provider else "")
        for provider, amounts in allocations.items()
        for resource_class, amount in amounts.items()
    )


def _claim_line(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "instance": row["instance_uuid"],
        "host": host_and_node(row["host"], row["node"]),
        "resources": _shown(row["allocations"]),
        "since": datetime.datetime.fromisoformat(row["created_at"]),
        "project": row["project_id"],
        "group": row["group_uuid"],
    }
