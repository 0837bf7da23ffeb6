"""Why an instance is in ERROR."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class InstanceFault(base.RoostObject):
    """The latest fault of an instance: ``message`` for its user, ``details`` for an admin."""

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "code": fields.IntegerField(),
        "message": fields.StringField(),
        "details": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "created_at": base.DateTimeField(),
    }
