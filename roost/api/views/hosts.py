"""Hosts as Compute's JSON before 2.43."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from roost.api.views.hypervisors import amounts
from roost.objects import Flavor, HostReport, ImageMeta, Service
from roost.objects.flavor import root_gb


class Amount(NamedTuple):
    """CPUs, memory in MiB and disk in GiB."""

    cpu: int
    memory_mb: int
    disk_gb: int


Measure = Callable[[HostReport], Amount]


def brief(service: Service, zone: str) -> dict[str, Any]:
    """Return a daemon of the list: ``roost-cell-conductor`` is a conductor there."""
    return {"host_name": service.host, "service": service.binary.split("-")[-1], "zone": zone}


def resource(host: str, project: str, has: Amount) -> dict[str, Any]:
    """Return what a project, or one of the sums in brackets, has of a host."""
    return {"resource": {"host": host, "project": project, **has._asdict()}}


def total(report: HostReport) -> Amount:
    has = amounts(report)
    return Amount(has["vcpus"], has["memory_mb"], has["local_gb"])


def used(report: HostReport) -> Amount:
    """Return what is taken now, with what the host keeps for itself."""
    has = amounts(report)
    return Amount(has["vcpus_used"], has["memory_mb_used"], has["local_gb_used"])


def of_server(flavor: Flavor, image: ImageMeta | None) -> Amount:
    disk_gb = root_gb(flavor, image) + flavor.ephemeral_gb
    return Amount(flavor.vcpus, flavor.memory_mb, disk_gb)


def plus(amounts: Iterable[Amount]) -> Amount:
    columns = list(zip(*amounts, strict=True)) or [(), (), ()]
    return Amount(*map(sum, columns))
