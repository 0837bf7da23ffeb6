"""Objects for tests: a test names only what matters to it."""

import datetime
import uuid as uuids
from collections.abc import Iterator, Sequence
from typing import Any

from roost import states
from roost.context import RequestContext
from roost.objects import (
    Aggregate,
    BuildRequest,
    Flavor,
    HostReport,
    ImageMeta,
    Instance,
    InstanceNUMACell,
    InstanceNUMATopology,
    Keypair,
    Migration,
    NUMACell,
    PciAllocation,
    PciPool,
    PciRequest,
    RequestSpec,
    ResourceInventory,
    ResourceProvider,
    Selection,
    ServerGroup,
    Service,
    Vif,
    VifAddress,
)
from roost.objects.allocations import Allocations, of_host

CELL1 = "11111111-1111-4111-8111-111111111111"
CELL2 = "22222222-2222-4222-8222-222222222222"
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)  # some time ago

# What ssh-keygen made, and says of it.
PUBLIC_KEY = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKZMhJ09JHyIFIH1oqSoDLAF7A/vmBSrKPnmgNiIc0l8 alice@example"
)
FINGERPRINT = "b8:49:d4:34:96:f2:c7:f2:9d:bd:cc:63:cd:89:5e:77"


def a_uuid() -> str:
    return str(uuids.uuid4())


def a_context(**values: Any) -> RequestContext:
    return RequestContext(
        **{"user_id": "user", "project_id": "project", "roles": ["member"]} | values
    )


def a_flavor(**values: Any) -> Flavor:
    return Flavor.of(
        **{
            "flavorid": "1",
            "name": "m1.tiny",
            "vcpus": 1,
            "memory_mb": 512,
            "root_gb": 1,
            "ephemeral_gb": 0,
            "swap": 0,
            "rxtx_factor": 1.0,
            "is_public": True,
            "disabled": False,
            "description": None,
            "extra_specs": {},
        }
        | values
    )


def an_image(**values: Any) -> ImageMeta:
    return ImageMeta.of(
        **{
            "id": a_uuid(),
            "name": "tiny",
            "status": "active",
            "visibility": "public",
            "owner": None,
            "disk_format": "raw",
            "container_format": "bare",
            "size": 4,
            "hash_algo": "sha256",
            "hash_value": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "min_ram": 0,
            "min_disk": 0,
            "properties": {},
            "created_at": NOW,
            "updated_at": NOW,
        }
        | values
    )


def an_instance(**values: Any) -> Instance:
    return Instance.of(
        **{
            "uuid": a_uuid(),
            "project_id": "project",
            "user_id": "user",
            "reservation_id": "r-12345678",
            "launch_index": 0,
            "display_name": "server",
            "display_description": None,
            "hostname": "server",
            "flavor": a_flavor(),
            "image": an_image(),
            "key_name": None,
            "keypair": None,
            "user_data": None,
            "config_drive": False,
            "metadata": {},
            "tags": [],
            "access_ip_v4": None,
            "access_ip_v6": None,
            "availability_zone": None,
            "host": None,
            "node": None,
            "attempt": 0,
            "vm_state": states.BUILDING,
            "task_state": states.SCHEDULING,
            "power_state": states.NOSTATE,
            "networks": [],
            "network_info": None,
            "created_at": NOW,
            "updated_at": None,
            "launched_at": None,
            "deleted_at": None,
        }
        | values
    )


def a_vif(**values: Any) -> Vif:
    ip = values.get("ip", "10.0.0.2")
    address = VifAddress.of(
        ip=ip,
        subnet_id=CELL2,
        cidr="10.0.0.0/16",
        gateway="10.0.0.1",
        dns=["10.0.0.9"],
        dhcp=False,
    )
    return Vif.of(
        **{
            "id": a_uuid(),
            "network_id": CELL1,
            "network_name": "private",
            "mac": "02:00:00:00:00:01",
            "ip": ip,
            "cidr": "10.0.0.0/16",
            "gateway": "10.0.0.1",
            "host": "h1",
            "tag": None,
            "addresses": [address],
        }
        | values
    )


def a_spec(**values: Any) -> RequestSpec:
    return RequestSpec.of(
        **{
            "request_uuid": a_uuid(),
            "project_id": "project",
            "user_id": "user",
            "num_instances": 1,
            "flavor": a_flavor(),
            "image": an_image(),
            "availability_zone": None,
            "requested_host": None,
            "requested_node": None,
            "requested_cell": None,
            "ignore_hosts": [],
            "ignore_cells": [],
            "hints": {},
            "retry": None,
        }
        | values
    )


def a_wish(spec: RequestSpec, **values: Any) -> BuildRequest:
    instance = values.pop("instance", None) or an_instance(flavor=spec.flavor, image=spec.image)
    return BuildRequest.of(
        **{
            "instance_uuid": instance.uuid,
            "request_uuid": spec.request_uuid,
            "request_id": "req-" + a_uuid(),
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "instance": instance,
            "created_at": NOW,
        }
        | values
    )


def an_aggregate(**values: Any) -> Aggregate:
    return Aggregate.of(
        **{"id": 1, "uuid": a_uuid(), "name": "aggregate", "hosts": [], "metadata": {}} | values
    )


def a_group(**values: Any) -> ServerGroup:
    return ServerGroup.of(
        **{
            "uuid": a_uuid(),
            "project_id": "project",
            "user_id": "user",
            "name": "group",
            "policy": "anti-affinity",
        }
        | values
    )


