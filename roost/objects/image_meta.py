"""What a server boots from."""

import json
from typing import Self

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class ImageMeta(base.RoostObject):
    """An image as its store describes it. Sizes in bytes, min_ram in MiB, min_disk in GiB.

    ``virtual_size`` is that of the disk which the image becomes; 0: the store does not know it.

    ``hash_algo`` is a name that hashlib knows; both are None where the store has no hash of it. An
    image whose data is yet to come has the size 0. One that is ``protected`` is not deleted.
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

    def note(self) -> str:
        """Return a text that says all of it, for whoever keeps something that was made of it."""
        return json.dumps(self.obj_to_primitive(), separators=(",", ":"))

    @classmethod
    def from_note(cls, text: str) -> Self:
        return cls.obj_from_primitive(json.loads(text))
