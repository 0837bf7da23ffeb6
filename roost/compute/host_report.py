"""The report of a host to the schedulers, and the resources that its instances use.

Values and pure functions: ``Share`` is what one instance uses, ``check`` makes sure that it is
free, and ``compose`` builds the report from the host's settings, resources and instances.
"""

import collections
import dataclasses
import datetime
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from oslo_config import cfg

from roost import exception
from roost.compute.virt.driver import GuestResources, HostResources, Load
from roost.objects import (
    HostReport,
    Instance,
    InstanceResources,
    PciAllocation,
    PciPool,
    ResourceInventory,
    report_parts,
)
from roost.objects.allocations import Allocations, of_host, plus
from roost.objects.topology import sizes_of

_LABELS: Final = {
    "vcpus": "CPUs",
    "memory_mb": "MiB of memory",
    "disk_gb": "GiB of disk",
    "pcpus": "dedicated CPUs",
}


_CLASSES: Final = {
    "vcpus": "VCPU",
    "memory_mb": "MEMORY_MB",
    "disk_gb": "DISK_GB",
    "pcpus": "PCPU",
}


class Amounts(NamedTuple):
    """An amount of each resource. Memory in MiB, disk in GiB; ``pcpus`` are dedicated CPUs."""

    vcpus: float
    memory_mb: float
    disk_gb: float
    pcpus: float = 0


@dataclasses.dataclass(frozen=True)
class Share:
    """The resources of one instance: amounts, and which CPUs, NUMA cells, devices and so on."""

    amounts: Amounts
    resources: GuestResources = dataclasses.field(default_factory=GuestResources)


NOTHING: Final = Share(Amounts(0, 0, 0))


def share_of(instance: Instance, resources: GuestResources) -> Share:
    """Return the resources that an instance uses."""
    sizes = sizes_of(instance.flavor, instance.image, resources.numa_topology)
    amounts = Amounts(**{name: sizes[each] for name, each in _CLASSES.items()})
    return Share(amounts, resources)


def total(shares: Iterable[Share]) -> Amounts:
    """Return the sum of these shares."""
    columns = zip(NOTHING.amounts, *(share.amounts for share in shares), strict=True)
    return Amounts(*(sum(column) for column in columns))


def most(
    has: HostResources, *, reserved: Amounts, ratios: Amounts, limits: Mapping[str, int]
) -> Amounts:
    """Return how much all instances of a host together may use.

    :param limits: by resource class; others are computed from the host's resources
    """
    own = Amounts(
        vcpus=(has.vcpus - reserved.vcpus) * ratios.vcpus,
        memory_mb=(has.memory_mb - reserved.memory_mb) * ratios.memory_mb,
        disk_gb=(has.disk_gb - reserved.disk_gb) * ratios.disk_gb,
        pcpus=has.pcpus,
    )
    known = {name: limits[each] for name, each in _CLASSES.items() if each in limits}
    return own._replace(**known)


def check(
    host: str,
    wanted: Share,
    *,
    others: Sequence[Share],
    has: HostResources,
    limit: Amounts,
) -> None:
    """Make sure that a share is free beside those of other instances.

    The scheduler checks the memory of NUMA cells, because it knows the overcommit of each.

    :param limit: what all instances together may use
    :raises roost.exception.NoCapacity: with ``resource``, ``asked`` and ``free`` as details
    """
    _check_amounts(host, wanted.amounts, used=total(others), limit=limit)
    _check_pinning(host, wanted.resources, others=others, has=has)
    _check_devices(host, wanted.resources.pci, others=others, pools=has.pci_pools)
    _check_allocations(host, wanted.resources, others=others, has=has)


def _check_amounts(host: str, asked: Amounts, *, used: Amounts, limit: Amounts) -> None:
    for name, wanted, most_of_it, taken in zip(Amounts._fields, asked, limit, used, strict=True):
        free = max(int(most_of_it - taken), 0)
        if wanted > free:
            raise _refusal(host, _LABELS[name], resource=name, asked=int(wanted), free=free)


