"""Flavors, images and key pairs."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class ImageMeta(base.RoostObject):
    """An image as its store describes it. Sizes in bytes, min_ram in MiB, min_disk in GiB.

    ``virtual_size`` is that of a disk created from the image; 0: unknown to the store.

    ``hash_algo`` is a name of hashlib's; it and ``hash_value`` are None where the store has no
    hash. A queued image has the size 0. A ``protected`` image cannot be deleted.
    """

    # 1.1: tags, protected
    # 1.2: virtual_size
    VERSION = "1.2"
    fields = {
        "id": fields.StringField(),
        "name": fields.StringField(),
        "status": fields.StringField(),
        "visibility": fields.StringField(),
        "owner": fields.StringField(nullable=True),
        "disk_format": fields.StringField(),
        "container_format": fields.StringField(),
        "size": fields.IntegerField(),
        "hash_algo": fields.StringField(nullable=True),
        "hash_value": fields.StringField(nullable=True),
        "min_ram": fields.IntegerField(),
        "min_disk": fields.IntegerField(),
        "properties": fields.DictOfStringsField(),
        "tags": fields.ListOfStringsField(default=[]),
        "protected": fields.BooleanField(default=False),
        "virtual_size": fields.IntegerField(default=0),
        "created_at": base.DateTimeField(),
        "updated_at": base.DateTimeField(),
    }


_MIB_PER_GIB: Final = 1024
_BYTES_PER_GIB: Final = 1024**3


@base.VersionedObjectRegistry.register
class Flavor(base.RoostObject):
    """A flavor. Memory and swap in MiB, disks in GiB."""

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
    """Return the GiB of a root disk; where the flavor has 0, the size that the image needs."""
    if flavor.root_gb or image is None:
        return int(flavor.root_gb)
    largest = max(image.size, image.virtual_size)
    return int(max(image.min_disk, -(-largest // _BYTES_PER_GIB)))


@base.VersionedObjectRegistry.register
class Keypair(base.RoostObject):
    """A key pair of a user, by its public key; Roost does not store the private key.

    ``type`` is ssh, with ``public_key`` as in authorized_keys, or x509, with a certificate in PEM.
    The database assigns ``id``. An instance has a copy, which outlives the key pair.
    """

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(nullable=True, default=base.NOTHING),
        "uuid": fields.UUIDField(),
        "user_id": fields.StringField(),
        "name": fields.StringField(),
        "type": fields.StringField(),
        "public_key": fields.StringField(),
        "fingerprint": fields.StringField(),
        "created_at": base.DateTimeField(),
    }
