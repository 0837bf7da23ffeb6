"""What was asked of an instance, and the steps it took."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class InstanceActionEvent(base.RoostObject):
    """One step of an action: its name, who did it where, when, and how it went.

    ``result`` is Success or Error; ``details`` says why it failed, in words for the user.
    """

    VERSION = "1.0"
    fields = {
        "event": fields.StringField(),
        "host": fields.StringField(nullable=True),
        "start_time": base.DateTimeField(),
        "finish_time": base.DateTimeField(nullable=True),
        "result": fields.StringField(nullable=True),
        "details": fields.StringField(nullable=True),
    }


@base.VersionedObjectRegistry.register
class InstanceAction(base.RoostObject):
    """One request on an instance, with its events in order of their start."""

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "action": fields.StringField(),
        "request_id": fields.StringField(),
        "user_id": fields.StringField(nullable=True),
        "project_id": fields.StringField(nullable=True),
        "start_time": base.DateTimeField(),
        "finish_time": base.DateTimeField(nullable=True),
        "updated_at": base.DateTimeField(nullable=True),
        "message": fields.StringField(nullable=True),
        "events": fields.ListOfObjectsField("InstanceActionEvent"),
    }
