"""What the schedulers are told of the world beyond their own hosts and claims."""

from oslo_versionedobjects import fields

from roost.objects import base


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
