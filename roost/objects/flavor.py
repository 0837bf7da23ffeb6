"""What a server is made of: the size that users choose by name."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.image_meta import ImageMeta

_MIB_PER_GIB: Final = 1024
_BYTES_PER_GIB: Final = 1024**3


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


def disk_gb(flavor: Flavor, image: ImageMeta | None) -> int:
    """Return the GiB of host disk that one server takes (swap rounded up)."""
    return root_gb(flavor, image) + int(flavor.ephemeral_gb + -(-flavor.swap // _MIB_PER_GIB))


def root_gb(flavor: Flavor, image: ImageMeta | None) -> int:
    """Return the GiB of a root disk; where the flavor does not say (0), what its image needs."""
    if flavor.root_gb or image is None:
        return int(flavor.root_gb)
    largest = max(image.size, image.virtual_size)
    return int(max(image.min_disk, -(-largest // _BYTES_PER_GIB)))
