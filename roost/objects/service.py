"""A daemon that says it is alive."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Service(base.RoostObject):
    """A daemon on a host, as its heartbeats tell."""

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "host": fields.StringField(),
        "binary": fields.StringField(),
        "availability_zone": fields.StringField(nullable=True),
        "disabled": fields.BooleanField(),
        "disabled_reason": fields.StringField(nullable=True),
        "forced_down": fields.BooleanField(),
        "created_at": base.DateTimeField(),
        "last_seen_up": base.DateTimeField(),
    }
