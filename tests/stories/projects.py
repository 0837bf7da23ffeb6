"""A project as its users see it: whatever they ask for by HTTP, in its name."""

import base64
import contextlib

import requests

from tests.stories.cloud import wait_until


class Project:
    """Asks in the name of one project, and takes its servers away at the end."""

    def __init__(self, cloud, name):
        self._cloud = cloud
        self._session = requests.Session()
        self._session.headers["X-Auth-Token"] = f"user:{name}"
        self._session.headers["OpenStack-API-Version"] = "compute 2.90"
        self._root = cloud.client.endpoint.removesuffix("/v2.1")

    def ask(self, method, path, body=None):
        """Ask the compute API, or the network API where the path says so."""
        place = self._root if path.startswith("/network") else self._cloud.client.endpoint
        answer = self._session.request(method, place + path, json=body, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def network(self, cidr):
        """Make a network of the project's own, and return its id."""
        made = self.ask("POST", "/network/v2.0/networks", {"network": {"name": "own"}})["network"]
        subnet = {"network_id": made["id"], "cidr": cidr, "ip_version": 4, "gateway_ip": None}
        self.ask("POST", "/network/v2.0/subnets", {"subnet": subnet})
        return made["id"]

    def group(self, name):
        """Make a security group, and return its id."""
        body = {"security_group": {"name": name}}
        return self.ask("POST", "/network/v2.0/security-groups", body)["security_group"]["id"]

    def default_group(self):
        (found,) = [
            group["id"]
            for group in self.ask("GET", "/network/v2.0/security-groups")["security_groups"]
            if group["name"] == "default"
        ]
        return found

    def let_in(self, group_id, **values):
        """Add a rule to a group, and return its id."""
        rule = {"security_group_id": group_id, "direction": "ingress", "ethertype": "IPv4"}
        body = {"security_group_rule": rule | values}
        made = self.ask("POST", "/network/v2.0/security-group-rules", body)
        return made["security_group_rule"]["id"]

    def take_away(self, rule_id):
        self.ask("DELETE", f"/network/v2.0/security-group-rules/{rule_id}")

    def boot(self, network_id, address, script, *, group="default"):
        """Boot a server at an address whose guest runs a script; return its id."""
        body = {
            "name": "server",
            "flavorRef": self._cloud.flavor,
            "imageRef": self._cloud.image,
            "networks": [{"uuid": network_id, "fixed_ip": address}],
            "security_groups": [{"name": group}],
            "user_data": base64.b64encode(f"{script}\n".encode()).decode(),
        }
        return self.ask("POST", "/servers", {"server": body})["server"]["id"]

    def console(self, server_id):
        """Return what a guest has said; nothing while it is not there."""
        with contextlib.suppress(requests.HTTPError):
            asked = {"os-getConsoleOutput": {}}
            return self.ask("POST", f"/servers/{server_id}/action", asked)["output"]
        return ""

    def delete_all(self):
        for server in self.ask("GET", "/servers")["servers"]:
            self.ask("DELETE", f"/servers/{server['id']}")
        wait_until(lambda: not self.ask("GET", "/servers")["servers"], "servers gone")
