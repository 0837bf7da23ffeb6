"""Server groups, aggregates, snapshot ranges and liveness, as sent to schedulers."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Aggregate(base.RoostObject):
    """Hosts, by name, and metadata; ``availability_zone`` there makes them a zone.

    Of two states of an aggregate the one with the higher ``version`` counts; a ``deleted`` one
    does not exist any more.
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
    RequestSpec leaves them out, since the schedulers have them. Of two states of a group the one
    with the higher ``version`` counts; a ``deleted`` one does not exist any more.
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
    """The range of a snapshot message, which has all uuids above ``after`` and up to ``until``.

    None leaves an end open. The receiver removes its entries in that range that are not in the
    message, unless they have a later ``version``.
    """

    VERSION = "1.0"
    fields = {
        "version": fields.IntegerField(),
        "after": fields.StringField(nullable=True, default=base.NOTHING),
        "until": fields.StringField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class CellLiveness(base.RoostObject):
    """The hosts of a cell that are up and down, as its conductors see them.

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
