"""Networks and addresses of Neutron in the words that Compute had for them before 2.44."""

import dataclasses
import types

import pytest

from roost.api.app import make_app
from roost.api.networking.neutron import NeutronNetworking
from tests.api_harness import ALICE, Client
from tests.builders import CELL1, a_uuid
from tests.fakes.neutron import FakeNetwork, failure

IPS = "/v2.1/os-floating-ips"


@pytest.fixture
def neutron():
    return FakeNetwork()


@pytest.fixture
def ask(world, neutron):
    networking = NeutronNetworking(
        types.SimpleNamespace(of_user=lambda _context: neutron, ours=neutron)
    )
    client = Client(make_app(dataclasses.replace(world.parts, networking=networking)))

    def ask(method, path, body=None, *, version="2.35"):
        more = {} if body is None else {"json": body}
        return client.ask(method, path, token=ALICE, version=version, **more)

    return ask


@pytest.fixture
def private(neutron):
    return neutron.a_network()


@pytest.fixture
def pool(neutron):
    return neutron.a_network("public", cidr="203.0.113.0/29", is_router_external=True).id


@pytest.fixture
def server(world, neutron, private):
    """A server that runs, with a port at 10.0.0.1."""
    uuid = world.place(CELL1, uuid=a_uuid(), project_id="project", host="h1").uuid
    neutron.create_port(network_id=private.id, device_id=uuid)
    return uuid


@pytest.fixture
def act(ask, server):
    def act(version="2.43", **body):
        return ask("POST", f"/v2.1/servers/{server}/action", body, version=version)

    return act


def refusing(error):
    def refuse(*_words, **_values):
        raise error

    return refuse


def told(world):
    """Return the events that hosts were told of."""
    sent = world.buses["fake://cell1/"].sent
    return [event.name for _, _, values in sent for event in values.get("events", ())]


def test_networks_are_told_with_their_addresses(ask, neutron, private):
    shared = neutron.a_network("all", project_id="other", is_shared=True, cidr="fd00::/64")
    neutron.a_network("theirs", project_id="other")
    first, second = ask("GET", "/v2.1/os-networks").json["networks"]
    assert (first["id"], first["label"], first["cidr"]) == (private.id, "private", "10.0.0.0/24")
    assert (first["netmask"], first["gateway"]) == ("255.255.255.0", "10.0.0.1")
    assert (first["dns1"], first["dns2"]) == ("10.0.0.53", None)
    assert (second["cidr"], second["cidr_v6"], second["netmask_v6"]) == (None, "fd00::/64", "64")
    assert ask("GET", f"/v2.1/os-networks/{shared.id}").json == {"network": second}
    brief = {"id": private.id, "label": "private", "cidr": "10.0.0.0/24"}
    assert brief in ask("GET", "/v2.1/os-tenant-networks").json["networks"]
    assert ask("GET", f"/v2.1/os-tenant-networks/{private.id}").json == {"network": brief}


def test_networks_outside_are_told_of_too_and_once(ask, neutron, pool):
    ours = neutron.a_network("ours", is_router_external=True).id
    told = [one["id"] for one in ask("GET", "/v2.1/os-networks").json["networks"]]
    assert sorted(told) == sorted([ours, pool])


def test_a_network_without_addresses_is_told_without(ask, neutron):
    bare = neutron.a_network("bare")
    neutron.all["subnet"].clear()
    assert ask("GET", f"/v2.1/os-tenant-networks/{bare.id}").json["network"]["cidr"] == "None"
    assert ask("GET", f"/v2.1/os-networks/{bare.id}").json["network"]["gateway"] is None


@pytest.mark.parametrize("noun", ["os-networks", "os-tenant-networks", "os-floating-ips"])
def test_what_is_not_there_is_not_found(ask, noun):
    answer = ask("GET", f"/v2.1/{noun}/{a_uuid()}")
    assert answer.status_code == 404
    assert "ound" in answer.json["itemNotFound"]["message"]
    assert ask("GET", f"/v2.1/{noun}", version="2.36").status_code == 404


