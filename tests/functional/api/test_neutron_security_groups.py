"""Security groups of Neutron, in the words of Compute and on its servers."""

import dataclasses
import types

import pytest

from roost.api.app import make_app
from roost.api.networking.neutron import NeutronNetworking
from tests.api_harness import ALICE, Client
from tests.builders import CELL1, a_uuid
from tests.fakes.neutron import FakeNetwork, failure

GROUPS, RULES = "/v2.1/os-security-groups", "/v2.1/os-security-group-rules"
BOB = "bob:other"
SSH = {"ip_protocol": "tcp", "from_port": 22, "to_port": 22}


class BusyNetwork(FakeNetwork):
    """Somebody else changes a port just before us, ``others`` times."""

    others = 0

    def update_port(self, port, **changes):
        if self.others:
            self.others -= 1
            found = self._get("port", port)
            found.security_groups = [*found.security_groups, self.a_group().id]
            found.revision_number += 1
        return super().update_port(port, **changes)


@pytest.fixture
def neutron():
    return BusyNetwork()


@pytest.fixture
def ask(world, neutron):
    networking = NeutronNetworking(
        types.SimpleNamespace(of_user=lambda _context: neutron, ours=neutron)
    )
    client = Client(make_app(dataclasses.replace(world.parts, networking=networking)))

    def ask(method, path, body=None, *, token=ALICE, version="2.35", **more):
        more |= {} if body is None else {"json": body}
        return client.ask(method, path, token=token, version=version, **more)

    return ask


@pytest.fixture
def server(world, neutron):
    """A server that runs, with two ports in the group ``base``."""
    uuid = world.place(CELL1, uuid=a_uuid(), project_id="project", host="h1").uuid
    network, base = neutron.a_network(), neutron.a_group("base")
    for _ in range(2):
        neutron.create_port(network_id=network.id, device_id=uuid, security_groups=[base.id])
    return uuid


@pytest.fixture
def act(ask, server):
    def act(action, name, token=ALICE):
        body = {action: {"name": name}}
        return ask("POST", f"/v2.1/servers/{server}/action", body, token=token)

    return act


def groups_of_ports(neutron):
    return [set(port.security_groups) for port in neutron.all["port"]]


def test_groups_are_neutrons_own(ask, neutron):
    words = {"name": "web", "description": "front"}
    made = ask("POST", GROUPS, {"security_group": words}).json["security_group"]
    (kept,) = neutron.all["group"]
    assert (kept.id, kept.name, kept.project_id) == (made["id"], "web", "project")
    path = f"{GROUPS}/{made['id']}"
    assert ask("GET", path).json["security_group"] == made
    assert ask("GET", GROUPS).json["security_groups"] == [made]
    changed = ask("PUT", path, {"security_group": {**words, "name": "www"}})
    assert changed.json["security_group"]["name"] == kept.name == "www"
    assert ask("DELETE", path).status_code == 202
    assert neutron.all["group"] == []
    assert ask("GET", path).status_code == 404


def test_groups_of_others_are_not_there(ask, neutron):
    theirs = neutron.a_group(project_id="other")
    path = f"{GROUPS}/{theirs.id}"
    words = {"security_group": {"name": "mine", "description": ""}}
    for method, more in (("GET", ()), ("PUT", (words,)), ("DELETE", ())):
        assert ask(method, path, *more).status_code == 404
    assert ask("GET", GROUPS).json["security_groups"] == []
    for query, number in (("", 0), ("all_tenants=1", 1)):
        listed = ask("GET", GROUPS, token="admin:ops", query_string=query)
        assert len(listed.json["security_groups"]) == number
    assert neutron.all["group"] == [theirs]


def test_rules_are_neutrons_own(ask, neutron):
    web, db = neutron.a_group(), neutron.a_group("db")
    asked = {"parent_group_id": web.id, "group_id": db.id}
    made = ask("POST", RULES, {"security_group_rule": asked}).json["security_group_rule"]
    assert made["group"] == {"name": "db", "tenant_id": "project"}
    ssh = {"security_group_rule": {"parent_group_id": web.id, **SSH}}
    told = ask("POST", RULES, ssh).json["security_group_rule"]
    kept = neutron.all["rule"][-1]
    assert (kept.id, kept.direction, kept.remote_ip_prefix) == (told["id"], "ingress", "0.0.0.0/0")
    shown = ask("GET", f"{GROUPS}/{web.id}").json["security_group"]
    listed = ask("GET", GROUPS).json["security_groups"][0]
    assert shown["rules"] == listed["rules"] == [made, told]
    assert ask("POST", RULES, ssh).status_code == 400
    assert ask("DELETE", f"{RULES}/{told['id']}", token=BOB).status_code == 404
    assert ask("DELETE", f"{RULES}/{told['id']}").status_code == 202
    assert kept not in neutron.all["rule"]
    assert ask("DELETE", f"{RULES}/{told['id']}").status_code == 404


