"""Security groups of local networks: by the network API and by Compute's own words, one model."""

import pytest

from roost.api.dependencies import ApiOptions
from roost.db.api import instance_mappings, security_groups
from roost.db.cell import instances
from roost.security_groups import default_group
from tests import api_harness
from tests.api_harness import ADMIN, ALICE, IMAGE
from tests.builders import CELL1, a_uuid

GROUPS, RULES = "/network/v2.0/security-groups", "/network/v2.0/security-group-rules"
OLD_GROUPS, OLD_RULES = "/v2.1/os-security-groups", "/v2.1/os-security-group-rules"
BOB = "bob:other"
LAST = "2.35"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    options = ApiOptions(quota=api_harness.UNLIMITED)
    with api_harness.made_in(tmp_path_factory.mktemp("world"), options) as world:
        yield world


@pytest.fixture
def ask(client):
    """Ask in the words of Compute, and return the answer."""

    def ask(method, path, body=None, *, token=ALICE, version=LAST, **more):
        more |= {} if body is None else {"json": body}
        return client.ask(method, path, token=token, version=version, **more)

    return ask


@pytest.fixture
def make(ask):
    """Make a group with a name that no other has."""

    def make(token=ALICE, **values):
        words = {"name": a_uuid(), "description": "of the web", **values}
        return ask("POST", OLD_GROUPS, {"security_group": words}, token=token)

    return make


@pytest.fixture
def group(make):
    return make().json["security_group"]


@pytest.fixture
def add_rule(ask):
    def add_rule(group, token=ALICE, **values):
        asked = {"parent_group_id": group["id"], **values}
        return ask("POST", OLD_RULES, {"security_group_rule": asked}, token=token)

    return add_rule


@pytest.fixture
def boot(client):
    def boot(*names, token=ALICE):
        server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE}
        groups = [{"name": name} for name in names]
        body = {"server": {**server, "security_groups": groups}}
        return client.post("/v2.1/servers", body, token=token)

    return boot


@pytest.fixture
def server(world):
    """A server that runs in a cell."""
    return world.place(CELL1, uuid=a_uuid(), project_id="project", host="h1").uuid


@pytest.fixture
def act(client):
    def act(server, action, name, token=ALICE):
        body = {action: {"name": name}}
        return client.post(f"/v2.1/servers/{server}/action", body, token=token)

    return act


@pytest.fixture
def groups_of(client):
    """Return the names of a server's groups, as all that tells them does."""

    def groups_of(server):
        path = f"/v2.1/servers/{server}"
        told = client.get(f"{path}/os-security-groups", token=ALICE).json["security_groups"]
        shown = client.get(path, token=ALICE).json["server"].get("security_groups", [])
        assert sorted(one["name"] for one in told) == sorted(one["name"] for one in shown)
        return {one["name"] for one in told}

    return groups_of


def gone(world, server):
    """End a server as a super-conductor does."""
    with world.api_db.begin() as session:
        instance_mappings.forget(session, server)


def said(answer):
    (error,) = answer.json.values()
    return error["code"], error["message"]


def test_a_project_has_a_default_group_that_lets_its_own_members_in(ask):
    (group,) = ask("GET", OLD_GROUPS, token="eve:new").json["security_groups"]
    assert (group["name"], group["tenant_id"]) == ("default", "new")
    assert [rule["group"] for rule in group["rules"]] == [
        {"name": "default", "tenant_id": "new"}
    ] * 2
    assert ask("GET", f"{OLD_GROUPS}/{group['id']}", token="eve:new").json == {
        "security_group": group
    }
    assert ask("GET", OLD_GROUPS, token="eve:new").json["security_groups"] == [group]


def test_who_knows_the_id_of_the_default_group_finds_it_before_any_list(ask):
    group_id = default_group("fresh").id
    shown = ask("GET", f"{OLD_GROUPS}/{group_id}", token="eve:fresh")
    assert shown.json["security_group"]["name"] == "default"
    inside = {"name": "default", "tenant_id": "fresh"}
    assert [rule["group"] for rule in shown.json["security_group"]["rules"]] == [inside, inside]
    assert ask("GET", f"{OLD_GROUPS}/{default_group('not').id}").status_code == 404


