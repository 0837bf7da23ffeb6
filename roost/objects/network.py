"""Requested networks, the interfaces of instances, and external events."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base

PHYSICAL_NETWORK: Final = "physical_network"  # the key of hosts' labels, as in physical_network=a


@base.VersionedObjectRegistry.register
class PortResources(base.RoostObject):
    """What a port needs of one provider of its host, such as bandwidth of a network card.

    ``group_id`` is the network service's name of it, ``amounts`` are by resource class, and the
    provider has the ``required`` traits. All of one port comes from one subtree of providers.
    ``provider_uuid``: that of the host where the port is bound.
    """

    VERSION = "1.0"
    fields = {
        "group_id": fields.StringField(),
        "port_id": fields.StringField(),
        "amounts": fields.DictOfIntegersField(),
        "required": fields.ListOfStringsField(default=[]),
        "provider_uuid": fields.UUIDField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class NetworkRequest(base.RoostObject):
    """One interface that a user requests; no network_id: any network that the project may use.

    ``security_groups`` are ids, for drivers with security groups. The request has name and ``cidr``
    of a local network that is not in the options of all daemons, and the address and ``mac`` of an
    existing local port (``port_id``). ``resources`` are what an existing port needs of its host.
    """

    # 1.1: resources
    VERSION = "1.1"
    fields = {
        "network_id": fields.StringField(nullable=True),
        "network_name": fields.StringField(nullable=True, default=base.NOTHING),
        "cidr": fields.StringField(nullable=True, default=base.NOTHING),
        "fixed_ip": fields.StringField(nullable=True),
        "port_id": fields.StringField(nullable=True),
        "mac": fields.StringField(nullable=True, default=base.NOTHING),
        "tag": fields.StringField(nullable=True),
        "security_groups": fields.ListOfStringsField(default=[]),
        "resources": fields.ListOfObjectsField("PortResources", default=[]),
    }


@base.VersionedObjectRegistry.register
class VifAddress(base.RoostObject):
    """One address of an interface, and the settings of its subnet for guests.

    ``routes`` are destination (CIDR) and next hop (plain address) each. ``ipv6_mode`` is Neutron's
    ``ipv6_address_mode``: how guests of an IPv6 subnet get their addresses (slaac,
    dhcpv6-stateless, dhcpv6-stateful). ``floating`` are the floating addresses of this one.
    """

    # 1.2: ipv6_mode
    VERSION = "1.2"
    fields = {
        "ip": fields.StringField(),
        "subnet_id": fields.StringField(),
        "cidr": fields.StringField(),
        "gateway": fields.StringField(nullable=True, default=base.NOTHING),
        "dns": fields.ListOfStringsField(default=[]),
        "routes": fields.ListOfDictOfNullableStringsField(default=[]),
        "dhcp": fields.BooleanField(default=True),
        "ipv6_mode": fields.StringField(nullable=True, default=base.NOTHING),
        "floating": fields.ListOfStringsField(default=[]),
    }


@base.VersionedObjectRegistry.register
class Vif(base.RoostObject):
    """One interface of one instance: a port, bound to the host that it is plugged on.

    ``ip``, ``cidr`` and ``gateway`` are those of the first of its ``addresses``; a port may have
    none, then they are empty. ``type``, ``details`` and ``profile`` are for the hypervisor, from
    the network service's binding of the port; values of the latter two are JSON. ``active``: the
    network service has wired the port. ``kept``: the user created the port; it outlives the server.
    ``key``: the mark with which it was attached, unless that is its id.
    """

    # 1.1: key
    VERSION = "1.1"
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
        "addresses": fields.ListOfObjectsField("VifAddress", default=[]),
        "mtu": fields.IntegerField(nullable=True, default=base.NOTHING),
        "type": fields.StringField(nullable=True, default=base.NOTHING),
        "vnic_type": fields.StringField(default="normal"),
        "details": fields.DictOfStringsField(default={}),
        "profile": fields.DictOfStringsField(default={}),
        "active": fields.BooleanField(default=True),
        "kept": fields.BooleanField(default=False),
        "key": fields.StringField(nullable=True, default=base.NOTHING),
    }

    def all_ips(self) -> list[tuple[str, bool]]:
        """Return all addresses of the interface, with whether each is a floating one."""
        if not self.addresses:  # rows of older releases have the first one only
            return [(self.ip, False)] if self.ip else []
        return [
            pair
            for one in self.addresses
            for pair in ((one.ip, False), *((ip, True) for ip in one.floating))
        ]


@base.VersionedObjectRegistry.register
class NetworkInfo(base.RoostObject):
    """All interfaces of one instance, in the order of the request."""

    VERSION = "1.0"
    fields = {"vifs": fields.ListOfObjectsField("Vif")}


VIF_PLUGGED: Final = "network-vif-plugged"
VIF_UNPLUGGED: Final = "network-vif-unplugged"
VIF_DELETED: Final = "network-vif-deleted"
NETWORK_CHANGED: Final = "network-changed"
VOLUME_EXTENDED: Final = "volume-extended"
POWER_UPDATE: Final = "power-update"
ACCELERATOR_BOUND: Final = "accelerator-request-bound"
VOLUME_REIMAGED: Final = "volume-reimaged"

COMPLETED: Final = "completed"
FAILED: Final = "failed"
IN_PROGRESS: Final = "in-progress"


@base.VersionedObjectRegistry.register
class ExternalEvent(base.RoostObject):
    """An event on an instance from another service.

    ``name`` is one of the names above; ``tag`` is the id of its port or volume.
    """

    VERSION = "1.0"
    fields = {
        "name": fields.StringField(),
        "instance_uuid": fields.UUIDField(),
        "status": fields.StringField(),
        "tag": fields.StringField(nullable=True, default=base.NOTHING),
    }
