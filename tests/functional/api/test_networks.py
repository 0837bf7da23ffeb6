"""Networks, subnets and ports: those of the options, those that users make, those of servers."""

import pytest

from roost import exception
from roost.api.dependencies import ApiOptions
from roost.db.api import instance_mappings
from roost.db.api import networks as network_rows
from roost.db.api import ports as port_rows
from roost.db.cell import instances
from roost.db.cell import ports as cell_ports
from roost.objects import NetworkRequest
from tests import api_harness
from tests.api_harness import ADMIN, ALICE, IMAGE, PRIVATE
from tests.builders import CELL1, a_uuid

ROOT = "/network/v2.0"
BOB = "bob:other"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    options = ApiOptions(quota=api_harness.UNLIMITED)
    with api_harness.made_in(tmp_path_factory.mktemp("world"), options) as world:
        yield world


@pytest.fixture
def make(client):
    def make(noun, token=ALICE, **values):
        return client.post(f"{ROOT}/{noun}s", {noun: values}, token=token)

    return make


@pytest.fixture
def network(make):
    """A network of Alice's with a subnet."""
    made = make("network", name="mine").json["network"]
    assert make("subnet", network_id=made["id"], cidr="10.8.0.0/28").status_code == 201
    return made["id"]


@pytest.fixture
def boot(client):
    def boot(token=ALICE, **values):
        server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE, **values}
        return client.post("/v2.1/servers", {"server": server}, token=token)

    return boot


def gone(world, server_id):
    """End a server as a super-conductor does."""
    with world.api_db.begin() as session:
        instance_mappings.forget(session, server_id)


def away():
    raise exception.Unavailable("the database is away")


def names(answer, noun="networks"):
    return [one["name"] for one in answer.json[noun]]


def test_a_network_is_made_seen_by_its_project_and_deleted(client, make):
    made = make("network", name="backend").json["network"]
    path = f"{ROOT}/networks/{made['id']}"
    assert (made["shared"], made["subnets"], made["project_id"]) == (False, [], "project")
    assert client.get(path, token=ALICE).json["network"] == made
    assert names(client.get(f"{ROOT}/networks?name=backend", token=ALICE)) == ["backend"]
    assert names(client.get(f"{ROOT}/networks", token=BOB)) == ["private"]
    assert client.get(path, token=BOB).status_code == 404
    assert client.delete(path, token=BOB).status_code == 404
    assert client.delete(path, token=ALICE).status_code == 204
    assert client.get(path, token=ALICE).status_code == 404


def test_administrators_share_networks(client, make):
    assert make("network", name="all", shared=True).status_code == 403
    made = make("network", token="admin", name="all", shared=True).json["network"]
    path = f"{ROOT}/networks/{made['id']}"
    assert client.get(path, token=BOB).status_code == 200
    assert client.delete(path, token=BOB).status_code == 403
    assert client.delete(path, token="admin").status_code == 204


def test_the_networks_of_the_options_are_not_changed_here(client, make):
    assert client.delete(f"{ROOT}/networks/{PRIVATE.id}").status_code == 409
    assert make("subnet", network_id=PRIVATE.id, cidr="10.8.0.0/28").status_code == 409
    (shown,) = client.get(f"{ROOT}/subnets?network_id={PRIVATE.id}").json["subnets"]
    assert (shown["cidr"], shown["gateway_ip"]) == (PRIVATE.cidr, PRIVATE.gateway)
    assert client.get(f"{ROOT}/networks/{PRIVATE.id}").json["network"]["subnets"] == [shown["id"]]


def test_a_network_has_one_subnet(client, make, network):
    assert make("subnet", network_id=network, cidr="10.99.0.0/24").status_code == 409
    (shown,) = client.get(f"{ROOT}/subnets?network_id={network}", token=ALICE).json["subnets"]
    assert shown["allocation_pools"] == [{"start": "10.8.0.2", "end": "10.8.0.14"}]
    path = f"{ROOT}/subnets/{shown['id']}"
    assert client.get(path, token=ALICE).json == {"subnet": shown}
    assert client.delete(path, token=ALICE).status_code == 204
    assert client.get(path, token=ALICE).status_code == 404


@pytest.mark.parametrize(
    "values",
    [
        {"cidr": "10.0.0.0/31"},
        {"cidr": "ten"},
        {"cidr": "10.0.0.0/24", "ip_version": 6},
        {"cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.9"},
        {"cidr": "10.0.0.0/24", "enable_dhcp": False},
        {"cidr": "10.0.0.0/24", "network_id": "11111111-1111-4111-8111-111111111111"},
    ],
)
def test_what_a_subnet_cannot_be_is_refused(make, values):
    network = make("network", name="bare").json["network"]["id"]
    assert make("subnet", **{"network_id": network, **values}).status_code == 400