def test_a_group_is_made_changed_and_deleted_by_its_project(ask, make):
    made = make(name="  web  ").json["security_group"]
    path = f"{OLD_GROUPS}/{made['id']}"
    assert (made["name"], made["description"], made["rules"]) == ("  web  ", "of the web", [])
    assert ask("GET", path).json == {"security_group": made}
    body = {"security_group": {"name": "www", "description": "front"}}
    for method, more in (("GET", ()), ("PUT", (body,)), ("DELETE", ())):
        assert ask(method, path, *more, token=BOB).status_code == 404
    changed = ask("PUT", path, body).json["security_group"]
    assert (changed["name"], changed["description"]) == ("www", "front")
    assert ask("GET", path).json["security_group"] == changed
    assert ask("DELETE", path).status_code == 202
    assert ask("GET", path).status_code == 404
    assert ask("DELETE", path).status_code == 404


def test_lists_are_of_ones_project_and_come_in_pages(ask, make):
    made = [make(token="carol:paged").json["security_group"]["name"] for _ in range(3)]

    def names(query="", token="carol:paged"):
        found = ask("GET", OLD_GROUPS, token=token, query_string=query).json["security_groups"]
        return [one["name"] for one in found]

    assert sorted(names()) == sorted(["default", *made])
    assert names("limit=2&offset=1") == names()[1:3]
    assert names("all_tenants=1") == names()
    everybodys = names("all_tenants=1", token="admin:ops")
    assert set(made) <= set(everybodys)
    assert set(names(token="admin:ops")).isdisjoint(made)


@pytest.mark.parametrize(
    "words",
    [
        {"name": "", "description": "a"},
        {"name": "  ", "description": "a"},
        {"name": "a" * 256, "description": "a"},
        {"name": "a"},
        {"name": 5, "description": "a"},
        {"name": "a", "description": "a" * 256},
        {"name": "default", "description": "a"},
    ],
)
def test_what_no_group_can_be_called_is_refused(ask, words):
    assert ask("POST", OLD_GROUPS, {"security_group": words}).status_code == 400


def test_a_project_has_one_group_of_a_name_and_another_project_its_own(ask, make):
    made = make(name="once").json["security_group"]
    again = make(name="once")
    assert said(again) == (400, "Security group once already exists.")
    assert make(name="once", token=BOB).status_code == 200
    other = make().json["security_group"]
    renamed = {"security_group": {"name": "once", "description": ""}}
    assert ask("PUT", f"{OLD_GROUPS}/{other['id']}", renamed).status_code == 400
    assert ask("DELETE", f"{OLD_GROUPS}/{made['id']}").status_code == 202
    assert ask("PUT", f"{OLD_GROUPS}/{other['id']}", renamed).status_code == 200


def test_the_default_group_stays_and_keeps_its_name(ask, client):
    default = ask("GET", OLD_GROUPS, token=BOB).json["security_groups"][0]
    path = f"{OLD_GROUPS}/{default['id']}"
    body = {"security_group": {"name": "mine", "description": ""}}
    assert ask("PUT", path, body, token=BOB).status_code == 400
    assert ask("DELETE", path, token=BOB).status_code == 400
    assert client.delete(f"{GROUPS}/{default['id']}", token=BOB).status_code == 409
    body = {"security_group": {"name": "default", "description": "ours"}}
    assert ask("PUT", path, body, token=BOB).json["security_group"]["description"] == "ours"


def test_an_administrator_clears_a_default_group_away_that_no_server_is_in(world, client, act):
    group = client.get(f"{GROUPS}?name=default", token=ALICE).json["security_groups"][0]
    path = f"{GROUPS}/{group['id']}"
    server = world.place(CELL1, uuid=a_uuid(), project_id="project", host="h1").uuid
    assert client.delete(path, token=ADMIN).status_code == 409
    gone(world, server)
    assert client.delete(path, token=ADMIN).status_code == 204
    assert client.get(path, token=ADMIN).status_code == 404
    again = client.get(f"{GROUPS}?name=default", token=ALICE).json["security_groups"]
    assert again == [group]


