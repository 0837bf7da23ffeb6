"""The interfaces of a server: listed, shown, attached and detached."""

import threading
from concurrent import futures

import pytest

from roost import exception, states
from roost.api.servers import operations as waiting
from roost.db.cell import actions, operations
from roost.objects import NetworkInfo, NetworkRequest, PortResources
from tests.api_harness import ADMIN, ALICE, IMAGE, PRIVATE
from tests.builders import CELL1, CELL2, a_uuid, a_vif
from tests.fakes.attaching_host import AttachingHost

ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}


@pytest.fixture
def vif():
    return a_vif(tag="nic1")


@pytest.fixture
def server(world, vif):
    return world.place(CELL1, **ACTIVE, network_info=NetworkInfo.of(vifs=[vif])).uuid


@pytest.fixture(autouse=True)
def host(world):
    return AttachingHost(world)


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


def under_way(world, server):
    with world.databases[CELL1].read() as session:
        return operations.list_under_way(session, server)


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


def test_an_interface_is_attached_by_the_host_and_recorded(world, server, host):
    host.vif = {"ip": "10.0.0.7", "tag": "nic2"}
    asked = {"net_id": PRIVATE.id, "fixed_ips": [{"ip_address": "10.0.0.7"}], "tag": "nic2"}
    assert attach(world, server, **asked).status_code == 403  # what all share, members take as is
    answer = attach(world, server, token=ADMIN, **asked)
    assert answer.status_code == 200
    (operation,) = host.asked
    named = {"id": operation.params.port_id, "network_id": PRIVATE.id}
    made = a_vif(**named, **host.vif)
    assert answer.json == {"interfaceAttachment": shown(made, tag="nic2")}
    request = operation.params.request
    assert (operation.host, request.network_id, request.fixed_ip, request.tag) == (
        *("h1", PRIVATE.id, "10.0.0.7", "nic2"),
    )
    action = history(world, server)
    assert (action.action, action.message) == ("attach_interface", None)
    assert action.finish_time
    assert [(one.event, one.result) for one in action.events] == [
        ("compute.attach_interface", "Success")
    ]


def test_a_port_that_the_network_service_names_is_found_by_its_mark(world, server, host):
    host.vif = {"id": a_uuid(), "key": "mark"}
    change = host._change

    def mark(session, operation):
        host.vif["key"] = operation.params.port_id
        change(session, operation)

    host._change = mark
    answer = attach(world, server)
    assert answer.json["interfaceAttachment"]["port_id"] == host.vif["id"]


def test_without_a_network_it_is_the_first(world, server, host):
    attach(world, server)
    assert host.asked[0].params.request.network_id == PRIVATE.id


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
def test_what_the_host_refuses_is_told_and_recorded(world, server, host, error, status):
    host.error = error
    assert attach(world, server).status_code == status
    action = history(world, server)
    assert action.message
    assert action.finish_time
    assert [one.result for one in action.events] == ["Error"]


def test_an_interface_is_detached_by_the_host_and_recorded(world, server, vif, host):
    answer = detach(world, server, vif.id)
    assert (answer.status_code, answer.content) == (202, b"")
    (operation,) = host.asked
    assert (operation.host, operation.params.port_id) == ("h1", vif.id)
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


def holder(world, port):
    shown = world.client.get(f"/network/v2.0/ports/{port.id}", token=ALICE).json["port"]
    return shown["device_id"]


def test_a_port_made_beforehand_is_attached_and_free_again_once_detached(world, server, host, port):
    other = world.place(CELL1, **ACTIVE).uuid
    for _ in range(2):
        assert attach(world, server, port_id=port.id).status_code == 200
        request = host.asked[-1].params.request
        assert (request.port_id, request.fixed_ip, request.mac) == (port.id, port.ip, port.mac)
        assert holder(world, port) == server
        for one in (server, other):
            assert attach(world, one, port_id=port.id).status_code == 409
        assert detach(world, server, port.id).status_code == 202
        assert holder(world, port) == ""


def test_a_network_that_a_user_made_is_in_use_while_it_is_attached(world, server, network, port):
    answer = attach(world, server, net_id=network)
    attached = answer.json["interfaceAttachment"]["port_id"]
    assert world.client.delete(f"/network/v2.0/ports/{port.id}", token=ALICE).status_code == 204
    deleted = f"/network/v2.0/networks/{network}"
    assert world.client.delete(deleted, token=ALICE).status_code == 409
    assert detach(world, server, attached).status_code == 202
    assert world.client.delete(deleted, token=ALICE).status_code == 204


def test_a_port_that_was_not_attached_is_free(world, server, host, port):
    host.error = exception.NoCapacity("full")
    assert attach(world, server, port_id=port.id).status_code == 409
    assert holder(world, port) == ""


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 0.1)


def test_who_waits_too_long_is_told_and_the_host_goes_on(world, server, host, port, impatient):
    host.silent = True
    assert attach(world, server, port_id=port.id).status_code == 504
    (operation,) = under_way(world, server)
    again = attach(world, server, port_id=port.id)
    assert again.status_code == 409
    since = f"'attach_interface' is under way since {operation.created_at:%Y-%m-%dT%H:%M:%SZ}"
    assert since in again.json["conflictingRequest"]["message"]
    for other in ({"os-stop": None}, {"rebuild": {"imageRef": IMAGE}}):
        told = world.client.post(f"/v2.1/servers/{server}/action", other, token=ALICE)
        assert told.status_code == 409
        assert since in told.json["conflictingRequest"]["message"]
    assert detach(world, server, port.id).status_code == 404
    assert holder(world, port) == server  # it may be attached yet
    host.end(host.asked[0])
    assert history(world, server).message is None
    host.silent = False
    assert detach(world, server, port.id).status_code == 202
    assert holder(world, port) == ""


def test_a_port_whose_attachment_failed_after_the_caller_left_is_freed_by_a_detach(
    world, server, host, port, impatient
):
    host.silent, host.error = True, exception.NoCapacity("full")
    attach(world, server, port_id=port.id)
    host.end(host.asked[0])
    assert holder(world, port) == server
    assert detach(world, server, port.id).status_code == 404
    assert holder(world, port) == ""


def test_a_delete_of_the_server_ends_what_is_attached_to_it(world, server, host, impatient):
    host.silent = True
    attach(world, server)
    assert world.client.delete(f"/v2.1/servers/{server}", token=ALICE).status_code == 204
    assert [one.kind for one in under_way(world, server)] == ["delete"]


def test_what_ends_without_its_host_is_a_conflict_with_the_reason(world, server, host):
    host.silent = True

    def give_up():
        while not host.asked:
            threading.Event().wait(0.01)
        with world.databases[CELL1].begin() as session:
            operations.preempt(session, server, "The host of the server went down.")

    with futures.ThreadPoolExecutor() as threads:
        threads.submit(give_up)
        answer = attach(world, server)
    assert answer.status_code == 409
    assert answer.json["conflictingRequest"]["message"] == "The host of the server went down."


@pytest.mark.parametrize("beside", [{"createImage": {"name": "a"}}, None])
def test_three_at_once_are_attached_beside_an_image_that_is_made(world, server, host, beside):
    if beside is not None:
        path = f"/v2.1/servers/{server}/action"
        assert world.client.post(path, beside, token=ALICE).status_code == 202
    with futures.ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(attach, world, server) for _ in range(3)]
        assert [one.result(60).status_code for one in asked] == [200] * 3
    assert len(world.instance(server).network_info.vifs) == 4


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
