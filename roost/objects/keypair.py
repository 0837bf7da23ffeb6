"""The key that a user logs into servers with."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Keypair(base.RoostObject):
    """A key pair of a user, by its public half; the private one is nowhere in the cloud.

    ``type`` is ssh, with ``public_key`` as in authorized_keys, or x509, with a certificate in PEM.
    ``id`` is given by the database. An instance has a copy, which outlives the key pair.
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
