"""Stopping, starting, pausing servers and so on through the API; casts to hosts are recorded."""

import pytest
import sqlalchemy as sa

from roost import states
from roost.db.cell import actions, models, operations, services
from roost.objects.mapping import CELL0_UUID
from roost.operations import kinds
from tests.api_harness import ALICE, TASK_SECONDS
from tests.builders import CELL1, NOW, a_uuid
from tests.functional.api.sample_requests import say_that_it_is_up

ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1", "node": "h1"}
STOPPED = ACTIVE | {"vm_state": states.STOPPED}
ERROR = ACTIVE | {"vm_state": states.ERROR}
PAUSED = ACTIVE | {"vm_state": states.PAUSED}
SUSPENDED = ACTIVE | {"vm_state": states.SUSPENDED}
PAUSE, UNPAUSE, SUSPEND, RESUME = (
    {word: None} for word in ("pause", "unpause", "suspend", "resume")
)
STOP, START = {"os-stop": None}, {"os-start": None}
SOFT, HARD = {"reboot": {"type": "SOFT"}}, {"reboot": {"type": "HARD"}}


def act(world, uuid, body, token=ALICE):
    return world.client.post(f"/v2.1/servers/{uuid}/action", body, token=token)


def conflict(answer):
    assert answer.status_code == 409
    return answer.json["conflictingRequest"]["message"]


def sent(world):
    return world.buses["fake://cell1/"].sent


def history(world, uuid):
    with world.databases[CELL1].read() as session:
        return actions.list_actions(session, uuid)


@pytest.mark.parametrize(
    ("values", "body", "task", "word"),
    [
        (ACTIVE, STOP, states.POWERING_OFF, "stop"),
        (ERROR, STOP, states.POWERING_OFF, "stop"),
        (STOPPED, START, states.POWERING_ON, "start"),
        (ACTIVE, SOFT, states.REBOOTING, "reboot"),
        (ACTIVE, {"reboot": {"type": "Soft"}}, states.REBOOTING, "reboot"),
        (ACTIVE, HARD, states.REBOOTING_HARD, "reboot"),
        (ACTIVE, {"reboot": {"type": "hard"}}, states.REBOOTING_HARD, "reboot"),
        (STOPPED, HARD, states.REBOOTING_HARD, "reboot"),
        (ERROR, HARD, states.REBOOTING_HARD, "reboot"),
        (PAUSED, HARD, states.REBOOTING_HARD, "reboot"),
        (SUSPENDED, HARD, states.REBOOTING_HARD, "reboot"),
        (ACTIVE, PAUSE, states.PAUSING, "pause"),
        (PAUSED, UNPAUSE, states.UNPAUSING, "unpause"),
        (ACTIVE, SUSPEND, states.SUSPENDING, "suspend"),
        (SUSPENDED, RESUME, states.RESUMING, "resume"),
    ],
)
def test_what_is_to_be_done_is_written_down_and_told(world, values, body, task, word):
    server = world.place(CELL1, **values)
    answer = act(world, server.uuid, body)
    assert (answer.status_code, answer.content) == (202, b"")
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state) == (values["vm_state"], task)
    ((host, method, told),) = sent(world)
    operation = told["operation"]
    assert (host, method, operation.instance_uuid) == ("h1", "run", server.uuid)
    assert kinds.get(operation.kind).first == task
    (action,) = history(world, server.uuid)
    assert (action.action, action.user_id, action.finish_time) == (word, "alice", None)
    assert action.request_id == answer.headers["x-openstack-request-id"]


@pytest.mark.parametrize("body", [STOP, PAUSE, SOFT])
def test_the_message_gives_the_host_the_lease_that_its_row_has(world, body):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, body)
    ((_host, _method, told),) = sent(world)
    given = told["operation"].given
    assert (given.until - given.since).total_seconds() == TASK_SECONDS
    with world.databases[CELL1].read() as session:
        (until,) = session.scalars(sa.select(models.operations.c.lease_until))
    assert until == given.until


@pytest.mark.parametrize("body", [None, {"createImage": {"name": "image"}}])
def test_a_message_alone_deletes_nothing_and_makes_no_image(world, body):
    server = world.place(CELL1, **ACTIVE)
    if body is None:
        world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE)
    else:
        act(world, server.uuid, body)
    ((_host, _method, told),) = sent(world)
    assert told["operation"].given is None


def test_a_soft_reboot_under_way_can_be_made_a_hard_one(world):
    server = world.place(CELL1, **ACTIVE)
    assert [act(world, server.uuid, body).status_code for body in (SOFT, HARD)] == [202, 202]
    assert world.instance(server.uuid).task_state == states.REBOOTING_HARD


