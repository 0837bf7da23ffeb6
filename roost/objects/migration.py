"""Migrations: moves of servers to other hosts, or to other flavors."""

from collections.abc import Sequence
from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.instance import BlockDevice, Instance, devices_for

_SOURCE: Final = "source"  # steps.SOURCE; the scheduler's library has objects, and no kinds
# Statuses, by OpenStack's names. A migration in one of ENDED is over: its server is on one
# host again.
MIGRATING: Final = "migrating"
FINISHED: Final = "finished"  # the server waits for its user to confirm or revert
CONFIRMING: Final = "confirming"
REVERTING: Final = "reverting"
CONFIRMED: Final = "confirmed"
REVERTED: Final = "reverted"
FAILED: Final = "error"  # of live migrations: LIVE_FAILED
DONE: Final = "done"  # of an evacuation: the server is on its new host
# Of live migrations:
PREPARING: Final = "preparing"
RUNNING: Final = "running"  # the guest is copied
POST_MIGRATING: Final = "post-migrating"  # it has arrived
COMPLETED: Final = "completed"
LIVE_FAILED: Final = "failed"
CANCELLED: Final = "cancelled"  # an administrator has aborted it
ENDED: Final = (CONFIRMED, REVERTED, FAILED, DONE, COMPLETED, LIVE_FAILED, CANCELLED)
LIVE_MIGRATION: Final = "live-migration"  # its type
# What is reported of a copy.
BYTES: Final = tuple(
    f"{what}_{part}_bytes"
    for what in ("memory", "disk")
    for part in ("total", "processed", "remaining")
)
# Statuses in which the guest has not arrived; and in which it, or its disks, are copied.
COMING: Final = (MIGRATING, PREPARING, RUNNING)
COPYING: Final = (MIGRATING, RUNNING)


@base.VersionedObjectRegistry.register
class Migration(base.RoostObject):
    """The record that a server is, or was, on two hosts.

    ``migration_type`` is migration (the same flavor), resize, live-migration (the guest runs on
    meanwhile), or evacuation: its source is down for good, and the guest is created again at the
    destination. The resources are the NUMA cells, CPUs,
    devices and allocations on each host, None if it has none of them; the destination's names are
    None until a host is chosen. ``dest_ip`` is the address of the destination's hypervisor. The
    bytes of disks, and of the memory of a guest that runs on meanwhile, are those that go from host
    to host, as the host that copies them has reported them last; None: it has not. What the guest
    writes meanwhile is copied again, so that more may remain than is left of the total.
    ``power_before``: the power state of the guest when the move began, or that an evacuated one is
    to have.
    """

    # 1.1: disk_total_bytes, disk_processed_bytes; 1.2: power_before; 1.3: of memory,
    # disk_remaining_bytes
    VERSION = "1.3"
    fields = {
        "id": fields.IntegerField(nullable=True, default=base.NOTHING),
        "uuid": fields.UUIDField(),
        "instance_uuid": fields.UUIDField(),
        "migration_type": fields.StringField(),
        "status": fields.StringField(),
        "source_host": fields.StringField(),
        "source_node": fields.StringField(),
        "source_zone": fields.StringField(nullable=True, default=base.NOTHING),
        "source_resources": fields.ObjectField(
            "InstanceResources", nullable=True, default=base.NOTHING
        ),
        "dest_host": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_node": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_zone": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_ip": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_resources": fields.ObjectField(
            "InstanceResources", nullable=True, default=base.NOTHING
        ),
        "old_flavor": fields.ObjectField("Flavor"),
        "new_flavor": fields.ObjectField("Flavor"),
        "disk_total_bytes": fields.IntegerField(nullable=True, default=base.NOTHING),
        "disk_processed_bytes": fields.IntegerField(nullable=True, default=base.NOTHING),
        "disk_remaining_bytes": fields.IntegerField(nullable=True, default=base.NOTHING),
        "memory_total_bytes": fields.IntegerField(nullable=True, default=base.NOTHING),
        "memory_processed_bytes": fields.IntegerField(nullable=True, default=base.NOTHING),
        "memory_remaining_bytes": fields.IntegerField(nullable=True, default=base.NOTHING),
        "power_before": fields.IntegerField(nullable=True, default=base.NOTHING),
        "request_id": fields.StringField(),
        "user_id": fields.StringField(),
        "project_id": fields.StringField(),
        "created_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "updated_at": base.DateTimeField(nullable=True, default=base.NOTHING),
    }

    @property
    def stays_on_host(self) -> bool:
        """Whether the source is the destination: a resize to another flavor on the same host."""
        return bool(self.source_host == self.dest_host)

    @property
    def changes_disks(self) -> bool:
        """Whether the flavors ask for other disks."""
        sizes = [
            (one.root_gb, one.ephemeral_gb, one.swap) for one in (self.old_flavor, self.new_flavor)
        ]
        return sizes[0] != sizes[1]

    def host_at(self, side: str) -> str:
        """Return the host on one side: source or destination."""
        return str(self.source_host if side == _SOURCE else self.dest_host)

    def new_devices(self, devices: Sequence[BlockDevice]) -> list[BlockDevice]:
        """Return the disks of the guest with the new flavor; instances have theirs until then."""
        return devices_for(devices, self.old_flavor, self.new_flavor)

    def instance_at(self, side: str, instance: Instance) -> Instance:
        """Return a copy of the instance with the flavor and resources that it has on one side."""
        is_source = side == _SOURCE
        resources = self.source_resources if is_source else self.dest_resources
        values = instance.values() | {
            "flavor": self.old_flavor if is_source else self.new_flavor,
            "numa_topology": resources.numa_topology if resources is not None else None,
            "pci": resources.pci if resources is not None else [],
            "allocations": resources.allocations if resources is not None else {},
        }
        built = values.get("provisions")
        if built is not None and not is_source:
            devices = self.new_devices(built.block_devices)
            values["provisions"] = type(built).of(**built.values() | {"block_devices": devices})
        return Instance.of(**values)
