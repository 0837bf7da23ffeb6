"""What hosts report: to the scheduler of themselves, to their cell of instances; and services."""

import uuid
from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.base import version_at

_NODES: Final = uuid.UUID(
    "d1a6ee11-4a5f-5bd4-9d4b-0f6f0a4f2c6e"
)  # where the uuids of nodes come from


@base.VersionedObjectRegistry.register
class HostReport(base.RoostObject):
    """Inventory and contents of one (host, node).

    Memory in MiB, disk in GiB. What may be given to instances of a resource is
    ``(total - reserved) * ratio``; ``pcpus``, CPUs that are given to one instance each, know
    neither. Of two reports the one with the later ``reported_at`` counts.

    ``instances`` are the uuids of all instances that the host holds or builds; ``holdings`` says
    of those that are built what each takes: [vcpus, pcpus, memory_mb, disk_gb], and ``places``
    where exactly, if that was asked for.

    ``enabled_version`` is that of the operator's word that ``enabled`` follows: of a word that is
    newer the host has not heard yet.

    ``architectures`` are those that guests may have; ``capabilities`` what extra specs of that
    scope are compared with; ``labels`` places that locality may ask for; ``io_operations`` the
    builds, snapshots and the like that go on; ``failed_builds`` those in a row that failed last;
    ``metrics`` whatever the host measures.

    ``cpu_info`` is JSON, an object that tells operators of the CPUs; ``booted_at`` is when the node
    was last started; ``load_average`` how many processes wanted to run in the last minute, 5 and 15
    minutes (nothing: it does not tell), and ``users`` how many are logged in. ``instances_used``,
    how many instances hold claims, is told by schedulers.
    """

    # 1.1: load_average, users
    VERSION = "1.1"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "availability_zone": fields.StringField(),
        "enabled": fields.BooleanField(),
        "enabled_version": fields.IntegerField(default=0),
        "up": fields.BooleanField(),
        "vcpus": fields.IntegerField(),
        "pcpus": fields.IntegerField(default=0),
        "memory_mb": fields.IntegerField(),
        "disk_gb": fields.IntegerField(),
        "vcpus_reserved": fields.IntegerField(),
        "memory_mb_reserved": fields.IntegerField(),
        "disk_gb_reserved": fields.IntegerField(),
        "vcpus_ratio": fields.FloatField(),
        "memory_mb_ratio": fields.FloatField(),
        "disk_gb_ratio": fields.FloatField(),
        "vcpus_used": fields.IntegerField(),
        "pcpus_used": fields.IntegerField(default=0),
        "memory_mb_used": fields.IntegerField(),
        "disk_gb_used": fields.IntegerField(),
        "instances_used": fields.IntegerField(default=0),
        "hypervisor_type": fields.StringField(),
        "hypervisor_version": fields.IntegerField(),
        "cpu_info": fields.StringField(default="{}"),
        "booted_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "load_average": base.ListOfFloatsField(default=[]),
        "users": fields.IntegerField(default=0),
        "host_ip": fields.StringField(nullable=True, default=base.NOTHING),
        "architectures": fields.ListOfStringsField(default=[]),
        "capabilities": fields.DictOfStringsField(default={}),
        "traits": fields.ListOfStringsField(default=[]),
        "labels": fields.ListOfStringsField(default=[]),
        "numa_cells": fields.ListOfObjectsField("NUMACell", default=[]),
        "pci_pools": fields.ListOfObjectsField("PciPool", default=[]),
        "io_operations": fields.IntegerField(default=0),
        "failed_builds": fields.IntegerField(default=0),
        "metrics": base.DictOfFloatsField(default={}),
        "instances": fields.ListOfStringsField(default=[]),
        "holdings": base.DictOfListsOfIntegersField(default={}),
        "places": fields.ListOfObjectsField("InstancePlace", default=[]),
        "reported_at": base.DateTimeField(),
    }

    @property
    def node_uuid(self) -> str:
        """The id of the node. It follows from host and node, so whoever comes back has it again."""
        return str(uuid.uuid5(_NODES, f"{self.host}\n{self.node}"))


@base.VersionedObjectRegistry.register
class Service(base.RoostObject):
    """A daemon on a host, as its heartbeats tell.

    ``disabled_at`` is when it was last disabled or enabled. All times are by its database's clock.
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
    }

    @property
    def disabled_version(self) -> int:
        """Which of two words on whether it is disabled counts: the higher one. 0: none was said."""
        at = self.disabled_at
        return 0 if at is None else version_at(at)


HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
NOWHERE: Final = "nowhere"
DELETED: Final = "deleted"
UNKNOWN: Final = "unknown"


@base.VersionedObjectRegistry.register
class InstanceLocation(base.RoostObject):
    """Where an instance is, to a host that asks.

    ``place`` is ``here``, ``elsewhere`` (on ``host``), ``nowhere`` (it lives, and no host has it),
    ``deleted``, or ``unknown`` to this cell; then nothing else is set. ``launched``: it has run
    once.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "place": fields.StringField(),
        "host": fields.StringField(nullable=True, default=base.NOTHING),
        "attempt": fields.IntegerField(default=0),
        "vm_state": fields.StringField(nullable=True, default=base.NOTHING),
        "task_state": fields.StringField(nullable=True, default=base.NOTHING),
        "power_state": fields.IntegerField(default=0),
        "launched": fields.BooleanField(default=False),
    }


@base.VersionedObjectRegistry.register
class HostFinding(base.RoostObject):
    """Something that a host found to be other than its cell says, and what it did about it.

    ``kind`` says what it did, in one word of :class:`roost.compute.reconcile.Correction`;
    ``reason``
    why, in words for operators.
    """

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "instance_uuid": fields.UUIDField(),
        "kind": fields.StringField(),
        "reason": fields.StringField(),
    }