@pytest.mark.parametrize(
    ("values", "body", "message"),
    [
        (STOPPED, STOP, "Cannot 'stop' instance {} while it is in vm_state stopped"),
        (ACTIVE, START, "Cannot 'start' instance {} while it is in vm_state active"),
        (ERROR, START, "Cannot 'start' instance {} while it is in vm_state error"),
        (STOPPED, SOFT, "Cannot 'reboot' instance {} while it is in vm_state stopped"),
        (PAUSED, SOFT, "Cannot 'reboot' instance {} while it is in vm_state paused"),
        (PAUSED, STOP, "Cannot 'stop' instance {} while it is in vm_state paused"),
        (SUSPENDED, STOP, "Cannot 'stop' instance {} while it is in vm_state suspended"),
        (SUSPENDED, START, "Cannot 'start' instance {} while it is in vm_state suspended"),
        (STOPPED, PAUSE, "Cannot 'pause' instance {} while it is in vm_state stopped"),
        (PAUSED, PAUSE, "Cannot 'pause' instance {} while it is in vm_state paused"),
        (ACTIVE, UNPAUSE, "Cannot 'unpause' instance {} while it is in vm_state active"),
        (PAUSED, SUSPEND, "Cannot 'suspend' instance {} while it is in vm_state paused"),
        (ERROR, SUSPEND, "Cannot 'suspend' instance {} while it is in vm_state error"),
        (PAUSED, RESUME, "Cannot 'resume' instance {} while it is in vm_state paused"),
        (
            ACTIVE | {"task_state": "pausing"},
            SUSPEND,
            "Cannot 'suspend' instance {} while it is in task_state pausing",
        ),
        (
            {"vm_state": "building", "task_state": "spawning", "host": "h1"},
            HARD,
            "Cannot 'reboot' instance {} while it is in vm_state building",
        ),
        (
            ACTIVE | {"task_state": "powering-off"},
            STOP,
            "Cannot 'stop' instance {} while it is in task_state powering-off",
        ),
        (
            ACTIVE | {"task_state": "deleting"},
            HARD,
            "Cannot 'reboot' instance {} while it is in task_state deleting",
        ),
        (
            ACTIVE | {"task_state": "rebooting_hard"},
            SOFT,
            "Cannot 'reboot' instance {} while it is in task_state rebooting_hard",
        ),
    ],
)
def test_what_its_state_forbids_is_refused_and_changes_nothing(world, values, body, message):
    server = world.place(CELL1, **values)
    assert conflict(act(world, server.uuid, body)) == message.format(server.uuid)
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state) == (values["vm_state"], values["task_state"])
    assert sent(world) == []
    assert history(world, server.uuid) == []


def test_a_wish_cannot_be_stopped_yet(world):
    server = world.build_request()
    told = conflict(act(world, server.uuid, STOP))
    assert told == f"Cannot 'stop' instance {server.uuid} while it is in vm_state building"


@pytest.mark.parametrize("body", [STOP, HARD])
def test_a_server_that_no_host_could_take_is_not_ready(world, body):
    server = world.place(CELL0_UUID, vm_state=states.ERROR, task_state=None)
    assert conflict(act(world, server.uuid, body)) == f"Instance {server.uuid} is not ready"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"os-stop": None, "os-start": None},
        {"reboot": None},
        {"reboot": {}},
        {"reboot": {"type": "GENTLE"}},
        {"reboot": {"type": "SOFT", "twice": True}},
        {"levitate": {}},
    ],
)
def test_a_bad_body_is_refused(world, body):
    server = world.place(CELL1, **ACTIVE)
    assert act(world, server.uuid, body).status_code == 400
    assert world.instance(server.uuid).task_state is None


def test_a_server_that_there_is_not_cannot_be_told_anything(world):
    gone = world.place(CELL1, project_id="other", **ACTIVE)
    for uuid in (a_uuid(), "x", gone.uuid):
        assert act(world, uuid, STOP).status_code == 404
    assert sent(world) == []


def test_a_bus_that_is_away_does_not_stop_a_stop(world):
    server = world.place(CELL1, **ACTIVE)
    world.buses["fake://cell1/"].away = True
    assert act(world, server.uuid, STOP).status_code == 202
    assert world.instance(server.uuid).task_state == states.POWERING_OFF


@pytest.mark.parametrize("values", [PAUSED, SUSPENDED, STOPPED, ERROR])
def test_a_server_at_rest_is_deleted_from_any_state(world, values):
    server = world.place(CELL1, **values)
    assert world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE).status_code == 204
    assert world.instance(server.uuid).task_state == states.DELETING


@pytest.mark.parametrize("body", [STOP, PAUSE, SUSPEND])
def test_a_delete_comes_before_all_else(world, body):
    server = world.place(CELL1, **ACTIVE)
    act(world, server.uuid, body)
    assert world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE).status_code == 204
    assert world.instance(server.uuid).task_state == states.DELETING
    assert [method for _, method, _ in sent(world)] == ["run", "run"]


