"""The persisted wish for one instance, before a cell is known."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class BuildRequest(base.RoostObject):
    """One wished-for instance. Those of one POST share ``request_uuid`` and its RequestSpec.

    ``cell_uuid`` is where somebody began to create it: that cell may have it already.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "request_uuid": fields.UUIDField(),
        "request_id": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "instance": fields.ObjectField("Instance"),
        "cell_uuid": fields.UUIDField(nullable=True, default=base.NOTHING),
        "created_at": base.DateTimeField(),
    }