def test_a_rule_lets_a_range_of_addresses_in(ask, group, add_rule):
    made = add_rule(group, ip_protocol="TCP", from_port=22, to_port="23", cidr="10.0.0.7/8")
    rule = made.json["security_group_rule"]
    assert rule == {
        "id": rule["id"],
        "parent_group_id": group["id"],
        "ip_protocol": "tcp",
        "from_port": 22,
        "to_port": 23,
        "group": {},
        "ip_range": {"cidr": "10.0.0.7/8"},
    }
    path = f"{OLD_GROUPS}/{group['id']}"
    assert ask("GET", path).json["security_group"]["rules"] == [rule]
    assert ask("DELETE", f"{OLD_RULES}/{rule['id']}", token=BOB).status_code == 404
    assert ask("DELETE", f"{OLD_RULES}/{rule['id']}").status_code == 202
    assert ask("GET", path).json["security_group"]["rules"] == []
    assert ask("DELETE", f"{OLD_RULES}/{rule['id']}").status_code == 404


def test_a_rule_lets_the_members_of_a_group_in(ask, make, group, add_rule):
    front = make(name="front door").json["security_group"]
    rule = add_rule(group, group_id=front["id"]).json["security_group_rule"]
    assert rule["group"] == {"name": "front door", "tenant_id": "project"}
    assert (rule["ip_protocol"], rule["from_port"], rule["ip_range"]) == (None, None, {})
    path = f"{OLD_GROUPS}/{group['id']}"
    assert ask("GET", path).json["security_group"]["rules"] == [rule]
    assert ask("DELETE", f"{OLD_GROUPS}/{front['id']}").status_code == 202
    assert ask("GET", path).json["security_group"]["rules"] == []


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"ip_protocol": "icmp", "from_port": -1, "to_port": -1}, (-1, -1, "0.0.0.0/0")),
        ({"ip_protocol": "icmp", "from_port": 8, "to_port": -1}, (8, -1, "0.0.0.0/0")),
        ({"ip_protocol": "udp", "from_port": 1, "to_port": 1, "cidr": "::/0"}, (1, 1, "::/0")),
        ({"ip_protocol": "tcp", "from_port": -1, "to_port": -1}, (1, 65535, "0.0.0.0/0")),
    ],
)
def test_rules_are_told_in_numbers(group, add_rule, asked, shown):
    rule = add_rule(group, **asked).json["security_group_rule"]
    assert (rule["from_port"], rule["to_port"], rule["ip_range"]["cidr"]) == shown


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"ip_protocol": "tcp", "from_port": 22},
        {"ip_protocol": "icmp", "from_port": 256, "to_port": 0},
        {"ip_protocol": "tcp", "from_port": 1, "to_port": 2, "cidr": "10.0.0.0/33"},
        {"ip_protocol": "tcp", "from_port": 1, "to_port": 2, "group_id": "web"},
    ],
)
def test_what_can_be_no_rule_is_refused(ask, group, add_rule, asked):
    assert add_rule(group, **asked).status_code == 400
    shown = ask("GET", f"{OLD_GROUPS}/{group['id']}").json["security_group"]
    assert shown["rules"] == []


def test_rules_are_of_groups_that_are_there_and_ones_own(make, group, add_rule):
    ssh = {"ip_protocol": "tcp", "from_port": 22, "to_port": 22}
    theirs = make(token=BOB).json["security_group"]
    assert add_rule({"id": a_uuid()}, **ssh).status_code == 404
    assert add_rule(theirs, **ssh).status_code == 404
    assert add_rule(group, group_id=a_uuid()).status_code == 404
    assert add_rule(group, group_id=theirs["id"]).status_code == 404
    assert add_rule(group, token="admin:ops", group_id=theirs["id"]).status_code == 404


@pytest.mark.parametrize("path", [f"{OLD_GROUPS}/web", f"{OLD_GROUPS}/5", f"{OLD_GROUPS}/..x"])
def test_what_is_no_id_is_told_so(ask, path):
    assert ask("GET", path).status_code == 400