@pytest.mark.parametrize(
    ("values", "status"),
    [
        (STOPPED | {"power_state": states.SHUTDOWN}, "SHUTOFF"),
        (STOPPED | {"task_state": states.POWERING_ON}, "SHUTOFF"),
        (ACTIVE | {"task_state": states.POWERING_OFF}, "ACTIVE"),
        (ACTIVE | {"task_state": states.REBOOTING}, "REBOOT"),
        (ACTIVE | {"task_state": states.REBOOTING_HARD}, "HARD_REBOOT"),
        (STOPPED | {"task_state": states.REBOOTING_HARD}, "SHUTOFF"),
        (ERROR | {"task_state": states.REBOOTING_HARD}, "ERROR"),
        (PAUSED | {"power_state": states.HELD}, "PAUSED"),
        (PAUSED | {"task_state": states.UNPAUSING}, "PAUSED"),
        (SUSPENDED | {"power_state": states.SAVED}, "SUSPENDED"),
        (ACTIVE | {"task_state": states.SUSPENDING}, "ACTIVE"),
        (ACTIVE | {"vm_state": states.RESCUED}, "RESCUE"),
        (ACTIVE | {"task_state": states.REBUILD_SPAWNING}, "REBUILD"),
        (ERROR | {"task_state": states.REBUILDING}, "REBUILD"),
        (ACTIVE | {"task_state": states.UPDATING_PASSWORD}, "PASSWORD"),
        (STOPPED | {"task_state": states.RESCUING}, "SHUTOFF"),
    ],
)
def test_the_status_tells_what_goes_on_and_can_be_asked_for(world, values, status):
    server = world.place(CELL1, **values)
    other = world.place(CELL1, **ACTIVE | {"task_state": states.DELETING})
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).json["server"]
    assert shown["status"] == status
    assert shown["OS-EXT-STS:task_state"] == values["task_state"]
    assert shown["OS-EXT-STS:power_state"] == values.get("power_state", 0)
    found = world.client.get(f"/v2.1/servers?status={status}", token=ALICE).json["servers"]
    expected = {server.uuid} | ({other.uuid} if status == "ACTIVE" else set())
    assert {one["id"] for one in found} == expected


def test_a_second_action_is_told_what_is_under_way_and_since_when(world):
    server = world.place(CELL1, **ACTIVE)
    assert act(world, server.uuid, STOP).status_code == 202
    told = conflict(act(world, server.uuid, PAUSE))
    assert told.startswith(f"Cannot 'pause' instance {server.uuid} while it is in task_state")
    with world.databases[CELL1].read() as session:
        since = operations.find(session, server.uuid).created_at
    assert told.endswith(f"powering-off: 'stop' is under way since {since:%Y-%m-%dT%H:%M:%SZ}")


def test_an_action_that_preempts_another_ends_it_with_the_reason(world):
    server = world.place(CELL1, **ACTIVE)
    for body in (SOFT, HARD):
        act(world, server.uuid, body)
    hard, soft = history(world, server.uuid)
    assert (hard.finish_time, soft.finish_time is None) == (None, False)
    assert soft.message == "It was ended by another action: reboot."
    world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE)
    assert history(world, server.uuid)[1].message == "It was ended by another action: delete."


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"last_seen_up": NOW}, f"its host is down since {NOW:%Y-%m-%dT%H:%M:%SZ}"),
        ({"forced_down": True}, "its host is down since"),
        ({"version": "0.9"}, "its host is too old for it"),
    ],
)
def test_an_action_on_a_host_that_cannot_do_it_is_refused_at_once(world, values, why):
    server = world.place(CELL1, **ACTIVE)
    report(world, values)
    assert why in conflict(act(world, server.uuid, STOP))
    assert world.instance(server.uuid).task_state is None
    assert (history(world, server.uuid), sent(world)) == ([], [])


def test_while_no_conductor_takes_reports_no_host_is_down(world):
    server = world.place(CELL1, **ACTIVE)
    report(world, {"last_seen_up": NOW}, conductor={"last_seen_up": NOW})
    assert act(world, server.uuid, STOP).status_code == 202


def report(world, values, conductor=None):
    """Let the host and a conductor of its cell have reported, with other values than usual."""
    say_that_it_is_up(world, "h1")
    binary = models.services.c.binary
    with world.databases[CELL1].begin() as session:
        services.report(session, host="c1", binary="roost-cell-conductor")
        itself = sa.update(models.services).where(binary == "roost-compute")
        session.execute(itself.values(**values))
        itself = sa.update(models.services).where(binary == "roost-cell-conductor")
        session.execute(itself.values(**(conductor or {"forced_down": False})))
