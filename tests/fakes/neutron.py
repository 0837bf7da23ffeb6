"""A network proxy as openstacksdk has it, over plain lists: our side of Neutron is tested on it."""

import ipaddress
import types

import openstack.exceptions

from tests.builders import a_uuid


class Record(types.SimpleNamespace):
    """A port, network and so on, as openstacksdk shows it."""

    @property
    def security_group_ids(self):
        """Return what Neutron itself calls ``security_groups``."""
        return self.security_groups

    def to_dict(self, *, original_names):
        assert original_names
        return dict(vars(self))


class FakeNetwork:
    """``unbindable`` are hosts, ``slow`` networks whose ports do not work, ``strict`` those where
    nobody chooses addresses; ``trouble`` is raised by the next calls, where it is not None.
    """

    def __init__(self):
        self.all = {
            kind: []
            for kind in ("network", "subnet", "port", "group", "rule", "ip", "segment", "agent")
        }
        self.unbindable, self.slow, self.strict = set(), set(), set()
        self.limit = -1
        self.aliases = ["dns-integration", "port-security"]
        self.topology = None
        self.trouble = []
        self.resource_requests = {}  # of ports of a network
        self.calls = []

    def __call__(self):
        return self

    def _strike(self, name):
        self.calls.append(name)
        trouble = self.trouble.pop(0) if self.trouble else None
        if trouble is not None:
            raise trouble

    def a_network(self, name="private", *, cidr="10.0.0.0/24", **values):
        subnet = self._add("subnet", name=name, network_id=None, cidr=cidr, gateway_ip="10.0.0.1")
        subnet.segment_id = None
        subnet.dns_nameservers, subnet.is_dhcp_enabled = ["10.0.0.53"], False
        subnet.ipv6_address_mode = None
        subnet.host_routes = [{"destination": "10.1.0.0/16", "nexthop": "10.0.0.9"}]
        shown = {"subnet_ids": [subnet.id], "is_shared": False, "is_router_external": False}
        shown["is_port_security_enabled"] = True
        shown |= {"provider_physical_network": None, "segments": None}
        made = self._add(
            "network", name=name, mtu=1450, **{"project_id": "project", **shown, **values}
        )
        subnet.network_id = made.id
        return made

    def a_group(self, name="web", *, project_id="project", **values):
        """Make a group that lets one thing out."""
        made = self._add("group", name=name, project_id=project_id, **{"description": ""} | values)
        self.create_security_group_rule(
            security_group_id=made.id, direction="egress", ether_type="IPv4"
        )
        return made

    def _add(self, kind, **values):
        made = Record(id=values.pop("id", None) or a_uuid(), revision_number=1, **values)
        self.all[kind].append(made)
        return made

    def _list(self, kind, query):
        self._strike(kind)
        wanted = {name: v if isinstance(v, list) else [v] for name, v in query.items()}
        return [
            Record(**vars(one))
            for one in self.all[kind]
            if all(getattr(one, name) in values for name, values in wanted.items())
        ]

    def _get(self, kind, identity):
        self._strike(kind)
        for one in self.all[kind]:
            if one.id == identity:
                return one
        raise failure(404)

    def networks(self, **query):
        return self._list("network", query)

    def subnets(self, **query):
        return self._list("subnet", query)

    def security_groups(self, **query):
        return [self._with_rules(one) for one in self._list("group", query)]

    def _with_rules(self, group):
        rules = [vars(one) for one in self.all["rule"] if one.security_group_id == group.id]
        return Record(**vars(group), security_group_rules=rules)

    def get_security_group(self, identity):
        return self._with_rules(self._get("group", identity))

    def create_security_group(self, *, name, description, project_id):
        return self._with_rules(self.a_group(name, description=description, project_id=project_id))

    def update_security_group(self, identity, **changes):
        vars(self._get("group", identity)).update(changes)

    def delete_security_group(self, identity, *, ignore_missing):
        if any(identity in port.security_groups for port in self.all["port"]):
            raise failure(409, "SecurityGroupInUse", f"Security Group {identity} in use.")
        self._drop("group", identity, ignore_missing=ignore_missing)

    def get_security_group_rule(self, identity):
        return self._get("rule", identity)

    def create_security_group_rule(self, *, ether_type, **values):
        group = self._get("group", values["security_group_id"])
        nothing = ("protocol", "port_range_min", "port_range_max", "remote_ip_prefix")
        unsaid = dict.fromkeys((*nothing, "remote_group_id"))
        asked = {**unsaid, **values, "ethertype": ether_type}
        for one in self.all["rule"]:
            if asked.items() <= vars(one).items():
                raise failure(409, "SecurityGroupRuleExists", "Security group rule already exists.")
        return self._add("rule", project_id=group.project_id, **asked)

    def delete_security_group_rule(self, identity, *, ignore_missing):
        self._drop("rule", identity, ignore_missing=ignore_missing)

    def _drop(self, kind, identity, *, ignore_missing):
        kept = [one for one in self.all[kind] if one.id != identity]
        if len(kept) == len(self.all[kind]) and not ignore_missing:
            raise failure(404)
        self.all[kind] = kept

    def ports(self, *, fixed_ips=None, limit=None, fields=(), **query):
        """Yield them, as a page comes: each asks Neutron once more."""
        found = self._list("port", query)
        taken = fixed_ips and fixed_ips.removeprefix("ip_address=")
        for number, one in enumerate(found):
            if limit and number and number % limit == 0:
                self._strike("port")
            if not taken or taken in str(one.fixed_ips):
                yield one

    def ips(self, **query):
        """Return floating IPs."""
        return self._list("ip", query)

    def get_ip(self, identity):
        return self._get("ip", identity)

    def create_ip(self, *, floating_network_id):
        (subnet,) = [s for s in self.all["subnet"] if s.network_id == floating_network_id]
        taken = {one.floating_ip_address for one in self.all["ip"]}
        free = [str(ip) for ip in ipaddress.ip_network(subnet.cidr).hosts() if str(ip) not in taken]
        if not free:
            raise failure(409, "IpAddressGenerationFailure")
        return self._add(
            "ip",
            floating_network_id=floating_network_id,
            floating_ip_address=free[0],
            project_id="project",
            port_id=None,
            fixed_ip_address=None,
        )

    def update_ip(self, identity, *, port_id, fixed_ip_address=None):
        found = self._get("ip", identity)
        found.port_id, found.fixed_ip_address = port_id, fixed_ip_address

    def delete_ip(self, identity, *, ignore_missing):
        self._drop("ip", identity, ignore_missing=ignore_missing)

    def a_floating_ip(self, port, address="203.0.113.5", *, fixed=None):
        """Let an address lead to a port, by its first address unless ``fixed`` says by which."""
        return self._add(
            "ip",
            floating_ip_address=address,
            port_id=port.id,
            fixed_ip_address=fixed or port.fixed_ips[0]["ip_address"],
        )

    def get_network(self, identity):
        return self._get("network", identity)

    def get_subnet(self, identity):
        return self._get("subnet", identity)

    def get_segment(self, identity):
        return self._get("segment", identity)

    def agents(self, *, host):
        return self._list("agent", {"host": host})

    def get_port(self, identity):
        return Record(**vars(self._get("port", identity)))

    def get_quota(self, _project, *, details):
        self._strike("quota")
        used = len(self.all["port"])
        return Record(ports={"limit": self.limit, "used": used, "reserved": 0})

    def get_auto_allocated_topology(self, _project):
        if self.topology is None:
            raise failure(404)
        return Record(id=self.topology)

    def extensions(self):
        return [Record(alias=alias) for alias in self.aliases]

    def create_port(self, **values):
        network = self._get("network", values["network_id"])
        (subnet,) = [one for one in self.all["subnet"] if one.network_id == network.id]
        taken = {one.fixed_ips[0]["ip_address"] for one in self.all["port"] if one.fixed_ips}
        free = (str(ip) for ip in ipaddress.ip_network(subnet.cidr).hosts() if str(ip) not in taken)
        (asked,) = values.pop("fixed_ips", [{"ip_address": None}])
        if asked["ip_address"]:
            self._judge_address(network, subnet, asked["ip_address"], taken)
        address = {"subnet_id": subnet.id, "ip_address": asked["ip_address"] or next(free)}
        defaults = {
            "description": "",
            "device_id": "",
            "device_owner": "",
            "binding_host_id": "",
            "binding_profile": {},
            "binding_vnic_type": "normal",
            "ip_allocation": "immediate",
            "is_port_security_enabled": network.is_port_security_enabled,
            "security_groups": [],
            "qos_policy_id": None,
            "qos_network_policy_id": None,
            "resource_request": self.resource_requests.get(network.id),
            "mac_address": f"fa:16:3e:00:00:{len(self.all['port']):02x}",
        }
        made = self._add("port", fixed_ips=[address], **{**defaults, **values})
        return self._bind(made)

    def _judge_address(self, network, subnet, address, taken):
        if network.id in self.strict:
            raise failure(403, "PolicyNotAuthorized", "(rule:create_port) is disallowed by policy")
        if ipaddress.ip_address(address) not in ipaddress.ip_network(subnet.cidr):
            raise failure(400, "InvalidIpForNetwork")
        if address in taken:
            raise failure(409, "IpAddressInUse")

    def update_port(self, port, *, if_revision=None, **changes):
        self._strike("update")
        found = self._get("port", getattr(port, "id", port))
        if if_revision not in (None, found.revision_number):
            raise failure(412)
        found.revision_number += 1
        vars(found).update(changes)
        return self._bind(found)

    def delete_port(self, identity, *, ignore_missing, if_revision=None):
        self._strike("delete")
        revisions = {one.id: one.revision_number for one in self.all["port"]}
        if if_revision not in (None, revisions.get(identity)):
            raise failure(412)
        self._drop("port", identity, ignore_missing=ignore_missing)

    def port_bindings(self, port_id, **query):
        """Yield the bindings of a port: that which works first."""
        self._strike("bindings")
        port = self._get("port", port_id)
        active = Record(host=port.binding_host_id, vif_type=port.binding_vif_type, status="ACTIVE")
        for one in (active, *vars(port).get("others", ())):
            if query.get("host", one.host) == one.host:
                yield one

    def create_port_binding(self, port_id, *, host, vnic_type, profile):
        self._strike("create binding")
        port = self._get("port", port_id)
        if any(self.port_bindings(port_id, host=host)):
            raise failure(409)
        kind = "binding_failed" if host in self.unbindable else "tap"
        made = Record(host=host, vnic_type=vnic_type, vif_type=kind, status="INACTIVE")
        made.profile, made.vif_details = profile, {"port_filter": False}
        port.others = [*vars(port).get("others", ()), made]
        return made

    def activate_port_binding(self, port_id, host):
        """Let the binding on a host be that which works; None: there is none."""
        self._strike("activate binding")
        port = self._get("port", port_id)
        chosen = next((one for one in vars(port).get("others", ()) if one.host == host), None)
        if chosen is None:
            return None
        before = Record(host=port.binding_host_id, vif_type="tap", status="INACTIVE")
        before.profile, before.vif_details = port.binding_profile, port.binding_vif_details
        port.others = [one for one in port.others if one is not chosen] + [before]
        port.binding_host_id, port.binding_profile = host, chosen.profile
        self._bind(port)
        return chosen

    def delete_port_binding(self, port_id, host):
        self._strike("delete binding")
        port = self._get("port", port_id)
        port.others = [one for one in port.others if one.host != host]

    def _bind(self, port):
        host = port.binding_host_id
        broken = host in self.unbindable
        port.binding_vif_type = "binding_failed" if broken else "tap" if host else "unbound"
        port.binding_vif_details = {"port_filter": False}
        works = host and not broken and port.network_id not in self.slow
        port.status = "ACTIVE" if works else "DOWN"
        return Record(**vars(port))


def failure(status, kind="", message="no"):
    """Return what openstacksdk raises for an answer of Neutron's."""
    answer = Record(
        status_code=status,
        headers={},
        text=message,
        reason=message,
        url="http://neutron",
        request=Record(method="GET", url="http://neutron"),
        json=lambda: {"NeutronError": {"type": kind, "message": message}},
    )
    kinds = {
        404: openstack.exceptions.NotFoundException,
        409: openstack.exceptions.ConflictException,
        412: openstack.exceptions.PreconditionFailedException,
    }
    return kinds.get(status, openstack.exceptions.HttpException)(message, response=answer)
