"""A real Neutron on loopback: one's own, made in a moment of what is installed once.

With a Keystone it believes whom that knows, else everybody is its administrator. It has no agents,
see ``roost.rig.openstack.mechanism``.
"""

import datetime
import json
import sqlite3
import uuid

import requests

from roost.rig.openstack import services
from roost.rig.openstack.plan import NEUTRON
from tests.external.process import Process

# What takes the role "service" in earnest; without Keystone nobody has one.
_POLICY = """\
"create_port:binding:profile": "@"
"update_port:binding:profile": "@"
"get_port_binding": "@"
"create_port_binding": "@"
"delete_port_binding": "@"
"activate": "@"
"""
# Quality of service, and the driver of agents beside that of the rig: agents are rows only.
_QUALITY = """
[DEFAULT]
service_plugins = router,auto_allocate,qos,segments
agent_down_time = 2147483
[ml2]
type_drivers = local,flat
mechanism_drivers = any_host,openvswitch
extension_drivers = port_security,qos
[ml2_type_flat]
flat_networks = *
"""
SLOW = "slow"  # how the names of networks begin whose ports do not work until somebody says so


class Neutron(Process):
    """A Neutron of one's own; use it in a ``with`` block.

    :param installed: the folder of ``roost.rig.openstack.packages``
    :param folder: for its database and log
    :param compute: where it tells of its ports
    :param keystone: who judges tokens, asked as the user ``neutron``; None: nobody does
    """

    def __init__(self, installed, folder, *, port, compute, keystone=None):
        self.url = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._keystone = keystone
        nobody = {"auth_type": "admin_token", "token": "admin:ops", "endpoint": compute}
        services.prepare_neutron(
            installed,
            folder,
            judging=keystone.judging(NEUTRON) if keystone else None,
            compute=keystone.credentials(NEUTRON) if keystone else nobody,
        )
        (folder / "policy.yaml").write_text("" if keystone else _POLICY)
        with (folder / "neutron.conf").open("a") as options:
            options.write(_QUALITY)
        self.bind_all_but()
        super().__init__(installed, NEUTRON, port, folder)

    def _ask(self, method, path, **more):
        """Ask as an administrator."""
        headers = {"X-Auth-Token": self._keystone.admin.get_token()} if self._keystone else {}
        return requests.request(
            method, f"{self.url}/v2.0/{path}", headers=headers, timeout=30, **more
        )

    def bind_all_but(self, *hosts):
        """Let ports be bound to any host but these."""
        faults = {"unbindable": hosts, "slow": [SLOW]}
        (self._folder / "faults.json").write_text(json.dumps(faults))

    def add_agent(self, host, **settings):
        """Let Neutron know an agent of Open vSwitch on a host, as if it had reported."""
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        values = {
            "id": str(uuid.uuid4()),
            "agent_type": "Open vSwitch agent",
            "binary": "neutron-openvswitch-agent",
            "topic": "N/A",
            "host": host,
            **dict.fromkeys(("created_at", "started_at", "heartbeat_timestamp"), now),
            "configurations": json.dumps(settings),
        }
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        with sqlite3.connect(self._folder / "neutron.sqlite", timeout=60) as database:
            database.execute(f"INSERT INTO agents ({columns}) VALUES ({marks})", [*values.values()])

    def routed_network(self, name, *physical_networks):
        """Make a network with a flat segment and a subnet (10.20.N.0/24) per physical network.

        Neutron finds their hosts by the mappings of agents.
        """
        network = None
        for number, physical in enumerate(physical_networks):
            where = {"network_type": "flat", "physical_network": physical}
            if network is None:
                provider = {f"provider:{key}": value for key, value in where.items()}
                network = self.make("network", name=name, project_id="admin", **provider)["id"]
                (segment,) = self.list("segment", network_id=network)
            else:
                segment = self.make("segment", network_id=network, **where)
            self.make(
                "subnet",
                network_id=network,
                segment_id=segment["id"],
                project_id="admin",
                ip_version=4,
                cidr=f"10.20.{number}.0/24",
                enable_dhcp=False,
            )
        return network

    def minimum_bandwidth(self, kbps, *, packets=None):
        """Make a policy of so much egress bandwidth and packets (kpps), and return its id."""
        policy = self.make("policy", at="qos/policies", name="quality", project_id="admin")["id"]
        rules = {"minimum_bandwidth_rule": {"min_kbps": kbps, "direction": "egress"}}
        if packets:
            rules["minimum_packet_rate_rule"] = {"min_kpps": packets, "direction": "any"}
        for kind, values in rules.items():
            self.make(kind, at=f"qos/policies/{policy}/{kind}s", **values)
        return policy

    def make(self, kind, *, at=None, **values):
        """Make a thing, and return it as Neutron shows it; ``at`` is its path, if not its name."""
        name = kind.replace("-", "_")
        answer = self._ask("POST", at or f"{kind}s", json={name: values})
        assert answer.status_code == 201, answer.text
        return answer.json()[name]

    def show(self, kind, identity):
        """Return a thing, None when it is gone."""
        answer = self._ask("GET", f"{kind}s/{identity}")
        return answer.json()[kind] if answer.ok else None

    def list(self, kind, **query):
        name = kind.replace("-", "_")
        return self._ask("GET", f"{kind}s", params=query).json()[f"{name}s"]

    def bound_to(self, port_id):
        """Return the hosts that a port has bindings on."""
        bindings = self._ask("GET", f"ports/{port_id}/bindings").json()["bindings"]
        return [one["host"] for one in bindings]

    def delete(self, kind, identity):
        self._ask("DELETE", f"{kind}s/{identity}")

    def change(self, kind, identity, **values):
        answer = self._ask("PUT", f"{kind}s/{identity}", json={kind: values})
        assert answer.ok, answer.text

    def join(self, how, router, subnet):
        """Let a router have a subnet (``how``: add), or have it no more (remove)."""
        path = f"routers/{router}/{how}_router_interface"
        answer = self._ask("PUT", path, json={"subnet_id": subnet})
        assert answer.ok, answer.text

    def limit(self, project, **quota):
        answer = self._ask("PUT", f"quotas/{project}", json={"quota": quota})
        assert answer.ok, answer.text

    def network(self, name, project="admin", *, cidr="10.9.0.0/24", **values):
        """Make a network with one subnet, and return its id."""
        made = self.make("network", name=name, project_id=project, **values)["id"]
        self.make(
            "subnet",
            network_id=made,
            project_id=project,
            ip_version=4,
            cidr=cidr,
            enable_dhcp=False,
            dns_nameservers=["10.9.0.53"],
        )
        return made
