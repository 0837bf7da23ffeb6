"""Hypervisors as JSON."""

import dataclasses
import datetime
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from roost.api.views import services as service_views
from roost.objects import HostReport, Service

CPU_INFO: Final = 28  # since 2.28 an object, a text before
UUIDS: Final = 53
ALWAYS_SERVERS: Final = 75  # before, a hypervisor without servers did not say so
NO_AMOUNTS: Final = 88  # since 2.88 only Placement tells amounts, and the uptime is a field
_SUMS: Final = (
    "vcpus", "memory_mb", "local_gb", "vcpus_used", "memory_mb_used", "local_gb_used",
    "free_ram_mb", "free_disk_gb", "current_workload", "running_vms", "disk_available_least",
)  # fmt: skip
Name = tuple[str, str]
"""The uuid of a server, and how its user calls it."""


@dataclasses.dataclass(frozen=True)
class Node:
    """A node as the schedulers know it, and its service as far as its cell tells.

    ``servers`` are those on its host; None: they are not asked for, or its cell does not tell.
    """

    report: HostReport
    service: Service | None
    up: bool
    servers: Sequence[Name] | None = None

    @property
    def enabled(self) -> bool:
        return self.report.enabled if self.service is None else not self.service.disabled


def identity(node: HostReport, *, version: int) -> str | int:
    """Return what clients call a node; before uuids a small number, which follows from it."""
    return node.node_uuid if version >= UUIDS else service_views.small(node.node_uuid)


def brief(node: Node, *, version: int) -> dict[str, Any]:
    """Return a hypervisor of a plain list."""
    shown: dict[str, Any] = {
        "id": identity(node.report, version=version),
        "hypervisor_hostname": node.report.node,
        "state": "up" if node.up else "down",
        "status": "enabled" if node.enabled else "disabled",
    }
    if node.servers or (node.servers is not None and version >= ALWAYS_SERVERS):
        shown["servers"] = [{"uuid": uuid, "name": name} for uuid, name in node.servers]
    return shown


def full(node: Node, *, version: int, now: datetime.datetime) -> dict[str, Any]:
    """Return a hypervisor with details."""
    report = node.report
    shown = {
        **brief(node, version=version),
        "host_ip": report.host_ip,
        "hypervisor_type": report.hypervisor_type,
        "hypervisor_version": report.hypervisor_version,
        "service": _service(node, version=version),
    }
    if version >= NO_AMOUNTS:
        return {**shown, "uptime": uptime(node, now=now)}
    return {**shown, **amounts(report), "cpu_info": _cpu_info(report, version=version)}


def with_uptime(node: Node, *, version: int, now: datetime.datetime) -> dict[str, Any]:
    """Return a hypervisor and for how long it is up, as before 2.88."""
    return {**brief(node, version=version), "uptime": uptime(node, now=now)}


def uptime(node: Node, *, now: datetime.datetime) -> str | None:
    """Write for how long a node is up as ``uptime`` does; None: nobody can tell."""
    booted_at = node.report.booted_at
    if booted_at is None or not node.up:
        return None
    minutes = max(0, int((now - booted_at).total_seconds() // 60))
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    spent = f"{days} {'day' if days == 1 else 'days'}, " if days else ""
    told = f" {now.astimezone(datetime.UTC):%H:%M:%S} up {spent}{hours:2}:{minutes:02}"
    return told + _load(node.report)


def _load(report: HostReport) -> str:
    """Write who is logged in and how busy a node is; nothing of one that does not tell."""
    if not report.load_average:
        return ""
    averages = ", ".join(f"{average:.2f}" for average in report.load_average)
    return f", {report.users:2} user{'' if report.users == 1 else 's'},  load average: {averages}"


def statistics(hosts: Iterable[HostReport]) -> dict[str, int]:
    """Sum up what hosts have."""
    total = dict.fromkeys(("count", *_SUMS), 0)
    for host in hosts:
        has = amounts(host)
        total = {name: value + has.get(name, 1) for name, value in total.items()}
    return total


def amounts(host: HostReport) -> dict[str, int]:
    """Return what a node has; what is reserved counts as used, as nobody else can have it."""
    memory_used = host.memory_mb_used + host.memory_mb_reserved
    disk_used = host.disk_gb_used + host.disk_gb_reserved
    return {
        "vcpus": host.vcpus + host.pcpus,
        "memory_mb": host.memory_mb,
        "local_gb": host.disk_gb,
        "vcpus_used": host.vcpus_used + host.pcpus_used + host.vcpus_reserved,
        "memory_mb_used": memory_used,
        "local_gb_used": disk_used,
        "free_ram_mb": host.memory_mb - memory_used,
        "free_disk_gb": host.disk_gb - disk_used,
        "current_workload": host.io_operations,
        "running_vms": host.instances_used,
        "disk_available_least": host.disk_gb - disk_used,
    }


def _cpu_info(host: HostReport, *, version: int) -> str | dict[str, Any]:
    """Return what a host says of its CPUs; one that talks nonsense says nothing."""
    try:
        found = json.loads(host.cpu_info)
    except ValueError:
        found = None
    told = found if isinstance(found, dict) else {}
    return told if version >= CPU_INFO else json.dumps(told)


def _service(node: Node, *, version: int) -> dict[str, Any]:
    """Return the service of a node; of one whose cell is away only the host is known."""
    service = node.service
    if service is None:
        return {"host": node.report.host, "id": None, "disabled_reason": None}
    return {
        "host": service.host,
        "id": service.uuid if version >= UUIDS else service_views.number(service),
        "disabled_reason": service.disabled_reason,
    }