def test_networks_and_subnets_are_renamed_by_who_has_them(client, network):
    path = f"{ROOT}/networks/{network}"
    words = {"name": "front", "description": "towards the street"}
    body = {"network": {**words, "admin_state_up": True}}
    assert client.put(path, body, token=BOB).status_code == 404
    changed = client.put(path, body, token=ALICE).json["network"]
    assert {name: changed[name] for name in words} == words
    assert client.get(path, token=ALICE).json["network"] == changed
    subnet_path = f"{ROOT}/subnets/{changed['subnets'][0]}"
    renamed = client.put(subnet_path, {"subnet": {"name": "street"}}, token=ALICE).json["subnet"]
    assert (renamed["name"], renamed["cidr"]) == ("street", "10.8.0.0/28")
    assert client.get(subnet_path, token=ALICE).json["subnet"] == renamed
    assert client.put(subnet_path, {"subnet": {}}, token=ALICE).json["subnet"] == renamed


def test_who_sees_a_shared_network_does_not_rename_it(client, make):
    made = make("network", token="admin", name="all", shared=True).json["network"]
    body = {"network": {"name": "mine"}}
    assert client.put(f"{ROOT}/networks/{made['id']}", body, token=BOB).status_code == 403
    assert client.put(f"{ROOT}/networks/{PRIVATE.id}", body).status_code == 409
    assert client.delete(f"{ROOT}/networks/{made['id']}").status_code == 204


def test_a_port_made_beforehand_is_renamed(client, make, network):
    made = make("port", network_id=network, name="old").json["port"]
    path = f"{ROOT}/ports/{made['id']}"
    body = {"port": {"name": "new", "security_groups": []}}
    assert client.put(path, body, token=BOB).status_code == 404
    changed = client.put(path, body, token=ALICE).json["port"]
    assert changed == {**made, "name": "new"}
    assert client.get(path, token=ALICE).json["port"] == changed


@pytest.mark.parametrize(
    ("noun", "asked"),
    [
        ("network", {"admin_state_up": "perhaps"}),
        ("network", {"shared": True}),
        ("network", {"name": None}),
        ("subnet", {"gateway_ip": "10.8.0.9"}),
        ("subnet", {"enable_dhcp": False}),
        ("port", {"admin_state_up": None}),
        ("port", {"security_groups": ["a"]}),
        ("port", {"fixed_ips": []}),
    ],
)
def test_what_cannot_be_changed_of_it_is_refused(client, make, network, noun, asked):
    ids = {"network": network, "port": make("port", network_id=network).json["port"]["id"]}
    (subnet,) = client.get(f"{ROOT}/networks/{network}", token=ALICE).json["network"]["subnets"]
    path = f"{ROOT}/{noun}s/{ids.get(noun, subnet)}"
    before = client.get(path, token=ALICE).json
    assert client.put(path, {noun: asked}, token=ALICE).status_code == 400
    assert client.get(path, token=ALICE).json == before


@pytest.mark.parametrize(
    ("query", "found"), [("shared=True", 1), ("router:external=True", 0), ("project_id=", 1)]
)
def test_networks_are_found_by_what_they_are(client, query, found):
    assert len(client.get(f"{ROOT}/networks?{query}", token=BOB).json["networks"]) == found


def test_a_server_stands_on_a_network_that_a_user_made(world, client, boot, network):
    server = boot(networks=[{"uuid": network}]).json["server"]["id"]
    with world.api_db.read() as session:
        build_request = api_harness.build_requests.find(session, server)
    (request,) = build_request.instance.networks
    assert (request.network_id, request.cidr) == (network, "10.8.0.0/28")
    assert request.network_name == "mine"
    path = f"{ROOT}/networks/{network}"
    assert "servers" in client.delete(path, token=ALICE).json["conflictingRequest"]["message"]
    gone(world, server)
    assert client.delete(path, token=ALICE).status_code == 204


@pytest.mark.parametrize("noun", ["networks", "subnets"])
@pytest.mark.parametrize(("buried", "status"), [(True, 204), (False, 409)])
def test_servers_that_their_cell_has_buried_hold_no_network_until_the_next_sweep(
    world, client, network, noun, buried, status
):
    server = world.place(CELL1)
    with world.api_db.begin() as session:
        network_rows.use(session, network, [server.uuid])
        instance_mappings.queue_for_delete(session, server.uuid)
    if buried:
        with world.databases[CELL1].begin() as session:
            instances.mark_deleted(session, server.uuid)
    (subnet,) = client.get(f"{ROOT}/networks/{network}", token=ALICE).json["network"]["subnets"]
    thing = network if noun == "networks" else subnet
    assert client.delete(f"{ROOT}/{noun}/{thing}", token=ALICE).status_code == status
    assert (world.mapping(server.uuid) is None) == buried


