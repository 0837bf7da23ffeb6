"""NUMA cells and PCI devices: of hosts, and as instances request and get them."""

from collections.abc import Mapping
from typing import Any

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.flavor import Flavor, ImageMeta, disk_gb


@base.VersionedObjectRegistry.register
class NUMACell(base.RoostObject):
    """A NUMA cell of a host. Memory in MiB.

    ``cpus`` are shared by all instances without pinning, ``pcpus`` are dedicated to one instance
    each; ``siblings`` are the threads of each core that has several; ``page_counts`` is the number
    of huge pages by size in KiB. Cells of one ``socket`` are near each other (None: unknown).
    """

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(),
        "cpus": fields.ListOfIntegersField(),
        "pcpus": fields.ListOfIntegersField(),
        "memory_mb": fields.IntegerField(),
        "siblings": fields.Field(fields.List(fields.List(fields.Integer())), default=[]),
        "page_counts": fields.DictOfIntegersField(default={}),
        "socket": fields.IntegerField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class PciPool(base.RoostObject):
    """Devices of one kind on one NUMA cell of a host (None: unknown), used or not.

    ``dev_type`` is type-PCI, type-PF or type-VF; ``tags`` are the operator's.
    """

    VERSION = "1.0"
    fields = {
        "vendor_id": fields.StringField(),
        "product_id": fields.StringField(),
        "dev_type": fields.StringField(default="type-PCI"),
        "numa_node": fields.IntegerField(nullable=True, default=base.NOTHING),
        "count": fields.IntegerField(),
        "tags": fields.DictOfStringsField(default={}),
    }


@base.VersionedObjectRegistry.register
class InstanceNUMACell(base.RoostObject):
    """A NUMA cell of an instance: the request, and once it is placed, the host cell. Memory in MiB.

    ``cpus`` are the instance's CPUs that float over the host cell's shared ones, ``pcpus`` those
    that are pinned. The requested ``page_size`` is small, large, any or KiB as digits; None: any.

    Set by the scheduler: ``host_cell`` (id), ``pinning`` (host CPU of each of ``pcpus``, in their
    order) and ``page_kb`` (None: ordinary pages).
    """

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(),
        "cpus": fields.ListOfIntegersField(),
        "pcpus": fields.ListOfIntegersField(default=[]),
        "memory_mb": fields.IntegerField(),
        "page_size": fields.StringField(nullable=True, default=base.NOTHING),
        "host_cell": fields.IntegerField(nullable=True, default=base.NOTHING),
        "pinning": fields.ListOfIntegersField(default=[]),
        "page_kb": fields.IntegerField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class InstanceNUMATopology(base.RoostObject):
    """The NUMA cells of an instance, in order of id.

    ``cpu_policy`` is shared, dedicated or mixed; ``cpu_thread_policy`` prefer, isolate or require.
    """

    VERSION = "1.0"
    fields = {
        "cells": fields.ListOfObjectsField("InstanceNUMACell"),
        "cpu_policy": fields.StringField(default="shared"),
        "cpu_thread_policy": fields.StringField(default="prefer"),
    }


@base.VersionedObjectRegistry.register
class PciRequest(base.RoostObject):
    """A request for ``count`` devices that meet one of ``specs`` (each: values by name).

    ``numa_policy`` is required, preferred, socket or legacy.
    """

    VERSION = "1.0"
    fields = {
        "alias": fields.StringField(),
        "count": fields.IntegerField(),
        "specs": fields.Field(fields.List(fields.Dict(fields.String()))),
        "numa_policy": fields.StringField(default="legacy"),
    }


@base.VersionedObjectRegistry.register
class PciAllocation(base.RoostObject):
    """``count`` devices of one pool of a host, for one instance. The host picks the addresses."""

    VERSION = "1.0"
    fields = {
        "alias": fields.StringField(),
        "count": fields.IntegerField(),
        "vendor_id": fields.StringField(),
        "product_id": fields.StringField(),
        "dev_type": fields.StringField(),
        "numa_node": fields.IntegerField(nullable=True),
        "tags": fields.DictOfStringsField(default={}),
    }


@base.VersionedObjectRegistry.register
class InstanceResources(base.RoostObject):
    """The NUMA cells, CPUs, devices and allocations that an instance has on its host.

    ``allocations`` are amounts by provider and resource class; the name of the host's own provider
    is empty.
    """

    # 1.1: allocations
    VERSION = "1.1"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "numa_topology": fields.ObjectField(
            "InstanceNUMATopology", nullable=True, default=base.NOTHING
        ),
        "pci": fields.ListOfObjectsField("PciAllocation", default=[]),
        "allocations": base.DictOfDictsOfIntegersField(default={}),
    }

    @classmethod
    def of_holder(cls, holder: Any, *, instance_uuid: str) -> "InstanceResources | None":
        """Return the resources in a Selection or an Instance; None: it has none of these."""
        if holder.numa_topology is None and not holder.pci and not holder.allocations:
            return None
        return cls.of(
            instance_uuid=instance_uuid,
            numa_topology=holder.numa_topology,
            pci=list(holder.pci),
            allocations=dict(holder.allocations),
        )


def sizes_of(
    flavor: Flavor, image: ImageMeta | None, numa: InstanceNUMATopology | None
) -> dict[str, int]:
    """Return the resources that the sizes of an instance take of its host, by class.

    Pinned CPUs are PCPU, not VCPU. Extra specs ``resources:VCPU``, ``MEMORY_MB`` and ``DISK_GB``
    count instead of the flavor's sizes.
    """
    pinned, specs = pcpus_of(numa), flavor.extra_specs
    return {
        "VCPU": _overridden(specs, "VCPU", flavor.vcpus - pinned),
        "PCPU": pinned,
        "MEMORY_MB": _overridden(specs, "MEMORY_MB", flavor.memory_mb),
        "DISK_GB": _overridden(specs, "DISK_GB", disk_gb(flavor, image)),
    }


def _overridden(specs: Mapping[str, str], resource_class: str, amount: int) -> int:
    """Return the amount of an extra spec; the API has checked that it is a whole number."""
    text = specs.get(f"resources:{resource_class}", "").strip() if specs else ""
    return int(text) if text.isascii() and text.isdigit() else amount


def pcpus_of(numa: InstanceNUMATopology | None) -> int:
    """Return how many dedicated CPUs an instance takes; the rest of its CPUs float."""
    return 0 if numa is None else sum(len(cell.pcpus) for cell in numa.cells)
