"""The interfaces of a server: listed, shown, attached and detached."""

import pytest

from roost import exception, states
from roost.db.cell import actions, instances
from roost.objects import NetworkInfo, NetworkRequest, PortResources
from tests.api_harness import ADMIN, ALICE, PRIVATE
from tests.builders import CELL1, CELL2, a_uuid, a_vif

ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}


@pytest.fixture
def vif():
    return a_vif(tag="nic1")


@pytest.fixture
def server(world, vif):
    return world.place(CELL1, **ACTIVE, network_info=NetworkInfo.of(vifs=[vif])).uuid


@pytest.fixture
def bus(world):
    return world.buses["fake://cell1/"]


def path(server, port_id=""):
    return f"/v2.1/servers/{server}/os-interface{port_id and '/' + str(port_id)}"


def attach(world, server, version="2.70", token=ALICE, **asked):
    body = {"interfaceAttachment": asked}
    return world.client.post(path(server), body, version=version, token=token)


def detach(world, server, port_id):
    return world.client.delete(path(server, port_id), token=ALICE)


def history(world, server):
    with world.databases[CELL1].read() as session:
        newest = actions.list_actions(session, server)[0]
        return actions.get(session, server, newest.request_id)


def asked_of_host(bus):
    ((host, _method, arguments),) = bus.sent
    return host, arguments


def shown(vif, **more):
    return {
        "port_state": "ACTIVE",
        "fixed_ips": [{"subnet_id": CELL2, "ip_address": vif.ip}],
        "mac_addr": vif.mac,
        "net_id": vif.network_id,
        "port_id": vif.id,
        **more,
    }


@pytest.mark.parametrize(("version", "more"), [("2.69", {}), ("2.70", {"tag": "nic1"})])
def test_interfaces_are_listed_and_shown_with_tags_since_2_70(world, server, vif, version, more):
    listed = world.client.get(path(server), version=version, token=ALICE)
    assert listed.json == {"interfaceAttachments": [shown(vif, **more)]}
    one = world.client.get(path(server, vif.id), version=version, token=ALICE)
    assert one.json == {"interfaceAttachment": shown(vif, **more)}


def test_a_port_that_is_down_says_so(world):
    down = NetworkInfo.of(vifs=[a_vif(active=False)])
    server = world.place(CELL1, **ACTIVE, network_info=down)
    (listed,) = world.client.get(path(server.uuid)).json["interfaceAttachments"]
    assert listed["port_state"] == "DOWN"


def test_a_wish_has_no_interfaces_yet(world):
    assert world.client.get(path(world.build_request().uuid)).json == {"interfaceAttachments": []}


def test_the_port_of_another_server_is_not_shown(world, server):
    answer = world.client.get(path(server, a_uuid()), token=ALICE)
    assert answer.status_code == 404


def test_an_interface_is_attached_by_the_host_and_recorded(world, server, bus):
    made = bus.answers["attach_interface"] = a_vif(ip="10.0.0.7", tag="nic2")
    asked = {"net_id": PRIVATE.id, "fixed_ips": [{"ip_address": "10.0.0.7"}], "tag": "nic2"}
    assert attach(world, server, **asked).status_code == 403  # what all share, members take as is
    answer = attach(world, server, token=ADMIN, **asked)
    assert answer.status_code == 200
    assert answer.json == {"interfaceAttachment": shown(made, tag="nic2")}
    host, arguments = asked_of_host(bus)
    request = arguments["request"]
    assert (host, request.network_id, request.fixed_ip, request.tag) == (
        *("h1", PRIVATE.id, "10.0.0.7", "nic2"),
    )
    action = history(world, server)
    assert (action.action, action.message) == ("attach_interface", None)
    assert action.finish_time
    assert [(one.event, one.result) for one in action.events] == [
        ("compute.attach_interface", "Success")
    ]


def test_without_a_network_it_is_the_first(world, server, bus):
    attach(world, server)
    assert asked_of_host(bus)[1]["request"].network_id == PRIVATE.id


@pytest.mark.parametrize(
    "asked",
    [
        {"net_id": PRIVATE.id, "port_id": a_uuid()},
        {"fixed_ips": [{"ip_address": "10.0.0.9"}]},
        {"net_id": PRIVATE.id, "fixed_ips": []},
        {"net_id": PRIVATE.id, "fixed_ips": [{"ip_address": "10.0.0.9"}] * 2},
        {"net_id": PRIVATE.id, "fixed_ips": [{"ip_address": "192.0.2.1"}]},
        {"net_id": "private"},
        {"colour": "blue"},
    ],
)
def test_what_cannot_be_meant_is_refused(world, server, bus, asked):
    assert attach(world, server, **asked).status_code == 400
    assert bus.sent == []


@pytest.mark.parametrize("asked", [{"net_id": a_uuid()}, {"port_id": a_uuid()}])
def test_what_is_not_there_is_not_found(world, server, asked):
    assert attach(world, server, **asked).status_code == 404


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (exception.AddressInUse("taken"), 409),
        (exception.NoCapacity("full"), 409),
        (exception.Unsupported("cannot"), 501),
        (exception.Timeout("silence"), 504),
        (RuntimeError("broken"), 500),
    ],
)
def test_what_the_host_refuses_is_told_and_recorded(world, server, bus, error, status):
    bus.answers["attach_interface"] = error
    assert attach(world, server).status_code == status
    action = history(world, server)
    assert action.message
    assert action.finish_time
    assert [one.result for one in action.events] == ["Error"]