def test_a_network_stays_while_the_cell_of_its_servers_is_away(world, client, network, monkeypatch):
    server = world.place(CELL1)
    with world.api_db.begin() as session:
        network_rows.use(session, network, [server.uuid])
        instance_mappings.queue_for_delete(session, server.uuid)
    monkeypatch.setattr(world.parts.cells.get(CELL1).database, "read", away)
    assert client.delete(f"{ROOT}/networks/{network}", token=ALICE).status_code == 409


def test_a_server_stands_on_no_network_without_addresses_or_of_others(make, boot, network):
    bare = make("network", name="bare").json["network"]["id"]
    assert "requires a subnet" in boot(networks=[{"uuid": bare}]).json["badRequest"]["message"]
    refused = boot(networks=[{"uuid": network}], token=BOB).json["badRequest"]
    assert "could not be found" in refused["message"]


def test_a_port_made_beforehand_has_an_address_that_cells_seldom_give(client, make, network):
    port = make("port", network_id=network, name="first").json["port"]
    assert port["fixed_ips"][0]["ip_address"] in {"10.8.0.12", "10.8.0.13", "10.8.0.14"}
    assert (port["status"], port["device_id"]) == ("DOWN", "")
    assert names(client.get(f"{ROOT}/ports?name=first", token=ALICE), "ports") == ["first"]
    assert client.get(f"{ROOT}/ports/{port['id']}", token=BOB).status_code == 404
    assert client.delete(f"{ROOT}/networks/{network}", token=ALICE).status_code == 409
    assert client.delete(f"{ROOT}/ports/{port['id']}", token=ALICE).status_code == 204


def test_a_port_may_have_an_address_of_ones_choice_once(make, network):
    build_request = {"network_id": network, "fixed_ips": [{"ip_address": "10.8.0.5"}]}
    port = make("port", **build_request, mac_address="02:AA:00:00:00:01").json["port"]
    assert port["fixed_ips"][0]["ip_address"] == "10.8.0.5"
    assert port["mac_address"] == "02:aa:00:00:00:01"
    assert make("port", **build_request).status_code == 409
    outside = {"network_id": network, "fixed_ips": [{"ip_address": "10.9.0.5"}]}
    assert make("port", **outside).status_code == 400


def test_a_server_has_a_port_made_beforehand_for_its_life(world, client, make, boot, network):
    port = make("port", network_id=network).json["port"]
    server = boot(networks=[{"port": port["id"]}]).json["server"]["id"]
    with world.api_db.read() as session:
        (request,) = api_harness.build_requests.find(session, server).instance.networks
    assert (request.port_id, request.mac) == (port["id"], port["mac_address"])
    assert request.fixed_ip == port["fixed_ips"][0]["ip_address"]
    path = f"{ROOT}/ports/{port['id']}"
    assert client.get(path, token=ALICE).json["port"]["device_id"] == server
    assert client.delete(path, token=ALICE).status_code == 409
    assert boot(networks=[{"port": port["id"]}]).json["conflictingRequest"]["code"] == 409
    gone(world, server)
    assert client.get(path, token=ALICE).json["port"]["device_id"] == ""


def buried(world, server_id):
    """End a server as far as users see it: no super-conductor has swept yet."""
    with world.api_db.begin() as session:
        instance_mappings.queue_for_delete(session, server_id)
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, server_id)


def test_the_port_of_a_server_that_is_not_found_any_more_serves_the_next(
    world, client, make, boot, network
):
    ports = [make("port", network_id=network).json["port"]["id"] for _ in range(2)]
    server = world.place(CELL1).uuid
    with world.api_db.begin() as session:
        for port in ports:
            port_rows.take(session, port, server)
    assert boot(networks=[{"port": ports[0]}]).status_code == 409
    buried(world, server)
    assert client.get(f"/v2.1/servers/{server}", token=ALICE).status_code == 404
    assert boot(networks=[{"port": ports[0]}]).status_code == 202
    assert client.delete(f"{ROOT}/ports/{ports[1]}", token=ALICE).status_code == 204


