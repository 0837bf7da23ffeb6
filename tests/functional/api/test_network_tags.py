"""Tags of networks, subnets and ports, and whether they are up."""

import pytest

from roost.standalone import network_schemas
from tests.api_harness import ALICE, PRIVATE
from tests.builders import a_uuid

ROOT = "/network/v2.0"


@pytest.fixture
def things(client):
    """A network of Alice's, its subnet and a port on it: their paths by what they are."""

    def made(noun, **values):
        answer = client.post(f"{ROOT}/{noun}s", {noun: values}, token=ALICE)
        assert answer.status_code == 201, answer.text
        return f"{ROOT}/{noun}s/{answer.json[noun]['id']}"

    network = made("network", name="mine")
    on_it = {"network_id": network.rpartition("/")[2]}
    subnet = made("subnet", **on_it, cidr="10.8.0.0/28")
    return {"network": network, "subnet": subnet, "port": made("port", **on_it, name="door")}


NOUNS = pytest.mark.parametrize("noun", ["network", "subnet", "port"])


@NOUNS
def test_tags_are_replaced_added_and_removed(client, things, noun):
    path = things[noun]
    tags = f"{path}/tags"
    assert client.get(tags, token=ALICE).json == {"tags": []}
    replaced = client.put(tags, {"tags": ["b", "a", "b"]}, token=ALICE)
    assert replaced.json == {"tags": ["a", "b"]}
    for _ in range(2):
        assert client.ask("PUT", f"{tags}/new", token=ALICE).status_code == 201
    assert client.delete(f"{tags}/a", token=ALICE).status_code == 204
    assert client.delete(f"{tags}/a", token=ALICE).status_code == 404
    assert client.get(f"{tags}/b", token=ALICE).status_code == 204
    assert client.get(f"{tags}/a", token=ALICE).status_code == 404
    assert client.get(path, token=ALICE).json[noun]["tags"] == ["b", "new"]
    assert client.delete(tags, token=ALICE).status_code == 204
    assert client.get(path, token=ALICE).json[noun]["tags"] == []


@NOUNS
def test_lists_find_things_by_their_tags(client, things, noun):
    client.put(f"{things[noun]}/tags", {"tags": ["blue", "round"]}, token=ALICE)

    def found(query):
        listed = client.get(f"{ROOT}/{noun}s?{query}", token=ALICE).json[f"{noun}s"]
        return things[noun].rpartition("/")[2] in {one["id"] for one in listed}

    for query, expected in (
        ("tags=blue", True),
        ("tags=blue,round", True),
        ("tags=blue,square", False),
        ("tags-any=blue,square", True),
        ("tags-any=square", False),
        ("not-tags=blue,square", True),
        ("not-tags=blue,round", False),
        ("not-tags-any=square", True),
        ("not-tags-any=blue,square", False),
    ):
        assert found(query) is expected, query


@pytest.mark.parametrize("tags", [[""], ["a,b"], ["x" * 256], "a", [f"t{n}" for n in range(129)]])
def test_what_cannot_be_a_tag_is_refused(client, things, tags):
    answer = client.put(f"{things['network']}/tags", {"tags": tags}, token=ALICE)
    assert answer.status_code == 400


def test_a_thing_has_so_many_tags(client, things):
    path = f"{things['network']}/tags"
    client.put(path, {"tags": [f"t{number}" for number in range(128)]}, token=ALICE)
    assert client.ask("PUT", f"{path}/t1", token=ALICE).status_code == 201
    assert "128 tags at most" in client.ask("PUT", f"{path}/more", token=ALICE).text
    assert client.ask("PUT", f"{path}/a,b", token=ALICE).status_code == 400


def test_a_network_of_the_options_has_no_tags(client):
    path = f"{ROOT}/networks/{PRIVATE.id}/tags"
    assert client.get(path).json == {"tags": []}
    assert client.put(path, {"tags": ["a"]}).status_code == 409


def test_the_tags_of_a_subnet_go_with_it(client, things, world):
    client.delete(things["port"], token=ALICE)
    client.put(f"{things['subnet']}/tags", {"tags": ["a"]}, token=ALICE)
    assert client.delete(things["subnet"], token=ALICE).status_code == 204
    again = {"network_id": things["network"].rpartition("/")[2], "cidr": "10.8.0.0/28"}
    made = client.post(f"{ROOT}/subnets", {"subnet": again}, token=ALICE).json["subnet"]
    assert made["tags"] == []


def test_clients_learn_that_there_are_security_groups_and_tags(client):
    extensions = client.get(f"{ROOT}/extensions", token=ALICE).json["extensions"]
    assert [one["alias"] for one in extensions] == ["security-group", "standard-attr-tag"]


@pytest.mark.parametrize("noun", ["network", "port"])
def test_what_is_put_down_is_down_until_it_is_up_again(client, things, noun):
    path = things[noun]
    for up in (False, True):
        changed = client.put(path, {noun: {"admin_state_up": up}}, token=ALICE).json[noun]
        assert changed["admin_state_up"] is up
        assert client.get(path, token=ALICE).json[noun] == changed


def test_networks_are_listed_by_whether_they_are_up(client):
    body = {"network": {"name": "dark", "admin_state_up": False}}
    made = client.post(f"{ROOT}/networks", body, token=ALICE).json["network"]
    assert made["admin_state_up"] is False

    def listed(up):
        path = f"{ROOT}/networks?name=dark&admin_state_up={up}"
        return [one["id"] for one in client.get(path, token=ALICE).json["networks"]]

    assert (listed("false"), listed("true")) == ([made["id"]], [])


@pytest.mark.parametrize(
    ("plugged", "up", "status"),
    [(True, True, "ACTIVE"), (True, False, "DOWN"), (False, True, "DOWN")],
)
def test_a_port_that_is_put_down_is_not_active_whoever_has_it(plugged, up, status):
    port = network_schemas.ShownPort(
        id=a_uuid(),
        project_id="project",
        network_id=a_uuid(),
        ip="10.8.0.2",
        mac="fa:16:3e:00:00:01",
        instance_uuid=a_uuid(),
        is_plugged=plugged,
        admin_state_up=up,
    )
    assert network_schemas.port(port)["status"] == status