def test_an_interface_is_detached_by_the_host_and_recorded(world, server, vif, bus):
    answer = detach(world, server, vif.id)
    assert (answer.status_code, answer.content) == (202, b"")
    host, arguments = asked_of_host(bus)
    assert (host, arguments["port_id"]) == ("h1", vif.id)
    action = history(world, server)
    assert (action.action, action.message) == ("detach_interface", None)


def test_a_port_that_has_something_of_the_host_is_not_detached(world, vif, bus):
    needs = PortResources.of(group_id="g1", port_id=vif.id, amounts={"VGPU": 1})
    asked = {"network_id": vif.network_id, "fixed_ip": None, "tag": None}
    request = NetworkRequest.of(**asked, port_id=vif.id, resources=[needs])
    info = NetworkInfo.of(vifs=[vif])
    server = world.place(CELL1, **ACTIVE, network_info=info, networks=[request]).uuid
    answer = detach(world, server, vif.id)
    assert answer.status_code == 409
    assert "claimed as long as the server exists" in answer.json["conflictingRequest"]["message"]
    assert bus.sent == []


def test_an_interface_that_is_not_there_is_not_detached(world, server, bus):
    assert detach(world, server, a_uuid()).status_code == 404
    assert bus.sent == []


@pytest.fixture
def network(world):
    """A network that a user made."""
    return world.network().id


@pytest.fixture
def port(world, network):
    """A port on it, made beforehand."""
    return world.port(network)


def plugged(world, bus, server, port):
    """Let the host attach a port, as its cell's row will say."""
    made = a_vif(id=port.id, network_id=port.network_id)

    def attach_interface(instance, **_told):
        with world.databases[CELL1].begin() as session:
            held = instances.network_info(session, server)
            info = NetworkInfo.of(vifs=[*held.vifs, made])
            instances.update(session, server, {"network_info": info}, expected={})
        return made

    bus.answers["attach_interface"] = attach_interface


def unplugged(world, bus, server, port):
    def detach_interface(instance, port_id):
        with world.databases[CELL1].begin() as session:
            held = instances.network_info(session, server)
            info = NetworkInfo.of(vifs=[vif for vif in held.vifs if vif.id != port_id])
            instances.update(session, server, {"network_info": info}, expected={})

    bus.answers["detach_interface"] = detach_interface


def holder(world, port):
    shown = world.client.get(f"/network/v2.0/ports/{port.id}", token=ALICE).json["port"]
    return shown["device_id"]


def test_a_port_made_beforehand_is_attached_and_free_again_once_detached(world, server, bus, port):
    plugged(world, bus, server, port)
    unplugged(world, bus, server, port)
    other = world.place(CELL1, **ACTIVE).uuid
    for _ in range(2):
        assert attach(world, server, port_id=port.id).status_code == 200
        request = bus.sent[-1][2]["request"]
        assert (request.port_id, request.fixed_ip, request.mac) == (port.id, port.ip, port.mac)
        assert holder(world, port) == server
        for one in (server, other):
            assert attach(world, one, port_id=port.id).status_code == 409
        assert detach(world, server, port.id).status_code == 202
        assert holder(world, port) == ""


def test_a_network_that_a_user_made_is_in_use_while_it_is_attached(
    world, server, bus, network, port
):
    plugged(world, bus, server, port)
    unplugged(world, bus, server, port)
    assert attach(world, server, net_id=network).status_code == 200
    assert world.client.delete(f"/network/v2.0/ports/{port.id}", token=ALICE).status_code == 204
    deleted = f"/network/v2.0/networks/{network}"
    assert world.client.delete(deleted, token=ALICE).status_code == 409
    assert detach(world, server, port.id).status_code == 202
    assert world.client.delete(deleted, token=ALICE).status_code == 204


@pytest.mark.parametrize(
    ("error", "kept"), [(exception.NoCapacity("full"), False), (exception.Timeout("?"), True)]
)
def test_a_port_that_was_not_attached_is_free(world, server, bus, port, error, kept):
    """One that may be attached yet is kept for its server, until it is attached or detached."""
    bus.answers["attach_interface"] = error
    attach(world, server, port_id=port.id)
    assert holder(world, port) == (server if kept else "")
    bus.answers["attach_interface"] = a_vif(id=port.id)
    assert attach(world, server, port_id=port.id).status_code == 200
    assert detach(world, server, port.id).status_code == 404  # its row does not have it
    assert holder(world, port) == ""


def test_the_port_of_another_project_is_not_found(world, server, network):
    theirs = world.port(network, project_id="other")
    assert attach(world, server, port_id=theirs.id).status_code == 404


@pytest.mark.parametrize(
    "state",
    [
        {"vm_state": states.ACTIVE, "task_state": states.POWERING_OFF},
        {"vm_state": states.SUSPENDED, "task_state": None},
        {"vm_state": states.ERROR, "task_state": None},
        {"vm_state": states.BUILDING, "task_state": states.SPAWNING},
        {"vm_state": states.ACTIVE, "task_state": None, "locked": True, "locked_by": "admin"},
    ],
)
def test_interfaces_of_a_server_in_no_state_for_it_stay_as_they_are(world, vif, bus, state):
    server = world.place(CELL1, host="h1", network_info=NetworkInfo.of(vifs=[vif]), **state)
    for answer in (attach(world, server.uuid), detach(world, server.uuid, vif.id)):
        assert answer.status_code == 409
    assert bus.sent == []
