"""Resetting states, reading consoles and deleting by force."""

import pytest

from roost import states
from roost.api.dependencies import ApiOptions
from roost.db.cell import faults, operations
from roost.objects.mapping import CELL0_UUID
from roost.operations.transitions import RESETS
from tests import api_harness
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, a_uuid
from tests.functional.api.sample_requests import say_that_it_is_up
from tests.functional.api.test_server_actions import ACTIVE, act, conflict, history, sent

REST = (*states.AS_FOUND.values(), states.ERROR)
UNDER_TASKS = [(s.vm, s.task) for s in RESETS if s.task is not None]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """One for all: each test has a server of its own."""
    with api_harness.made_in(tmp_path_factory.mktemp("world"), ApiOptions()) as world:
        yield world


@pytest.fixture(autouse=True)
def nothing_was_said(world):
    """The host is up, however long the tests before took, and has heard nothing yet."""
    say_that_it_is_up(world, "h1")
    sent(world).clear()


def reset(world, uuid, state, token=ADMIN):
    return act(world, uuid, {"os-resetState": {"state": state}}, token=token)


def console(world, uuid, asked=None, token=ALICE):
    return act(world, uuid, {"os-getConsoleOutput": {} if asked is None else asked}, token=token)


def fault(world, uuid):
    with world.databases[CELL1].read() as session:
        return faults.latest(session, [uuid]).get(uuid)


@pytest.mark.parametrize("state", ["active", "error"])
@pytest.mark.parametrize(("vm_state", "task"), [*((vm, None) for vm in REST), *UNDER_TASKS])
def test_a_server_is_declared_and_its_task_is_over(world, vm_state, task, state):
    server = world.place(CELL1, **ACTIVE | {"vm_state": vm_state, "task_state": task})
    answer = reset(world, server.uuid, state)
    assert (answer.status_code, answer.content) == (202, b"")
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state, row.host) == (state, None, "h1")
    assert sent(world) == []


def test_a_task_that_was_under_way_ends_in_the_history_with_the_reason(world):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, {"os-stop": None})
    reset(world, server.uuid, "active")
    (action,) = history(world, server.uuid)
    assert action.finish_time is not None
    assert "administrator has reset" in action.message


def test_no_sweep_takes_up_what_was_reset(world):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, {"os-stop": None})
    reset(world, server.uuid, "error")
    with world.databases[CELL1].begin() as session:
        taken = operations.take_overdue(session, seconds=-1)
    assert server.uuid not in {one.instance_uuid for one in taken}


def test_a_server_declared_to_be_in_error_says_why_and_one_that_was_keeps_its_reason(world):
    server = world.place(CELL1, **ACTIVE)
    reset(world, server.uuid, "error")
    first = fault(world, server.uuid)
    assert "administrator has reset" in first.message
    reset(world, server.uuid, "error")
    assert fault(world, server.uuid).created_at == first.created_at


@pytest.mark.parametrize("task", [*states.BUILD_TASKS, states.DELETING])
@pytest.mark.parametrize("state", ["active", "error"])
def test_what_is_being_built_or_deleted_cannot_be_declared_anything(world, task, state):
    vm_state = states.ACTIVE if task == states.DELETING else states.BUILDING
    server = world.place(CELL1, **ACTIVE | {"vm_state": vm_state, "task_state": task})
    told = conflict(reset(world, server.uuid, state))
    where = "task_state deleting" if task == states.DELETING else "vm_state building"
    assert told == f"Cannot 'reset' instance {server.uuid} while it is in {where}"
    assert world.instance(server.uuid).task_state == task


def test_neither_a_wish_nor_a_server_on_no_host_becomes_active(world):
    build_request, failed = (
        world.build_request(),
        world.place(CELL0_UUID, vm_state=states.ERROR, task_state=None),
    )
    assert "vm_state building" in conflict(reset(world, build_request.uuid, "error"))
    assert conflict(reset(world, failed.uuid, "active")) == f"Instance {failed.uuid} is not ready"


@pytest.mark.parametrize("asked", [None, {}, {"state": "paused"}, {"state": "active", "x": 1}])
def test_another_state_is_refused(world, asked):
    server = world.place(CELL1, **ACTIVE)
    body = {"os-resetState": asked}
    assert act(world, server.uuid, body, token=ADMIN).status_code == 400


def test_users_declare_nothing(world):
    server = world.place(CELL1, **ACTIVE)
    assert reset(world, server.uuid, "error", token=ALICE).status_code == 403
    assert reset(world, a_uuid(), "error").status_code == 404


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ({}, None),
        ({"length": None}, None),
        ({"length": -1}, None),
        ({"length": "-1"}, None),
        ({"length": 0}, 0),
        ({"length": 5}, 5),
        ({"length": "50"}, 50),
    ],
)
def test_a_console_is_read_from_its_host(world, asked, lines):
    server = world.place(CELL1, **ACTIVE)
    world.buses["fake://cell1/"].answers["get_console_output"] = "hello\n\x1b[0mlogin:\t\n"
    answer = console(world, server.uuid, asked)
    assert (answer.status_code, answer.json) == (200, {"output": "hello\n[0mlogin:\t\n"})
    arguments = {"instance_uuid": server.uuid, "lines": lines}
    assert sent(world) == [("h1", "get_console_output", arguments)]


@pytest.mark.parametrize(
    "asked",
    [None, {"length": -2}, {"length": 1.5}, {"length": "many"}, {"length": ""}, {"lines": 1}],
)
def test_a_length_that_is_none_is_refused(world, asked):
    server = world.place(CELL1, **ACTIVE)
    assert act(world, server.uuid, {"os-getConsoleOutput": asked}).status_code == 400
    assert sent(world) == []


def test_a_server_on_no_host_has_no_console(world):
    build_request, failed = (
        world.build_request(),
        world.place(CELL0_UUID, vm_state=states.ERROR, task_state=None),
    )
    for server in (build_request, failed):
        assert conflict(console(world, server.uuid)) == f"Instance {server.uuid} is not ready"
    assert console(world, a_uuid()).status_code == 404


def test_a_server_is_deleted_by_force_as_by_delete(world):
    server = world.place(CELL1, **ACTIVE)
    assert act(world, server.uuid, {"forceDelete": None}).status_code == 202
    assert world.instance(server.uuid).task_state == states.DELETING
    assert world.mapping(server.uuid).queued_for_delete
    assert [method for _, method, _ in sent(world)] == ["run"]


def test_a_wish_is_withdrawn_by_force(world):
    build_request = world.build_request()
    assert act(world, build_request.uuid, {"forceDelete": None}).status_code == 202
    assert world.mapping(build_request.uuid) is None
    assert act(world, build_request.uuid, {"forceDelete": None}).status_code == 404
