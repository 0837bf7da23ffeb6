"""Migrations: moves of servers to other hosts, or to other flavors."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base

# Statuses, by OpenStack's names. A migration in one of ENDED is over: its server has one
# place again.
MIGRATING: Final = "migrating"
FINISHED: Final = "finished"  # the server waits for its user to confirm or revert
CONFIRMING: Final = "confirming"
REVERTING: Final = "reverting"
CONFIRMED: Final = "confirmed"
REVERTED: Final = "reverted"
FAILED: Final = "failed"
ENDED: Final = (CONFIRMED, REVERTED, FAILED)


@base.VersionedObjectRegistry.register
class Migration(base.RoostObject):
    """The record that a server has, or had, places on two hosts.

    ``migration_type`` is migration (the same flavor) or resize. The places are the NUMA cells, CPUs
    and devices on each host, if it has any; the destination's names are None until a host is
    chosen. ``dest_ip`` is the address of the destination's hypervisor.
    """

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(nullable=True, default=base.NOTHING),
        "uuid": fields.UUIDField(),
        "instance_uuid": fields.UUIDField(),
        "migration_type": fields.StringField(),
        "status": fields.StringField(),
        "source_host": fields.StringField(),
        "source_node": fields.StringField(),
        "source_place": fields.ObjectField("InstancePlace", nullable=True, default=base.NOTHING),
        "dest_host": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_node": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_ip": fields.StringField(nullable=True, default=base.NOTHING),
        "dest_place": fields.ObjectField("InstancePlace", nullable=True, default=base.NOTHING),
        "old_flavor": fields.ObjectField("Flavor"),
        "new_flavor": fields.ObjectField("Flavor"),
        "request_id": fields.StringField(),
        "user_id": fields.StringField(),
        "project_id": fields.StringField(),
        "created_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "updated_at": base.DateTimeField(nullable=True, default=base.NOTHING),
    }
