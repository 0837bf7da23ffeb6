"""What a host tells the scheduler of itself, put together from what it is, has and holds."""

import dataclasses
import datetime
import json
from collections.abc import Collection, Mapping
from typing import Any, Self

from oslo_config import cfg

from roost.compute.shares import Amounts, Share, total
from roost.compute.virt.driver import HostResources, Load
from roost.objects import HostReport, InstancePlace

_MIB_PER_GIB = 1024
_OVERCOMMITTED = ("vcpus", "memory_mb", "disk_gb")
_HELD = ("vcpus", "pcpus", "memory_mb", "disk_gb")


@dataclasses.dataclass(frozen=True)
class HostSettings:
    """What the operator says of a host; ``reserved`` is never given to instances."""

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
    """What goes on at a host at one moment.

    ``shares`` is what instances take, ``built`` those of them that are neither being built nor
    ended, ``listed`` all that a report names; ``operations`` counts what is under way.
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
) -> HostReport:
    """Return the report of a host that is up.

    :param able: traits for what its driver can do, beside those of the node
    """
    used = total(contents.shares.values())
    return HostReport.of(
        host=settings.host,
        node=has.node,
        cell_uuid=cell_uuid,
        availability_zone=settings.availability_zone,
        enabled=enabled,
        enabled_version=enabled_version,
        up=True,
        host_ip=settings.host_ip,
        labels=sorted({*settings.labels, *has.labels}),
        traits=sorted({*has.traits, *able}),
        metrics=dict(metrics),
        load_average=list(load.averages) if load else [],
        users=load.users if load else 0,
        pcpus_used=int(used.pcpus),
        io_operations=contents.operations,
        failed_builds=contents.failed_builds,
        instances=sorted(contents.listed),
        holdings={uuid: _holding(contents.shares[uuid]) for uuid in sorted(contents.built)},
        places=_places({uuid: contents.shares[uuid] for uuid in sorted(contents.built)}),
        reported_at=reported_at,
        **_described(has),
        **_suffixed(settings.reserved, "reserved"),
        **_suffixed(settings.ratios, "ratio"),
        **_suffixed(used, "used"),
    )


def _described(has: HostResources) -> dict[str, Any]:
    return {
        "vcpus": has.vcpus,
        "pcpus": has.pcpus,
        "memory_mb": has.memory_mb,
        "disk_gb": has.disk_gb,
        "hypervisor_type": has.hypervisor_type,
        "hypervisor_version": has.hypervisor_version,
        "architectures": list(has.architectures),
        "capabilities": dict(has.capabilities),
        "numa_cells": list(has.numa_cells),
        "pci_pools": list(has.pci_pools),
        "cpu_info": json.dumps(dict(has.cpu_info), sort_keys=True),
        "booted_at": has.booted_at,
    }


def _holding(share: Share) -> list[int]:
    return [int(getattr(share.amounts, name)) for name in _HELD]


def _places(shares: Mapping[str, Share]) -> list[InstancePlace]:
    return [
        InstancePlace.of(
            instance_uuid=uuid,
            numa_topology=share.placement.numa_topology,
            pci=list(share.placement.pci),
        )
        for uuid, share in shares.items()
        if share.placement.numa_topology or share.placement.pci
    ]


def _suffixed(amounts: Amounts, suffix: str) -> dict[str, float]:
    return {f"{name}_{suffix}": getattr(amounts, name) for name in _OVERCOMMITTED}