def test_a_new_server_is_in_the_groups_that_it_names_by_name_or_id(
    world, client, boot, make, group
):
    web = make(name="by name").json["security_group"]
    answer = boot("by name", group["id"], "default", "by name")
    server = answer.json["server"]["id"]
    shown = [one["name"] for one in answer.json["server"]["security_groups"]]
    assert shown == ["by name", group["id"], "default"]
    told = client.get(f"/v2.1/servers/{server}/os-security-groups", token=ALICE).json
    names = {one["name"] for one in told["security_groups"]}
    assert names == {"by name", group["name"], "default"}
    code, why = said(client.ask("DELETE", f"{OLD_GROUPS}/{web['id']}", token=ALICE, version=LAST))
    assert (code, "is in use" in why) == (400, True)
    assert client.delete(f"{GROUPS}/{web['id']}", token=ALICE).status_code == 409
    gone(world, server)
    assert client.delete(f"{GROUPS}/{web['id']}", token=ALICE).status_code == 204


def test_a_server_that_is_not_found_any_more_is_in_no_group(world, client, group):
    server = world.place(CELL1)
    with world.api_db.begin() as session:
        security_groups.put(session, [group["id"]], server.uuid)
        instance_mappings.queue_for_delete(session, server.uuid)
    assert client.delete(f"{GROUPS}/{group['id']}", token=ALICE).status_code == 409
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, server.uuid)
    assert client.delete(f"{GROUPS}/{group['id']}", token=ALICE).status_code == 204


def test_a_new_server_is_in_no_group_that_is_not_there(boot, make):
    theirs = make(token=BOB).json["security_group"]
    for name in ("nobodys", theirs["name"], theirs["id"]):
        assert said(boot("default", name)) == (400, f"Security group {name} not found.")


def test_a_running_server_joins_groups_and_leaves_them(ask, act, groups_of, group, server):
    assert groups_of(server) == {"default"}
    assert act(server, "addSecurityGroup", group["name"]).status_code == 202
    assert act(server, "addSecurityGroup", group["id"]).status_code == 202
    assert groups_of(server) == {"default", group["name"]}
    path = f"{OLD_GROUPS}/{group['id']}"
    assert ask("DELETE", path).status_code == 400
    assert act(server, "removeSecurityGroup", "default").status_code == 202
    assert groups_of(server) == {group["name"]}
    assert act(server, "removeSecurityGroup", group["id"]).status_code == 202
    assert groups_of(server) == set()
    assert ask("DELETE", path).status_code == 202
    assert act(server, "addSecurityGroup", "default").status_code == 202
    assert groups_of(server) == {"default"}


def test_of_a_server_that_is_in_no_group_none_are_told(client, act, server):
    assert act(server, "removeSecurityGroup", "default").status_code == 202
    shown = client.get(f"/v2.1/servers/{server}", token=ALICE).json["server"]
    assert "security_groups" not in shown


def test_a_server_joins_no_group_of_others_and_leaves_none_that_it_is_not_in(
    act, make, group, server
):
    theirs = make(token=BOB).json["security_group"]["name"]
    for name in ("nobodys", theirs):
        assert said(act(server, "addSecurityGroup", name)) == (
            404, f"Security group {name} not found.",
        )  # fmt: skip
    told = f"Security group {group['name']} not associated with the instance {server}"
    assert said(act(server, "removeSecurityGroup", group["name"])) == (404, told)
    assert act(server, "addSecurityGroup", group["name"], token=BOB).status_code == 404


def test_an_administrator_means_the_groups_of_the_servers_project(act, groups_of, group, server):
    assert act(server, "addSecurityGroup", group["name"], token="admin:ops").status_code == 202
    assert groups_of(server) == {"default", group["name"]}


def test_what_is_in_no_cell_yet_changes_no_groups(world, act, group):
    server = world.build_request(uuid=a_uuid(), project_id="project").uuid
    for action in ("addSecurityGroup", "removeSecurityGroup"):
        assert act(server, action, group["name"]).status_code == 409


def test_a_group_with_servers_keeps_its_name(ask, act, group, server):
    act(server, "addSecurityGroup", group["name"])
    path = f"{OLD_GROUPS}/{group['id']}"
    words = {"name": "other", "description": "new"}
    code, why = said(ask("PUT", path, {"security_group": words}))
    assert (code, "show it by its name" in why) == (400, True)
    words["name"] = group["name"]
    assert (
        ask("PUT", path, {"security_group": words}).json["security_group"]["name"]
        == (group["name"])
    )


