"""What a neighbour (networks, volumes, bare metal) tells of one server."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base

VIF_PLUGGED: Final = "network-vif-plugged"
VIF_UNPLUGGED: Final = "network-vif-unplugged"
VIF_DELETED: Final = "network-vif-deleted"
NETWORK_CHANGED: Final = "network-changed"
VOLUME_EXTENDED: Final = "volume-extended"
POWER_UPDATE: Final = "power-update"
ACCELERATOR_BOUND: Final = "accelerator-request-bound"
VOLUME_REIMAGED: Final = "volume-reimaged"

COMPLETED: Final = "completed"
FAILED: Final = "failed"
IN_PROGRESS: Final = "in-progress"


@base.VersionedObjectRegistry.register
class ExternalEvent(base.RoostObject):
    """One thing that happened to an instance elsewhere.

    ``name`` is one of the words above; ``tag`` says to which of its parts: a port, a volume.
    """

    VERSION = "1.0"
    fields = {
        "name": fields.StringField(),
        "instance_uuid": fields.UUIDField(),
        "status": fields.StringField(),
        "tag": fields.StringField(nullable=True, default=base.NOTHING),
    }
