"""What a server is made of: the size that users choose by name."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Flavor(base.RoostObject):
    """A size. Memory and swap in MiB, disks in GiB."""

    VERSION = "1.0"
    fields = {
        "flavorid": fields.StringField(),
        "name": fields.StringField(),
        "vcpus": fields.IntegerField(),
        "memory_mb": fields.IntegerField(),
        "root_gb": fields.IntegerField(),
        "ephemeral_gb": fields.IntegerField(),
        "swap": fields.IntegerField(),
        "rxtx_factor": fields.FloatField(),
        "is_public": fields.BooleanField(),
        "disabled": fields.BooleanField(),
        "description": fields.StringField(nullable=True),
        "extra_specs": fields.DictOfStringsField(),
    }


def disk_gb(flavor: Flavor) -> int:
    """Return the GiB of host disk that one server of this flavor takes (swap rounded up)."""
    return int(flavor.root_gb + flavor.ephemeral_gb + -(-flavor.swap // 1024))
