"""A daemon that says it is alive."""

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.versions import version_at


@base.VersionedObjectRegistry.register
class Service(base.RoostObject):
    """A daemon on a host, as its heartbeats tell.

    ``disabled_at`` is when it was last disabled or enabled. All times are by its database's clock.
    """

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "host": fields.StringField(),
        "binary": fields.StringField(),
        "availability_zone": fields.StringField(nullable=True),
        "disabled": fields.BooleanField(),
        "disabled_reason": fields.StringField(nullable=True),
        "disabled_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "forced_down": fields.BooleanField(),
        "created_at": base.DateTimeField(),
        "last_seen_up": base.DateTimeField(),
    }

    @property
    def disabled_version(self) -> int:
        """Which of two words on whether it is disabled counts: the higher one. 0: none was said."""
        at = self.disabled_at
        return 0 if at is None else version_at(at)
