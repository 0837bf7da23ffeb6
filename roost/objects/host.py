"""Reports of hosts, to the scheduler and to their cell; services; instance locations."""

import uuid
from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.base import version_at

_NODES: Final = uuid.UUID("d1a6ee11-4a5f-5bd4-9d4b-0f6f0a4f2c6e")  # the namespace of node uuids


@base.VersionedObjectRegistry.register
class HostReport(base.RoostObject):
    """Resources and contents of one (host, node).

    Of two reports the one with the later ``reported_at`` counts.

    ``instances`` are the uuids of all instances that the host has or builds; ``holdings`` has the
    allocations of those that are built, and ``instance_resources`` their NUMA cells and devices,
    if they requested any.

    ``inventories`` are of the node as a whole: VCPU, PCPU (CPUs that are dedicated to one instance
    each), MEMORY_MB (MiB), DISK_GB (GiB) and any other resource class; ``providers`` are the parts
    with inventories of their own.

    ``enabled_version`` is the version of the service's state that ``enabled`` reflects: the host
    has not received newer states yet.

    ``architectures`` are those of its guests; extra specs of the scope ``capabilities`` are
    compared with ``capabilities``; ``labels`` are for locality; ``io_operations`` counts running
    builds, snapshots and the like; ``failed_builds`` counts consecutive failed builds; ``metrics``
    has the host's measurements.

    ``cpu_info`` is a JSON object on the CPUs, for operators; ``booted_at`` is the node's last
    start; ``load_average`` is that of 1, 5 and 15 minutes (empty: unknown), ``users`` the number of
    logged-in users. ``stale_collectors`` are those that do not answer any more, so that what they
    found may have changed: each with the time of its last answer (empty: there was none).
    Schedulers set ``instances_used``, the number of instances with claims, and ``generation``,
    which grows with every change of the description and of claims; and ``unreadable``, where they
    cannot read what they have stored of the host, so that it gets nothing: why. None: they can.
    """

    # 1.1: load_average, users
    # 1.2: inventories
    # 1.3: generation
    # 1.4: providers
    # 1.5: stale_collectors
    # 1.6: unreadable
    VERSION = "1.6"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "availability_zone": fields.StringField(),
        "enabled": fields.BooleanField(),
        "enabled_version": fields.IntegerField(default=0),
        "up": fields.BooleanField(),
        "instances_used": fields.IntegerField(default=0),
        "generation": fields.IntegerField(default=0),
        "hypervisor_type": fields.StringField(),
        "hypervisor_version": fields.IntegerField(),
        "cpu_info": fields.StringField(default="{}"),
        "booted_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "load_average": base.ListOfFloatsField(default=[]),
        "users": fields.IntegerField(default=0),
        "stale_collectors": fields.DictOfStringsField(default={}),
        "unreadable": fields.StringField(nullable=True, default=base.NOTHING),
        "host_ip": fields.StringField(nullable=True, default=base.NOTHING),
        "architectures": fields.ListOfStringsField(default=[]),
        "capabilities": fields.DictOfStringsField(default={}),
        "traits": fields.ListOfStringsField(default=[]),
        "labels": fields.ListOfStringsField(default=[]),
        "numa_cells": fields.ListOfObjectsField("NUMACell", default=[]),
        "pci_pools": fields.ListOfObjectsField("PciPool", default=[]),
        "inventories": fields.ListOfObjectsField("ResourceInventory", default=[]),
        "providers": fields.ListOfObjectsField("ResourceProvider", default=[]),
        "io_operations": fields.IntegerField(default=0),
        "failed_builds": fields.IntegerField(default=0),
        "metrics": base.DictOfFloatsField(default={}),
        "instances": fields.ListOfStringsField(default=[]),
        "holdings": base.DictOfAllocationsField(default={}),
        "instance_resources": fields.ListOfObjectsField("InstanceResources", default=[]),
        "reported_at": base.DateTimeField(),
    }

    def amount(self, resource_class: str, name: str = "total") -> int:
        """Return an amount of the node's inventory of a class: 0 if it has none."""
        found = (one for one in self.inventories if one.resource_class == resource_class)
        return next((int(getattr(one, name)) for one in found), 0)

    @property
    def node_uuid(self) -> str:
        """The id of the node."""
        return uuid_of_node(self.host, self.node)


def uuid_of_node(host: str, node: str) -> str:
    """Return the id of a node, derived from its names, so that a returning node has the same."""
    return str(uuid.uuid5(_NODES, f"{host}\n{node}"))


def uuid_of_provider(node_uuid: str, name: str) -> str:
    """Return the id of a part of a node by its name; empty: that of the node."""
    return str(uuid.uuid5(uuid.UUID(node_uuid), name)) if name else node_uuid


@base.VersionedObjectRegistry.register
class Service(base.RoostObject):
    """A daemon on a host, by its heartbeats.

    ``disabled_at`` is when it was last disabled or enabled. ``version`` is that of the RPC
    interface that a host serves. All times are by its database's clock.
    """

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "host": fields.StringField(),
        "binary": fields.StringField(),
        "availability_zone": fields.StringField(nullable=True),
        "disabled": fields.BooleanField(),
        "disabled_reason": fields.StringField(nullable=True),
        "disabled_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "forced_down": fields.BooleanField(),
        "created_at": base.DateTimeField(),
        "last_seen_up": base.DateTimeField(),
        "version": fields.StringField(nullable=True, default=base.NOTHING),
    }

    @property
    def disabled_version(self) -> int:
        """The version of ``disabled``; the higher one counts. 0: it was never set."""
        at = self.disabled_at
        return 0 if at is None else version_at(at)


HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
MOVING: Final = "moving"  # it is elsewhere, and moves from or to this host
LEFT: Final = "left"  # it is elsewhere, and what this host has of it was left behind
NOWHERE: Final = "nowhere"
DELETED: Final = "deleted"
UNKNOWN: Final = "unknown"


@base.VersionedObjectRegistry.register
class InstanceLocation(base.RoostObject):
    """The location of an instance, as the cell reports it to a host.

    ``presence`` is ``here``, ``elsewhere`` (on ``host``), ``moving`` or ``left`` (elsewhere, too),
    ``nowhere`` (it exists, on no host), ``deleted``, or ``unknown`` to this cell; then nothing else
    is set. ``launched``: it has run
    before.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "presence": fields.StringField(),
        "host": fields.StringField(nullable=True, default=base.NOTHING),
        "attempt": fields.IntegerField(default=0),
        "vm_state": fields.StringField(nullable=True, default=base.NOTHING),
        "task_state": fields.StringField(nullable=True, default=base.NOTHING),
        "power_state": fields.IntegerField(default=0),
        "launched": fields.BooleanField(default=False),
    }


@base.VersionedObjectRegistry.register
class HostFinding(base.RoostObject):
    """A difference between a host and its cell's records, and the host's correction.

    ``kind`` is a :class:`roost.compute.reconcile_rules.Correction`; ``reason`` is for operators.
    """

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "instance_uuid": fields.UUIDField(),
        "kind": fields.StringField(),
        "reason": fields.StringField(),
    }