def test_neutrons_refusals_are_told(ask, neutron, server):
    (base,) = neutron.all["group"]
    answer = ask("DELETE", f"{GROUPS}/{base.id}")
    assert answer.json["badRequest"]["message"] == f"Security Group {base.id} in use."
    neutron.trouble = [failure(409, "OverQuota")]
    assert ask("GET", f"{GROUPS}/{base.id}").status_code == 403
    neutron.trouble = [failure(503)]
    assert ask("GET", f"{GROUPS}/{base.id}").status_code == 503


def test_a_servers_groups_are_those_of_its_ports(ask, neutron, server):
    told = ask("GET", f"/v2.1/servers/{server}/os-security-groups", version="2.96").json
    assert [one["name"] for one in told["security_groups"]] == ["base"]


def test_a_running_server_joins_a_group_with_all_its_ports_and_leaves_it(
    world, ask, act, neutron, server
):
    web, (base, *_) = neutron.a_group(), neutron.all["group"]
    assert act("addSecurityGroup", "web").status_code == 202
    assert groups_of_ports(neutron) == [{base.id, web.id}] * 2
    assert set(world.instance(server).security_groups) == {"base", "web"}
    assert act("addSecurityGroup", web.id).status_code == 202
    assert act("removeSecurityGroup", web.id).status_code == 202
    assert groups_of_ports(neutron) == [{base.id}] * 2
    assert world.instance(server).security_groups == ["base"]
    assert act("removeSecurityGroup", "base").status_code == 202
    assert groups_of_ports(neutron) == [set(), set()]
    shown = ask("GET", f"/v2.1/servers/{server}").json["server"]
    assert "security_groups" not in shown


def test_groups_that_are_not_there_are_told_so(act, neutron, server):
    neutron.a_group("theirs", project_id="other")
    neutron.a_group("mine")
    for name in ("nobodys", "theirs"):
        answer = act("addSecurityGroup", name)
        assert answer.json["itemNotFound"]["message"] == f"Security group {name} not found."
    told = f"Security group mine not associated with the instance {server}"
    assert act("removeSecurityGroup", "mine").json["itemNotFound"]["message"] == told
    neutron.a_group("twin")
    neutron.a_group("twin")
    assert act("addSecurityGroup", "twin").status_code == 409


def test_ports_without_port_security_are_left_as_they_are(act, neutron, server):
    web, (first, second) = neutron.a_group(), neutron.all["port"]
    first.is_port_security_enabled = False
    assert act("addSecurityGroup", "web").status_code == 202
    assert (web.id in first.security_groups, web.id in second.security_groups) == (False, True)
    second.fixed_ips = []
    refused = act("addSecurityGroup", "web").json["badRequest"]["message"]
    assert refused.startswith("Network requires port_security_enabled")


def test_what_others_change_of_a_port_meanwhile_stays(act, neutron, server):
    web, neutron.others = neutron.a_group(), 3
    assert act("addSecurityGroup", web.id).status_code == 202
    assert [len(groups) for groups in groups_of_ports(neutron)] == [5, 2]
    assert all(web.id in groups for groups in groups_of_ports(neutron))


def test_a_port_that_others_change_all_the_time_is_given_up(act, neutron, server):
    web, neutron.others = neutron.a_group(), 99
    assert act("addSecurityGroup", web.id).status_code == 409


def test_a_new_server_is_answered_with_its_groups_as_they_were_asked_for(ask, neutron):
    neutron.a_network()
    web = neutron.a_group()
    body = {"name": "a", "flavorRef": "1", "imageRef": "cccccccc-cccc-4ccc-8ccc-cccccccccccc"}
    body["security_groups"] = [{"name": web.id}]
    made = ask("POST", "/v2.1/servers", {"server": body}).json["server"]
    assert made["security_groups"] == [{"name": web.id}]
    body["security_groups"] = [{"name": "nobodys"}]
    assert ask("POST", "/v2.1/servers", {"server": body}).status_code == 400