def _check_pinning(
    host: str, resources: GuestResources, *, others: Sequence[Share], has: HostResources
) -> None:
    """Make sure that no CPU is dedicated to two instances."""
    free = {cpu for cell in has.numa_cells for cpu in cell.pcpus}
    free.difference_update(cpu for other in others for cpu in other.resources.pinned_cpus)
    lacking = sorted(set(resources.pinned_cpus) - free)
    if lacking:
        raise exception.NoCapacity(
            f"{host} cannot dedicate CPU {', '.join(map(str, lacking))}", resource="pinning"
        )


def _check_devices(
    host: str,
    allocations: Sequence[PciAllocation],
    *,
    others: Sequence[Share],
    pools: Sequence[PciPool],
) -> None:
    asked = _counted(allocations)
    there = _counted(pools)
    taken = _counted(device for other in others for device in other.resources.pci)
    for kind, count in asked.items():
        free = max(there[kind] - taken[kind], 0)
        if count > free:
            label = f"devices {kind.vendor_id}:{kind.product_id}"
            raise _refusal(host, label, resource="pci", asked=count, free=free)


def _check_allocations(
    host: str, resources: GuestResources, *, others: Sequence[Share], has: HostResources
) -> None:
    """Make sure that each provider has as much as the scheduler has given.

    The scheduler alone counts the classes of the host as a whole that its aggregates add.
    """
    inventories = {"": has.inventories, **{one.name: one.inventories for one in has.providers}}
    for provider, amounts in resources.allocations.items():
        there = _capacities(inventories.get(provider, ()))
        taken: collections.Counter[str] = collections.Counter()
        for other in others:
            taken.update(other.resources.allocations.get(provider, {}))
        for name, amount in amounts.items():
            if not provider and name not in there:
                continue
            free = max(there.get(name, 0) - taken[name], 0)
            if amount > free:
                label = f"{name} of {provider}" if provider else name
                raise _refusal(host, label, resource=name, asked=amount, free=free)


def _capacities(inventories: Iterable[ResourceInventory]) -> dict[str, int]:
    return {one.resource_class: one.capacity for one in inventories}


class _Kind(NamedTuple):
    """The key of a pool of PCI devices; ids in lower case."""

    vendor_id: str
    product_id: str
    dev_type: str
    numa_node: int | None
    tags: frozenset[tuple[str, str]]


def _counted(devices: Iterable[PciPool | PciAllocation]) -> collections.Counter[_Kind]:
    counts: collections.Counter[_Kind] = collections.Counter()
    for each in devices:
        tags = frozenset(each.tags.items())
        vendor, product = each.vendor_id.lower(), each.product_id.lower()
        kind = _Kind(vendor, product, each.dev_type, each.numa_node, tags)
        counts[kind] += each.count
    return counts


def _refusal(
    host: str, label: str, *, resource: str, asked: int, free: int
) -> exception.NoCapacity:
    return exception.NoCapacity(
        f"{host} has not enough {label}: {asked} requested, {free} free",
        resource=resource,
        asked=asked,
        free=free,
    )


_MIB_PER_GIB = 1024