def test_ports_that_cannot_be_had_are_refused(make, boot, network):
    port = make("port", network_id=network).json["port"]
    address = port["fixed_ips"][0]["ip_address"]
    for values, token in (
        ({"networks": [{"port": a_uuid()}]}, ALICE),
        ({"networks": [{"port": port["id"]}]}, BOB),
        ({"networks": [{"port": port["id"]}], "min_count": 2}, ALICE),
        ({"networks": [{"uuid": network, "fixed_ip": address}]}, ALICE),
    ):
        assert boot(token=token, **values).status_code == 400


@pytest.fixture
def plugged(world):
    """A server with a port in its cell."""
    server = world.place(uuid=a_uuid(), host="h1", project_id="project")
    request = NetworkRequest.of(network_id=PRIVATE.id, fixed_ip=None, port_id=None, tag=None)
    with world.databases[CELL1].begin() as session:
        (vif,) = cell_ports.allocate(
            session, instance_uuid=server.uuid, host="h1", requests=[request], networks=[PRIVATE]
        ).vifs
    return server, vif


def test_the_ports_of_servers_are_those_of_their_cells(client, plugged):
    server, vif = plugged
    path = f"{ROOT}/ports?device_id={server.uuid}"
    (port,) = client.get(path, token=ALICE).json["ports"]
    assert (port["id"], port["mac_address"], port["status"]) == (vif.id, vif.mac, "ACTIVE")
    assert port["fixed_ips"][0]["ip_address"] == vif.ip
    assert "binding:host_id" not in port
    assert client.get(path).json["ports"][0]["binding:host_id"] == "h1"
    assert client.get(path, token=BOB).json["ports"] == []
    assert client.get(f"{ROOT}/ports?fixed_ips=ip_address={vif.ip}").json["ports"] != []


def test_a_servers_own_port_goes_with_it_and_not_before_and_is_not_changed(client, plugged):
    path = f"{ROOT}/ports/{plugged[1].id}"
    assert client.delete(path, token=ALICE).status_code == 409
    assert client.put(path, {"port": {"name": "new"}}, token=ALICE).status_code == 409
    refused = client.put(f"{path}/tags", {"tags": ["a"]}, token=ALICE)
    assert "with its server" in refused.json["conflictingRequest"]["message"]
    assert client.get(f"{path}/tags", token=ALICE).json == {"tags": []}


def test_the_address_of_a_server_is_for_no_port(make, plugged):
    build_request = [{"ip_address": plugged[1].ip}]
    assert (
        make("port", token=ADMIN, network_id=PRIVATE.id, fixed_ips=build_request).status_code == 409
    )


def test_ports_come_in_pages_over_cells_and_api(client, make, plugged, network):
    for _ in range(2):
        make("port", network_id=network)
    page, seen = client.get(f"{ROOT}/ports?limit=2").json, []
    while page["ports"]:
        seen += [port["id"] for port in page["ports"]]
        page = client.get(f"{ROOT}/ports?limit=2&marker={seen[-1]}").json
    assert seen == sorted(port["id"] for port in client.get(f"{ROOT}/ports").json["ports"])
    assert plugged[1].id in seen


def test_the_mac_address_of_a_server_is_for_no_port(make, plugged, network):
    refused = make("port", network_id=network, mac_address=plugged[1].mac)
    assert refused.status_code == 409
    assert plugged[1].mac in refused.json["conflictingRequest"]["message"]


@pytest.fixture
def shared_network(make):
    """A network of an administrator's, which all projects share."""
    made = make("network", token=ADMIN, name="all", shared=True).json["network"]
    make("subnet", token=ADMIN, network_id=made["id"], cidr="10.7.0.0/28")
    return made["id"]


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"mac_address": "02:bb:00:00:00:01"}, "create_port:mac_address"),
        ({"fixed_ips": [{"ip_address": "10.7.0.5"}]}, "create_port:fixed_ips:ip_address"),
    ],
)
def test_members_choose_no_address_in_what_others_share(make, shared_network, asked, rule):
    refused = make("port", network_id=shared_network, **asked)
    assert refused.status_code == 403
    assert rule in refused.json["forbidden"]["message"]
    assert make("port", token=ADMIN, network_id=shared_network, **asked).status_code == 201
    assert make("port", network_id=shared_network).status_code == 201


def test_nor_do_their_servers(boot, shared_network):
    for uuid, address in ((shared_network, "10.7.0.6"), (PRIVATE.id, "10.0.0.9")):
        chosen = {"networks": [{"uuid": uuid, "fixed_ip": address}]}
        assert boot(**chosen).status_code == 403
        assert boot(token=ADMIN, **chosen).status_code == 202


def test_in_their_own_network_they_do(boot, network):
    chosen = {"networks": [{"uuid": network, "fixed_ip": "10.8.0.6"}]}
    assert boot(**chosen).status_code == 202
