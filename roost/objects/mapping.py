"""Cell mappings, and the cells of hosts and instances."""

from oslo_versionedobjects import fields

from roost.objects import base

CELL0_UUID = "00000000-0000-0000-0000-000000000000"


@base.VersionedObjectRegistry.register
class CellMapping(base.RoostObject):
    """A cell, with the URLs of its bus and database. cell0 has no bus."""

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
    """The cell of a host."""

    VERSION = "1.0"
    fields = {"host": fields.StringField(), "cell_uuid": fields.UUIDField()}


@base.VersionedObjectRegistry.register
class InstanceMapping(base.RoostObject):
    """The cell of an instance (None: not scheduled yet), and its quota usage.

    A soft-deleted instance, which its user may restore, uses no quota since ``put_away_at``.
    ``operation_uuid``: the soft delete, or else the restore, that its cell may not have begun yet.
    ``withdrawn``: it was deleted before it was in a cell, and is to be shown to nobody.
    """

    # 1.1: withdrawn
    VERSION = "1.1"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "request_uuid": fields.UUIDField(),
        "cell_uuid": fields.UUIDField(nullable=True),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "vcpus": fields.IntegerField(),
        "memory_mb": fields.IntegerField(),
        "queued_for_delete": fields.BooleanField(),
        "withdrawn": fields.BooleanField(default=False),
        "put_away_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "operation_uuid": fields.UUIDField(nullable=True, default=base.NOTHING),
        "created_at": base.DateTimeField(),
    }
