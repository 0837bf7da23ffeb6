"""Networks that were asked for, and the interfaces that came of it."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class NetworkRequest(base.RoostObject):
    """One interface that a user asks for; no network_id: any network that the project may use."""

    VERSION = "1.0"
    fields = {
        "network_id": fields.StringField(nullable=True),
        "fixed_ip": fields.StringField(nullable=True),
        "port_id": fields.StringField(nullable=True),
        "tag": fields.StringField(nullable=True),
    }


@base.VersionedObjectRegistry.register
class Vif(base.RoostObject):
    """One interface of one instance: a port, bound to the host that it is plugged on."""

    VERSION = "1.0"
    fields = {
        "id": fields.StringField(),
        "network_id": fields.StringField(),
        "network_name": fields.StringField(),
        "mac": fields.StringField(),
        "ip": fields.StringField(),
        "cidr": fields.StringField(),
        "gateway": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "tag": fields.StringField(nullable=True),
    }


@base.VersionedObjectRegistry.register
class NetworkInfo(base.RoostObject):
    """All interfaces of one instance, in the order they were asked for."""

    VERSION = "1.0"
    fields = {"vifs": fields.ListOfObjectsField("Vif")}