def test_a_floating_ip_is_taken_shown_and_given_back(ask, neutron, pool):
    assert ask("GET", "/v2.1/os-floating-ip-pools").json == {
        "floating_ip_pools": [{"name": "public"}]
    }
    made = ask("POST", IPS, {"pool": "public"}).json["floating_ip"]
    assert {**made, "id": None} == {
        "id": None,
        "ip": "203.0.113.1",
        "pool": "public",
        "fixed_ip": None,
        "instance_id": None,
    }
    other = ask("POST", IPS, {}).json["floating_ip"]  # there is one pool only
    assert ask("GET", IPS).json["floating_ips"] == [made, other]
    assert ask("GET", f"{IPS}/{made['id']}").json == {"floating_ip": made}
    assert ask("DELETE", f"{IPS}/{made['id']}").status_code == 202
    assert ask("DELETE", f"{IPS}/{made['id']}").status_code == 404


def test_what_cannot_be_taken_is_told(ask, neutron, pool):
    assert ask("POST", IPS, {"pool": "nobodys"}).status_code == 404
    for _ in range(6):
        ask("POST", IPS, {})
    full = ask("POST", IPS, {})
    assert (full.status_code, "No more" in full.text) == (404, True)
    neutron.create_ip = refusing(failure(409, "OverQuota"))
    assert ask("POST", IPS, {}).status_code == 403
    neutron.a_network("second", is_router_external=True)
    assert ask("POST", IPS, {}).status_code == 400


def test_a_floating_ip_leads_to_a_server_and_no_more(world, ask, neutron, pool, server, act):
    address = ask("POST", IPS, {}).json["floating_ip"]["ip"]
    assert act(removeFloatingIp={"address": address}).status_code == 409
    assert act(addFloatingIp={"address": address}).status_code == 202
    (shown,) = ask("GET", IPS).json["floating_ips"]
    assert (shown["fixed_ip"], shown["instance_id"]) == ("10.0.0.1", server)
    assert told(world) == ["network-changed"]
    assert act(removeFloatingIp={"address": address}).status_code == 202
    assert ask("GET", IPS).json["floating_ips"][0]["instance_id"] is None
    assert told(world) == ["network-changed"] * 2


def test_which_fixed_address_it_leads_to_may_be_said(ask, neutron, pool, private, server, act):
    address = ask("POST", IPS, {}).json["floating_ip"]["ip"]
    neutron.create_port(network_id=private.id, device_id=server)
    asked = {"address": address, "fixed_address": "10.0.0.2"}
    assert act(addFloatingIp=asked).status_code == 202
    assert ask("GET", IPS).json["floating_ips"][0]["fixed_ip"] == "10.0.0.2"
    wrong = act(addFloatingIp={"address": address, "fixed_address": "10.0.0.9"})
    assert (wrong.status_code, "not assigned to instance" in wrong.text) == (400, True)


def test_floating_ips_that_cannot_be_had_are_refused(ask, neutron, pool, server, act):
    address = ask("POST", IPS, {}).json["floating_ip"]["ip"]
    assert act(addFloatingIp={"address": "192.0.2.9"}).status_code == 404
    assert act(removeFloatingIp={"address": "192.0.2.9"}).status_code == 404
    neutron.update_ip = refusing(failure(404, "ExternalGatewayForFloatingIPNotFound"))
    unreachable = act(addFloatingIp={"address": address})
    assert (unreachable.status_code, "Unable to associate" in unreachable.text) == (400, True)
    neutron.all["port"].clear()
    assert act(addFloatingIp={"address": address}).status_code == 400
    assert act("2.44", addFloatingIp={"address": address}).status_code == 404


def test_a_server_gets_and_loses_fixed_addresses(world, neutron, private, act):
    (port,) = neutron.all["port"]
    (first,) = port.fixed_ips
    assert act(addFixedIp={"networkId": private.id}).status_code == 202
    assert port.fixed_ips == [first, {"subnet_id": first["subnet_id"]}]
    assert act(addFixedIp={"networkId": a_uuid()}).status_code == 400
    port.fixed_ips = [first, {**first, "ip_address": "10.0.0.7"}]
    assert act(removeFixedIp={"address": "10.0.0.1"}).status_code == 202
    assert [one["ip_address"] for one in port.fixed_ips] == ["10.0.0.7"]
    assert act(removeFixedIp={"address": "10.0.0.1"}).status_code == 400
    assert told(world) == ["network-changed"] * 2


def test_a_neutron_that_is_away_is_told_as_such(ask, neutron):
    neutron.trouble = [failure(503)]
    assert ask("GET", IPS).status_code == 503
