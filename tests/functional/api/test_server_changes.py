import pytest

from roost import states
from roost.db.api import build_requests
from roost.db.cell import instances
from roost.objects.mapping import CELL0_UUID
from tests.api_harness import ADMIN, ALICE, IMAGE
from tests.builders import CELL1

_ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1", "node": "h1"}


def _delete(world, uuid, token=ALICE):
    return world.client.delete(f"/v2.1/servers/{uuid}", token=token).status_code


def _create(world):
    body = {"server": {"name": "web", "flavorRef": "1", "imageRef": IMAGE}}
    return world.client.post("/v2.1/servers", body, token=ALICE).json["server"]["id"]


def test_a_wish_is_withdrawn_at_once_and_leaves_nothing(world):
    uuid = _create(world)
    assert _delete(world, uuid) == 204
    assert world.mapping(uuid) is None
    assert set(world.usage().values()) == {0}
    assert _delete(world, uuid) == 404


def test_a_wish_that_is_withdrawn_while_it_is_placed_is_not_there_again(world):
    """A super-conductor creates its row all the same, and removes it a moment later."""
    kept, uuid = world.place(CELL1, **_ACTIVE), _create(world)
    with world.api_db.begin() as session:
        build_requests.lease(session, owner="me", seconds=60, instance_uuids=[uuid])
        build_requests.target_cell(session, {uuid: CELL1}, owner="me")
        placed = build_requests.find(session, uuid).instance
    assert _delete(world, uuid) == 204
    placed.host, placed.attempt = "h1", 1
    with world.databases[CELL1].begin() as session:
        instances.create(session, placed)
    server = f"/v2.1/servers/{uuid}"
    for path in ("", "/metadata", "/os-interface", "/os-instance-actions", "/ips"):
        assert world.client.get(f"{server}{path}", token=ALICE).status_code == 404, path
    stop = world.client.post(f"{server}/action", {"os-stop": None}, token=ALICE)
    assert (stop.status_code, _delete(world, uuid)) == (404, 404)
    for path in ("servers", "servers/detail", "servers?limit=1"):
        page = world.client.get(f"/v2.1/{path}", token=ALICE).json["servers"]
        assert [one["id"] for one in page] == [kept.uuid], path


def test_the_delete_of_a_placed_server_goes_to_its_host(world):
    server = world.place(CELL1, **_ACTIVE)
    assert _delete(world, server.uuid) == 204
    assert world.instance(server.uuid).task_state == states.DELETING
    assert world.mapping(server.uuid).queued_for_delete
    ((host, method, told),) = world.buses["fake://cell1/"].sent
    assert (host, method, told["operation"].kind) == ("h1", "run", "delete")
    assert told["operation"].instance_uuid == server.uuid


def test_a_delete_may_be_asked_again_while_the_server_is_there(world):
    server = world.place(CELL1, **_ACTIVE)
    assert [_delete(world, server.uuid) for _ in range(2)] == [204, 204]
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, server.uuid)
    assert _delete(world, server.uuid) == 404


def test_the_quota_is_given_back_once(world):
    uuid = _create(world)
    server = world.place(CELL1, **_ACTIVE)  # counted by nobody, so it shows what is given back
    for _ in range(2):
        _delete(world, server.uuid)
    assert set(world.usage().values()) == {0}
    assert world.mapping(uuid) is not None


def test_a_server_in_cell0_is_buried_at_once(world):
    server = world.place(CELL0_UUID, vm_state=states.ERROR, task_state=None)
    assert _delete(world, server.uuid) == 204
    assert world.instance(server.uuid, CELL0_UUID).vm_state == states.DELETED
    assert world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).status_code == 404


def test_a_name_and_a_description_change(world):
    server = world.place(CELL1, **_ACTIVE)
    body = {"server": {"name": "new", "description": "words", "accessIPv4": "10.0.0.9"}}
    answer = world.client.put(f"/v2.1/servers/{server.uuid}", body, token=ALICE, version="2.19")
    assert answer.json["server"]["name"] == "new"
    assert answer.json["server"]["description"] == "words"
    assert answer.json["server"]["accessIPv4"] == "10.0.0.9"


def test_a_wish_cannot_be_renamed_yet(world):
    uuid = _create(world)
    answer = world.client.put(f"/v2.1/servers/{uuid}", {"server": {"name": "b"}}, token=ALICE)
    assert answer.json["conflictingRequest"]["code"] == 409


@pytest.mark.parametrize("body", [{}, {"server": {"name": ""}}, {"server": {"x": 1}}])
def test_a_bad_change_is_refused(world, body):
    server = world.place(CELL1, **_ACTIVE)
    assert world.client.put(f"/v2.1/servers/{server.uuid}", body, token=ALICE).status_code == 400


def test_a_change_of_nothing_shows_the_server(world):
    server = world.place(CELL1, display_name="same", **_ACTIVE)
    answer = world.client.put(f"/v2.1/servers/{server.uuid}", {"server": {}}, token=ALICE)
    assert (answer.status_code, answer.json["server"]["name"]) == (200, "same")


def test_an_address_is_kept_as_short_as_it_can_be(world):
    server = world.place(CELL1, **_ACTIVE)
    body = {"server": {"accessIPv6": "0000:0000:0000:0000:0000:babe:220.12.22.2"}}
    shown = world.client.put(f"/v2.1/servers/{server.uuid}", body, token=ALICE).json["server"]
    assert shown["accessIPv6"] == "::babe:dc0c:1602"


def test_an_action_that_compute_has_given_up_is_gone(world):
    server = world.place(CELL1, **_ACTIVE)
    path = f"/v2.1/servers/{server.uuid}/action"
    assert world.client.post(path, {"resetNetwork": None}, token=ALICE).status_code == 410


@pytest.mark.parametrize(
    ("host", "token", "status"), [("host1", ADMIN, 202), ("host1", ALICE, 403), (None, ADMIN, 409)]
)
def test_administrators_have_a_guest_told_of_its_network_where_there_is_one(
    world, host, token, status
):
    server = world.place(CELL1, **(_ACTIVE | {"host": host}))
    path = f"/v2.1/servers/{server.uuid}/action"
    answer = world.client.post(path, {"injectNetworkInfo": None}, token=token)
    assert answer.status_code == status


def test_an_action_that_there_is_not_is_told_by_name(world):
    server = world.place(CELL1, **_ACTIVE)
    path = f"/v2.1/servers/{server.uuid}/action"
    answer = world.client.post(path, {"levitate": {}}, token=ALICE)
    assert answer.json["badRequest"]["message"] == "There is no such action: levitate"


def test_an_action_that_the_microversion_lacks_is_not_found(world):
    server, action, version = world.place(CELL1, **_ACTIVE).uuid, "trigger_crash_dump", "2.16"
    path = f"/v2.1/servers/{server}/action"
    answer = world.client.post(path, {action: None}, version=version, token=ALICE)
    assert (answer.status_code, action in answer.text) == (404, True)
    hidden = world.client.post(path, {action: None}, version=version, token="bob:other")
    assert hidden.status_code == 404
