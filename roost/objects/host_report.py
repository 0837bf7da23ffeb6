"""What a host tells the scheduler of itself."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class HostReport(base.RoostObject):
    """Inventory and contents of one (host, node).

    Memory in MiB, disk in GiB. What may be given to instances of a resource is
    ``(total - reserved) * ratio``. ``instances`` are the uuids of all instances that the host holds
    or builds. Of two reports the one with the later ``reported_at`` counts.
    """

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "availability_zone": fields.StringField(),
        "enabled": fields.BooleanField(),
        "up": fields.BooleanField(),
        "vcpus": fields.IntegerField(),
        "memory_mb": fields.IntegerField(),
        "disk_gb": fields.IntegerField(),
        "vcpus_reserved": fields.IntegerField(),
        "memory_mb_reserved": fields.IntegerField(),
        "disk_gb_reserved": fields.IntegerField(),
        "vcpus_ratio": fields.FloatField(),
        "memory_mb_ratio": fields.FloatField(),
        "disk_gb_ratio": fields.FloatField(),
        "vcpus_used": fields.IntegerField(),
        "memory_mb_used": fields.IntegerField(),
        "disk_gb_used": fields.IntegerField(),
        "hypervisor_type": fields.StringField(),
        "hypervisor_version": fields.IntegerField(),
        "traits": fields.ListOfStringsField(),
        "instances": fields.ListOfStringsField(),
        "reported_at": base.DateTimeField(),
    }
