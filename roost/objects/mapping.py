"""Which cell a thing is in, and how a cell is reached."""

from oslo_versionedobjects import fields

from roost.objects import base

CELL0_UUID = "00000000-0000-0000-0000-000000000000"


@base.VersionedObjectRegistry.register
class CellMapping(base.RoostObject):
    """A cell and the way to its bus and database. cell0 has no bus."""

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "transport_url": fields.StringField(nullable=True),
        "database_url": fields.StringField(),
        "disabled": fields.BooleanField(),
    }

    @property
    def is_cell0(self) -> bool:
        return bool(self.uuid == CELL0_UUID)


@base.VersionedObjectRegistry.register
class HostMapping(base.RoostObject):
    """Which cell a host belongs to."""

    VERSION = "1.0"
    fields = {"host": fields.StringField(), "cell_uuid": fields.UUIDField()}


@base.VersionedObjectRegistry.register
class InstanceMapping(base.RoostObject):
    """Which cell an instance is in (None: not placed yet), and what it counts against quota.

    One that its user deleted, and may restore, counts against none since ``put_away_at``; ``turns``
    says how often it was put away and restored altogether.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "request_uuid": fields.UUIDField(),
        "cell_uuid": fields.UUIDField(nullable=True),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "vcpus": fields.IntegerField(),
        "memory_mb": fields.IntegerField(),
        "queued_for_delete": fields.BooleanField(),
        "put_away_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "turns": fields.IntegerField(default=0),
        "created_at": base.DateTimeField(),
    }
