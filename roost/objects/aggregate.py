"""Hosts that an operator put together, and what is said of them all."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Aggregate(base.RoostObject):
    """Some hosts, by name, and metadata; ``availability_zone`` there makes them a zone.

    Of two states of an aggregate the one with the higher ``version`` counts; one that is
    ``deleted`` exists no more.
    """

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(),
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "hosts": fields.ListOfStringsField(default=[]),
        "metadata": fields.DictOfStringsField(default={}),
        "version": fields.IntegerField(default=0),
        "deleted": fields.BooleanField(default=False),
        "created_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "updated_at": base.DateTimeField(nullable=True, default=base.NOTHING),
    }