def a_keypair(**values: Any) -> Keypair:
    return Keypair.of(
        **{
            "uuid": a_uuid(),
            "user_id": "user",
            "name": a_uuid(),
            "type": "ssh",
            "public_key": PUBLIC_KEY,
            "fingerprint": FINGERPRINT,
            "created_at": NOW,
        }
        | values
    )


def a_selection(host: str = "h1", **values: Any) -> Selection:
    return Selection.of(
        **{
            "host": host,
            "host_ip": "192.0.2.9",
            "node": host,
            "cell_uuid": CELL1,
            "availability_zone": "nova",
            "claimed": False,
        }
        | values
    )


# What a host has, by the names that tests use.
SIZES = (
    ("vcpus", "VCPU", 8),
    ("pcpus", "PCPU", 0),
    ("memory_mb", "MEMORY_MB", 16384),
    ("disk_gb", "DISK_GB", 100),
)


def a_report(host: str = "h1", **values: Any) -> HostReport:
    return HostReport.of(
        **{
            "host": host,
            "node": host,
            "cell_uuid": CELL1,
            "availability_zone": "nova",
            "enabled": True,
            "up": True,
            "hypervisor_type": "fake",
            "hypervisor_version": 1,
            "traits": [],
            "instances": [],
            "reported_at": NOW,
            "inventories": [*_counted(values), *values.pop("inventories", ())],
        }
        | values
    )


def _counted(values: dict[str, Any]) -> Iterator[ResourceInventory]:
    """Take what concerns the sizes of a host, such as ``vcpus_used``, from the values."""
    for name, resource_class, size in SIZES:
        total = values.pop(name, size)
        given = {
            each: values.pop(f"{name}_{short}")
            for short, each in (("reserved",) * 2, ("ratio", "allocation_ratio"), ("used",) * 2)
            if f"{name}_{short}" in values
        }
        if total:
            yield an_inventory(resource_class, total, **given)


def taken(*, vcpus: int = 0, pcpus: int = 0, memory_mb: int = 0, disk_gb: int = 0) -> Allocations:
    """What a claim has of its host, or all claims together."""
    return of_host({"VCPU": vcpus, "PCPU": pcpus, "MEMORY_MB": memory_mb, "DISK_GB": disk_gb})


def a_migration(**values: Any) -> Migration:
    """A finished cold migration from h1 to h2, which waits for its user."""
    return Migration.of(
        **{
            "uuid": a_uuid(),
            "instance_uuid": a_uuid(),
            "migration_type": "migration",
            "status": "finished",
            "source_host": "h1",
            "source_node": "h1",
            "dest_host": "h2",
            "dest_node": "h2",
            "old_flavor": a_flavor(),
            "new_flavor": a_flavor(),
            "request_id": "req-1",
            "user_id": "user",
            "project_id": "project",
        }
        | values
    )


def a_numa_cell(number: int = 0, **values: Any) -> NUMACell:
    """A host's cell of 4 GiB and four dedicated CPUs, which follow those of the cell before."""
    return NUMACell.of(
        **{
            "id": number,
            "cpus": [],
            "pcpus": list(range(number * 4, number * 4 + 4)),
            "memory_mb": 4096,
        }
        | values
    )


def a_pci_pool(**values: Any) -> PciPool:
    return PciPool.of(**{"vendor_id": "10de", "product_id": "1eb8", "count": 1} | values)


def an_inventory(resource_class: str, total: int, **values: Any) -> ResourceInventory:
    return ResourceInventory.of(
        **{"resource_class": resource_class, "total": total, "max_unit": total} | values
    )


def a_provider(
    name: str, *, parent: str = "", traits: Sequence[str] = (), **totals: int
) -> ResourceProvider:
    """A part of a host with so much of some resource classes."""
    return ResourceProvider.of(
        name=name,
        parent=parent,
        traits=list(traits),
        inventories=[an_inventory(one, total) for one, total in totals.items()],
    )


def a_numa_topology(*cells: dict[str, Any], **values: Any) -> InstanceNUMATopology:
    """What an instance asks: cells of 1 GiB, with their ids and what is said of them."""
    return InstanceNUMATopology.of(
        cells=[
            InstanceNUMACell.of(**{"id": number, "cpus": [], "memory_mb": 1024} | cell)
            for number, cell in enumerate(cells)
        ],
        **values,
    )


def a_pci_request(**values: Any) -> PciRequest:
    return PciRequest.of(
        **{"alias": "gpu", "count": 1, "specs": [{"vendor_id": "10de", "product_id": "1eb8"}]}
        | values
    )


def a_service(host: str = "h1", **values: Any) -> Service:
    return Service.of(
        **{
            "uuid": a_uuid(),
            "host": host,
            "binary": "roost-compute",
            "availability_zone": "nova",
            "disabled": False,
            "disabled_reason": None,
            "forced_down": False,
            "created_at": NOW,
            "last_seen_up": NOW,
        }
        | values
    )


def a_pci_allocation(**values: Any) -> PciAllocation:
    pool = a_pci_pool()
    return PciAllocation.of(
        **{
            "alias": "gpu",
            "count": 1,
            "vendor_id": pool.vendor_id,
            "product_id": pool.product_id,
            "dev_type": pool.dev_type,
            "numa_node": None,
        }
        | values
    )


def a_pinned_topology(*host_cpus: int, host_cell: int = 0) -> InstanceNUMATopology:
    """What an instance got whose every CPU is one of the host's."""
    cell = {
        "pcpus": list(range(len(host_cpus))),
        "pinning": list(host_cpus),
        "host_cell": host_cell,
    }
    return a_numa_topology(cell, cpu_policy="dedicated")
