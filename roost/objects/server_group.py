"""Servers that want to be together, or apart."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class ServerGroup(base.RoostObject):
    """Instances with one policy: affinity, anti-affinity, soft-affinity or soft-anti-affinity.

    ``max_server_per_host`` loosens anti-affinity (None: one). ``members`` are instance uuids; a
    RequestSpec leaves them out, since the schedulers know. Of two states of a group the one with
    the higher ``version`` counts; one that is ``deleted`` exists no more.
    """

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "name": fields.StringField(),
        "policy": fields.StringField(),
        "max_server_per_host": fields.IntegerField(nullable=True, default=base.NOTHING),
        "members": fields.ListOfStringsField(default=[]),
        "version": fields.IntegerField(default=0),
        "deleted": fields.BooleanField(default=False),
    }
