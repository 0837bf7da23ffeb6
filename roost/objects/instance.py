"""One server, as everything inside calls it."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class Instance(base.RoostObject):
    """An instance: what was asked for, where it is, and in which state.

    ``attempt`` counts builds from 1; together with ``uuid`` it names one try on one host, so that a
    late or doubled message of an earlier try can be told apart. ``keypair`` is that of ``key_name``
    as it was when the instance was asked for. ``numa_topology`` and ``pci`` are where it is on its
    node, as its claim there says. ``locked_by`` is "owner" for somebody of its project, "admin" for
    anybody else. ``fault`` and ``provisions`` are set by readers that ask for them; lists leave
    ``user_data`` None for whom it is not shown. ``disk_config`` is "AUTO" or "MANUAL".
    ``soft_deleted_at`` is since when it is put away; until it is reclaimed it can be restored.
    ``task_image`` is the image that the task under way is about, and goes with it.
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
        "keypair": fields.ObjectField("Keypair", nullable=True, default=base.NOTHING),
        "user_data": fields.StringField(nullable=True),
        "config_drive": fields.BooleanField(),
        "disk_config": fields.StringField(default="MANUAL"),
        "root_device_name": fields.StringField(nullable=True, default=base.NOTHING),
        "security_groups": fields.ListOfStringsField(default=["default"]),
        "trusted_certs": fields.ListOfStringsField(default=[]),
        "provisions": fields.ObjectField("Provisions", nullable=True, default=base.NOTHING),
        "metadata": fields.DictOfStringsField(),
        "tags": fields.ListOfStringsField(),
        "access_ip_v4": fields.StringField(nullable=True),
        "access_ip_v6": fields.StringField(nullable=True),
        "availability_zone": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "node": fields.StringField(nullable=True),
        "numa_topology": fields.ObjectField(
            "InstanceNUMATopology", nullable=True, default=base.NOTHING
        ),
        "pci": fields.ListOfObjectsField("PciAllocation", default=[]),
        "attempt": fields.IntegerField(),
        "vm_state": fields.StringField(),
        "task_state": fields.StringField(nullable=True),
        "task_image": fields.ObjectField("ImageMeta", nullable=True, default=base.NOTHING),
        "power_state": fields.IntegerField(),
        "locked": fields.BooleanField(default=False),
        "locked_by": fields.StringField(nullable=True, default=base.NOTHING),
        "locked_reason": fields.StringField(nullable=True, default=base.NOTHING),
        "networks": fields.ListOfObjectsField("NetworkRequest"),
        "network_info": fields.ObjectField("NetworkInfo", nullable=True),
        "created_at": base.DateTimeField(),
        "updated_at": base.DateTimeField(nullable=True),
        "launched_at": base.DateTimeField(nullable=True),
        "soft_deleted_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "deleted_at": base.DateTimeField(nullable=True),
        "fault": fields.ObjectField("InstanceFault", nullable=True),
    }