@dataclasses.dataclass(frozen=True)
class HostSettings:
    """The operator's settings of a host; instances never get what is ``reserved``."""

    host: str
    availability_zone: str
    reserved: Amounts
    ratios: Amounts
    host_ip: str | None = None
    labels: tuple[str, ...] = ()

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.compute
        return cls(
            host=conf.host,
            availability_zone=group.availability_zone,
            reserved=Amounts(
                vcpus=group.reserved_host_cpus,
                memory_mb=group.reserved_host_memory_mb,
                disk_gb=-(-group.reserved_host_disk_mb // _MIB_PER_GIB),
            ),
            ratios=Amounts(
                vcpus=group.cpu_allocation_ratio,
                memory_mb=group.ram_allocation_ratio,
                disk_gb=group.disk_allocation_ratio,
            ),
            host_ip=group.host_ip,
            labels=tuple(group.labels),
        )


@dataclasses.dataclass(frozen=True)
class Contents:
    """The instances and operations of a host at one moment.

    ``shares`` are the resources of instances, ``built`` those that are neither being built nor
    deleted, ``listed`` all that a report names; ``operations`` counts operations under way.
    """

    shares: Mapping[str, Share]
    built: frozenset[str]
    listed: frozenset[str]
    operations: int
    failed_builds: int


def compose(
    contents: Contents,
    *,
    settings: HostSettings,
    has: HostResources,
    able: Collection[str],
    metrics: Mapping[str, float],
    load: Load | None,
    cell_uuid: str,
    enabled: bool,
    enabled_version: int,
    reported_at: datetime.datetime,
    read_parts: Collection[str] | None,
    stale_collectors: Mapping[str, str],
) -> HostReport:
    """Return the report of a host that is up.

    :param able: traits for the capabilities of its driver, beside those of the node
    :param read_parts: what schedulers read of the parts that may be left out; None: not known
    """
    used = total(contents.shares.values())
    parts = {
        report_parts.CAPABILITIES: dict(has.capabilities),
        report_parts.LABELS: sorted({*settings.labels, *has.labels}),
        report_parts.METRICS: dict(metrics),
    }
    return HostReport.of(
        host=settings.host,
        node=has.node,
        cell_uuid=cell_uuid,
        availability_zone=settings.availability_zone,
        enabled=enabled,
        enabled_version=enabled_version,
        up=True,
        host_ip=settings.host_ip,
        traits=sorted({*has.traits, *able}),
        inventories=[*_inventories(has, settings, used), *has.inventories],
        providers=list(has.providers),
        load_average=list(load.averages) if load else [],
        users=load.users if load else 0,
        io_operations=contents.operations,
        failed_builds=contents.failed_builds,
        instances=sorted(contents.listed),
        holdings={uuid: _holding(contents.shares[uuid]) for uuid in sorted(contents.built)},
        instance_resources=_resources(
            {uuid: contents.shares[uuid] for uuid in sorted(contents.built)}
        ),
        stale_collectors=dict(stale_collectors),
        reported_at=reported_at,
        **report_parts.read_of(parts, read_parts),
        **_described(has),
    )


def _described(has: HostResources) -> dict[str, Any]:
    return {
        "hypervisor_type": has.hypervisor_type,
        "hypervisor_version": has.hypervisor_version,
        "architectures": list(has.architectures),
        "numa_cells": list(has.numa_cells),
        "pci_pools": list(has.pci_pools),
        "cpu_info": json.dumps(dict(has.cpu_info), sort_keys=True),
        "booted_at": has.booted_at,
    }


def _holding(share: Share) -> Allocations:
    sizes = {each: int(getattr(share.amounts, name)) for name, each in _CLASSES.items()}
    return plus(of_host(sizes), share.resources.allocations)


def _resources(shares: Mapping[str, Share]) -> list[InstanceResources]:
    found = (
        InstanceResources.of_holder(share.resources, instance_uuid=uuid)
        for uuid, share in shares.items()
        if share.resources.numa_topology is not None or share.resources.pci
    )
    return [one for one in found if one is not None]


def _inventories(
    has: HostResources, settings: HostSettings, used: Amounts
) -> Iterator[ResourceInventory]:
    """Yield the inventories of what a driver counts by itself; PCPU has no reserve and no ratio."""
    for name, resource_class in _CLASSES.items():
        total = getattr(has, name)
        if total:
            yield ResourceInventory.of(
                resource_class=resource_class,
                total=total,
                reserved=min(total, getattr(settings.reserved, name)),
                allocation_ratio=getattr(settings.ratios, name) or 1.0,
                max_unit=total,
                used=int(getattr(used, name)),
            )
