"""One server, as everything inside calls it."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Instance(base.RoostObject):
    """An instance: what was asked for, where it is, and in which state.

    ``attempt`` counts builds from 1; together with ``uuid`` it names one try on one host, so that a
    late or doubled message of an earlier try can be told apart. ``fault`` is set by readers that
    ask for it.
    """

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "reservation_id": fields.StringField(),
        "launch_index": fields.IntegerField(),
        "display_name": fields.StringField(),
        "display_description": fields.StringField(nullable=True),
        "hostname": fields.StringField(),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "key_name": fields.StringField(nullable=True),
        "user_data": fields.StringField(nullable=True),
        "config_drive": fields.BooleanField(),
        "metadata": fields.DictOfStringsField(),
        "tags": fields.ListOfStringsField(),
        "access_ip_v4": fields.StringField(nullable=True),
        "access_ip_v6": fields.StringField(nullable=True),
        "availability_zone": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "node": fields.StringField(nullable=True),
        "attempt": fields.IntegerField(),
        "vm_state": fields.StringField(),
        "task_state": fields.StringField(nullable=True),
        "power_state": fields.IntegerField(),
        "networks": fields.ListOfObjectsField("NetworkRequest"),
        "network_info": fields.ObjectField("NetworkInfo", nullable=True),
        "created_at": base.DateTimeField(),
        "updated_at": base.DateTimeField(nullable=True),
        "launched_at": base.DateTimeField(nullable=True),
        "deleted_at": base.DateTimeField(nullable=True),
        "fault": fields.ObjectField("InstanceFault", nullable=True),
    }