def test_the_network_api_has_the_same_groups(client, ask, group, add_rule):
    add_rule(group, ip_protocol="tcp", from_port=22, to_port=22)
    shown = client.get(f"{GROUPS}/{group['id']}", token=ALICE).json["security_group"]
    assert (shown["name"], shown["project_id"]) == (group["name"], "project")
    assert sorted((one["direction"], one["protocol"]) for one in shown["security_group_rules"][:2])
    outward = [one for one in shown["security_group_rules"] if one["direction"] == "egress"]
    assert [(one["ethertype"], one["protocol"]) for one in sorted(
        outward, key=lambda one: one["ethertype"]
    )] == [("IPv4", None), ("IPv6", None)]  # fmt: skip
    (inward,) = [one for one in shown["security_group_rules"] if one not in outward]
    assert (inward["port_range_min"], inward["remote_ip_prefix"]) == (22, "0.0.0.0/0")
    assert client.get(f"{GROUPS}/{group['id']}", token=BOB).status_code == 404


def test_the_network_api_makes_changes_and_deletes_groups(client, ask):
    body = {"security_group": {"name": "net", "description": "a", "stateful": True}}
    made = client.post(GROUPS, body, token=ALICE)
    assert made.status_code == 201
    group = made.json["security_group"]
    assert client.post(GROUPS, body, token=ALICE).status_code == 409
    assert ask("GET", f"{OLD_GROUPS}/{group['id']}").json["security_group"]["name"] == "net"
    path = f"{GROUPS}/{group['id']}"
    changed = client.put(path, {"security_group": {"description": "b"}}, token=ALICE).json
    assert changed["security_group"] == {**group, "description": "b"}
    found = client.get(f"{GROUPS}?name=net", token=ALICE).json["security_groups"]
    assert found == [changed["security_group"]]
    assert client.get(f"{GROUPS}?name=net", token=BOB).json["security_groups"] == []
    assert client.delete(path, token=ALICE).status_code == 204
    assert client.get(path, token=ALICE).status_code == 404


def test_the_network_api_makes_lists_and_deletes_rules(client, group):
    asked = {"security_group_id": group["id"], "direction": "egress", "protocol": "17"}
    ports = {"port_range_min": 53, "port_range_max": 53, "description": "names"}
    made = client.post(RULES, {"security_group_rule": asked | ports}, token=ALICE)
    assert made.status_code == 201
    rule = made.json["security_group_rule"]
    assert (rule["ethertype"], rule["protocol"], rule["port_range_max"]) == ("IPv4", "17", 53)
    path = f"{RULES}/{rule['id']}"
    assert client.get(path, token=ALICE).json == {"security_group_rule": rule}
    assert client.get(path, token=BOB).status_code == 404
    query = f"security_group_id={group['id']}&direction=egress"
    listed = client.get(f"{RULES}?{query}", token=ALICE).json["security_group_rules"]
    assert len(listed) == 3
    assert rule in listed
    again = {"security_group_rule": asked | ports}
    assert client.post(RULES, again, token=ALICE).status_code == 409
    assert client.delete(path, token=ALICE).status_code == 204
    assert client.get(path, token=ALICE).status_code == 404


def test_only_administrators_make_groups_for_others(client):
    body = {"security_group": {"name": "given", "project_id": "gifted"}}
    assert client.post(GROUPS, body, token=ALICE).status_code == 403
    made = client.post(GROUPS, body, token="admin:ops").json["security_group"]
    assert made["project_id"] == "gifted"


@pytest.mark.parametrize(
    "values",
    [
        {"direction": "sideways"},
        {"ethertype": "IPv6", "remote_ip_prefix": "10.0.0.0/8"},
        {"protocol": 256},
        {"remote_ip_prefix": "10.0.0.0/8", "remote_group_id": IMAGE},
    ],
)
def test_what_can_be_no_rule_of_the_network_api_is_refused(client, group, values):
    asked = {"security_group_id": group["id"], "direction": "ingress", **values}
    body = {"security_group_rule": asked}
    assert client.post(RULES, body, token=ALICE).status_code == 400
