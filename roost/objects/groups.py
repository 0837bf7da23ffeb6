"""Server groups, aggregates, and what else schedulers get beyond their own hosts and claims."""

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


@base.VersionedObjectRegistry.register
class SnapshotRange(base.RoostObject):
    """Says that a message has everything whose uuid is above ``after`` and up to ``until``.

    None leaves an end open. Whatever the receiver knows in that range and does not find in the
    message is gone, unless it is of a later ``version`` than this look.
    """

    VERSION = "1.0"
    fields = {
        "version": fields.IntegerField(),
        "after": fields.StringField(nullable=True, default=base.NOTHING),
        "until": fields.StringField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class CellLiveness(base.RoostObject):
    """Which hosts of a cell are up and which are down, as its conductors see it.

    With ``whole``, every host of the cell is in one of the lists; otherwise those that changed. Of
    two messages the one with the higher ``version`` (microseconds since the epoch) counts.
    """

    VERSION = "1.0"
    fields = {
        "cell_uuid": fields.UUIDField(),
        "version": fields.IntegerField(),
        "whole": fields.BooleanField(),
        "up": fields.ListOfStringsField(default=[]),
        "down": fields.ListOfStringsField(default=[]),
    }
