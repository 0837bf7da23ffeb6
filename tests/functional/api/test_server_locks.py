"""Locking and unlocking servers, and what a lock keeps people from."""

import pytest

from roost import states
from roost.objects.mapping import CELL0_UUID
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, a_uuid
from tests.functional.api.test_server_actions import ACTIVE, act, conflict, history, sent

LOCK, UNLOCK = {"lock": None}, {"unlock": None}
BOB = "bob:project"


def locked(world, uuid, version="2.73"):
    shown = world.client.get(f"/v2.1/servers/{uuid}", version=version).json["server"]
    return shown.get("locked"), shown.get("locked_reason")


def act_at(world, uuid, body, version, token=ALICE):
    path = f"/v2.1/servers/{uuid}/action"
    return world.client.post(path, body, token=token, version=version)


def names(world, query, version="2.73"):
    path = f"/v2.1/servers/detail?{query}"
    found = world.client.get(path, version=version, token=ALICE).json["servers"]
    return [server["name"] for server in found]


def test_a_server_is_locked_and_unlocked(world):
    server = world.place(CELL1, **ACTIVE)
    assert locked(world, server.uuid) == (False, None)
    answer = act(world, server.uuid, LOCK)
    assert (answer.status_code, answer.content) == (202, b"")
    assert locked(world, server.uuid) == (True, None)
    assert act(world, server.uuid, UNLOCK).status_code == 202
    assert locked(world, server.uuid) == (False, None)
    assert [one.action for one in history(world, server.uuid)] == ["unlock", "lock"]
    assert all(one.finish_time for one in history(world, server.uuid))
    assert sent(world) == []


@pytest.mark.parametrize(
    "asked",
    [{"locked_reason": ""}, {"locked_reason": "x" * 256}, {"locked_reason": 1}, {"x": 1}, 1],
)
def test_a_bad_reason_is_refused(world, asked):
    server = world.place(CELL1, **ACTIVE)
    assert act_at(world, server.uuid, {"lock": asked}, "2.73").status_code == 400
    assert locked(world, server.uuid) == (False, None)


@pytest.mark.parametrize(
    "body",
    [
        {"os-stop": None},
        {"os-start": None},
        {"reboot": {"type": "HARD"}},
        {"pause": None},
        {"unpause": None},
        {"suspend": None},
        {"resume": None},
        {"forceDelete": None},
    ],
)
def test_a_locked_server_is_left_alone_by_all_but_administrators(world, body):
    server = world.place(CELL1, **ACTIVE, locked=True, locked_by="owner")
    told = conflict(act(world, server.uuid, body))
    assert told == f"Instance {server.uuid} is locked"
    assert world.instance(server.uuid).task_state is None
    assert sent(world) == []


def test_an_administrator_acts_on_a_locked_server(world):
    server = world.place(CELL1, **ACTIVE, locked=True, locked_by="owner")
    assert act(world, server.uuid, {"os-stop": None}, token=ADMIN).status_code == 202
    assert world.client.delete(f"/v2.1/servers/{server.uuid}", token=ADMIN).status_code == 204
    assert world.instance(server.uuid).task_state == states.DELETING


def test_a_locked_server_is_not_deleted_until_it_is_unlocked(world):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, LOCK)
    told = conflict(world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE))
    assert told == f"Instance {server.uuid} is locked"
    assert not world.mapping(server.uuid).queued_for_delete
    act(world, server.uuid, UNLOCK)
    assert world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE).status_code == 204


def test_a_locked_server_can_be_renamed_and_its_console_read(world):
    server = world.place(CELL1, **ACTIVE, locked=True, locked_by="owner")
    renamed = {"server": {"name": "new"}}
    path = f"/v2.1/servers/{server.uuid}"
    assert world.client.put(path, renamed, token=ALICE).status_code == 200
    assert act(world, server.uuid, {"os-getConsoleOutput": {}}).status_code == 200


def test_all_of_a_project_lock_and_unlock_as_its_owner(world):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, LOCK)
    assert act(world, server.uuid, UNLOCK, token=BOB).status_code == 202
    assert locked(world, server.uuid) == (False, None)


def test_what_an_administrator_has_locked_only_they_unlock(world):
    server = world.place(CELL1, **ACTIVE)
    act_at(world, server.uuid, {"lock": {"locked_reason": "unpaid"}}, "2.73", ADMIN)
    answer = act(world, server.uuid, UNLOCK)
    assert answer.status_code == 403
    assert "os-lock-server:unlock:unlock_override" in answer.json["forbidden"]["message"]
    assert locked(world, server.uuid) == (True, "unpaid")
    assert act(world, server.uuid, UNLOCK, token=ADMIN).status_code == 202
    assert locked(world, server.uuid) == (False, None)


def test_an_owner_cannot_make_an_administrators_lock_their_own(world):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, LOCK, token=ADMIN)
    assert act(world, server.uuid, LOCK).status_code == 202
    assert world.instance(server.uuid).locked_by == "admin"
    assert act(world, server.uuid, UNLOCK).status_code == 403


def test_an_unlocked_server_may_be_unlocked(world):
    server = world.place(CELL1, **ACTIVE)
    assert act(world, server.uuid, UNLOCK).status_code == 202


def test_a_wish_cannot_be_locked_yet_and_a_server_without_a_host_can(world):
    build_request, failed = (
        world.build_request(),
        world.place(CELL0_UUID, vm_state=states.ERROR, task_state=None),
    )
    assert "is being scheduled" in conflict(act(world, build_request.uuid, LOCK))
    assert act(world, failed.uuid, LOCK).status_code == 202
    assert world.instance(failed.uuid, CELL0_UUID).locked


def test_a_server_that_there_is_not_cannot_be_locked(world):
    strange = world.place(CELL1, project_id="other", **ACTIVE)
    for uuid in (a_uuid(), strange.uuid):
        for body in (LOCK, UNLOCK):
            assert act(world, uuid, body).status_code == 404


def test_since_2_73_lists_ask_for_locked_servers_or_the_others(world):
    world.place(CELL1, **ACTIVE, display_name="closed", locked=True, locked_by="owner")
    world.place(CELL1, **ACTIVE, display_name="open")
    world.build_request(display_name="wish")
    assert names(world, "locked=true") == ["closed"]
    assert {*names(world, "locked=0")} == {"open", "wish"}
    assert names(world, "sort_key=locked&sort_dir=desc&limit=1") == ["closed"]
    assert len(names(world, "locked=true", "2.72")) == 3


def test_a_filter_that_is_no_boolean_is_refused_and_an_order_before_its_time_ignored(world):
    for query, version, status in (
        ("locked=perhaps", "2.73", 400),
        ("sort_key=locked", "2.72", 200),
    ):
        path = f"/v2.1/servers?{query}"
        assert world.client.get(path, version=version, token=ALICE).status_code == status
