"""Payloads of the notifications that conductors send."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class DestinationsPayload(base.RoostObject):
    """A request to the scheduler, and its answer: a host per instance, or why there is none.

    ``refusals`` has the verdict of each filter, in order.
    """

    VERSION = "1.0"
    fields = {
        "request_spec": fields.ObjectField("RequestSpec"),
        "instance_uuids": fields.ListOfStringsField(),
        "selections": fields.ListOfObjectsField("Selection"),
        "reason": fields.StringField(nullable=True),
        "refusals": fields.ListOfObjectsField("FilterVerdict", default=[]),
    }


@base.VersionedObjectRegistry.register
class BuildPayload(base.RoostObject):
    """A failed build: its last host, and why it failed."""

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "attempt": fields.IntegerField(),
        "host": fields.StringField(nullable=True),
        "reason": fields.StringField(),
    }
