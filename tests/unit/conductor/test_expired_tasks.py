"""Tasks that nobody has been at work on for the length of their lease."""

import dataclasses

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.db.cell import actions, faults, instances, left_behind, models, operations
from roost.operations import kinds
from roost.operations.kinds import BUILD, DELETE, OF_TASK, REBUILD, RESTORE, SOFT_DELETE
from roost.operations.shelve_kinds import SHELVE_OFFLOAD
from roost.operations.transitions import TRANSITIONS
from roost.states import SHELVED_OFFLOADED
from tests.builders import an_instance
from tests.operation_rows import put_under
from tests.unit.conductor.test_builds import activate, begin
from tests.unit.conductor.test_reschedule import details, end_leases, get, row, under_way

BEGUN = (states.NETWORKING, states.SPAWNING)


def overdue(cell, *, task=states.SPAWNING, **values):
    """A build on h1 whose lease is over."""
    made = under_way(cell, task_state=task, **values)
    end_leases(cell)
    return made


@pytest.fixture(params=BEGUN)
def begun(cell, request):
    """A build that h1 has begun, and that nobody works on any more."""
    return overdue(cell, task=request.param)


def resting(cell, vm_state=states.ACTIVE, task=None, **values):
    """A server on h1, under a task if one is named, whose lease is over."""
    made = an_instance(**{"host": "h1", "attempt": 1} | values, vm_state=vm_state, task_state=task)
    with cell.database.begin() as session:
        instances.create(session, made)
        if task is not None:
            put_under(session, made)
    cell.scheduler.claims[made.uuid] = "h1"
    end_leases(cell)
    return made


def events(cell, uuid):
    with cell.database.read() as session:
        found = actions.get(session, uuid, "req-1").events
    return [(each.event, each.result, each.details) for each in found]


def told(cell):
    return [sent[:2] for sent in cell.bus.sent]


@pytest.mark.parametrize(
    "task",
    sorted(
        {
            state.task
            for state in TRANSITIONS
            if state.task not in OF_TASK
            or not (OF_TASK[state.task].why_not_resent or OF_TASK[state.task].is_move)
        }
        - {None}
    ),
)
def test_a_task_is_resent_in_the_name_of_its_request_and_project_alone(cell, task):
    if task in BUILD.tasks:
        overdue(cell, task=task)
    else:
        resting(cell, task=task)
    cell.sweep()
    assert [_who(context) for context in cell.bus.contexts] == [("project", False, "req-1")]


def _who(context):
    assert set(context.roles) == {"member", "reader"}
    return context.project_id, context.is_admin, context.request_id


def test_a_build_begun_on_a_host_that_is_up_begins_there_again(cell, begun):
    cell.sweep()
    found = get(cell, begun.uuid)
    assert (found.host, found.attempt, found.task_state) == ("h1", 2, states.SCHEDULING)
    assert told(cell) == [("h1", "build_and_run_instance")]
    assert cell.bus.sent[0][2]["instance"].attempt == 2
    assert cell.scheduler.claims == {begun.uuid: "h1"}
    ((event, _result, details),) = events(cell, begun.uuid)
    assert (event, details[:11]) == ("cell-conductor.reschedule", "again on h1")


def test_a_build_on_a_host_that_is_down_goes_on_to_the_next_one(cell, begun):
    cell.down = {"h1"}
    cell.sweep()
    found = get(cell, begun.uuid)
    assert (found.host, found.attempt, found.task_state) == ("h2", 2, states.SCHEDULING)
    assert cell.scheduler.claims == {begun.uuid: "h2"}
    assert told(cell) == [("h2", "build_and_run_instance")]
    why = "The host h1 went down during the action: create."
    (tried,) = row(cell, begun.uuid).params.tried
    assert (tried.host, tried.reason, tried.user_reason) == ("h1", why, None)
    assert ("cell-conductor.give_up", "Error", why) in events(cell, begun.uuid)


def test_a_build_whose_hosts_all_go_down_ends_in_error_and_says_so(cell):
    made = overdue(cell)
    for host in ("h1", "h2", "h3"):
        cell.down.add(host)
        end_leases(cell)
        cell.sweep()
    assert get(cell, made.uuid).vm_state == states.ERROR
    told = [f"{host}: The host {host} went down during" for host in ("h1", "h2", "h3")]
    assert all(one in details(cell, made.uuid) for one in told)
    assert cell.scheduler.claims == {}


def test_a_build_that_every_host_leaves_lying_does_not_go_round_for_ever(cell):
    made = overdue(cell)
    for _ in range(20):
        found = get(cell, made.uuid)
        if found.vm_state == states.ERROR:
            break
        begin(cell, made.uuid, found.host, found.attempt)
        end_leases(cell)
        cell.sweep()
    assert get(cell, made.uuid).vm_state == states.ERROR
    assert "h1: The host h1 did not do it: it was sent there 4 times." in details(cell, made.uuid)
    assert cell.scheduler.claims == {}
    assert [host for host, _method in told(cell)] == ["h1"] * BUILD.tries + ["h2", "h3"]


def test_a_host_that_renews_its_lease_in_the_last_moment_keeps_its_build(cell, begun):
    keep = cell.scheduler.move_claim

    def renew(*args, **kwargs):
        cell.outcomes.renew("h1", [begun.uuid], seconds=60, nothing_else=False)
        return keep(*args, **kwargs)

    cell.scheduler.move_claim = renew
    cell.sweep()
    assert get(cell, begun.uuid).attempt == 1
    assert told(cell) == []
    assert cell.scheduler.claims == {begun.uuid: "h1"}


@pytest.mark.parametrize("down", [set(), {"h1"}])
def test_an_attempt_that_was_taken_over_cannot_become_active(cell, begun, down):
    cell.down = down
    cell.sweep()
    with pytest.raises(exception.Conflict):
        activate(cell, begun.uuid)


@pytest.mark.parametrize("down", [set(), {"h1"}])
def test_with_the_scheduler_away_an_overdue_build_is_tried_again_later(cell, begun, down):
    cell.down, cell.scheduler.away = down, True
    cell.sweep()
    assert told(cell) == []
    cell.scheduler.away = False
    end_leases(cell)
    cell.sweep()
    assert [host for host, _method in told(cell)] == ["h2" if down else "h1"]


def test_who_cannot_be_asked_in_time_is_asked_once_in_a_sweep(cell):
    for _ in range(5):
        overdue(cell)
    asked = []

    def stand_still(*_args, **_kwargs):
        asked.append(1)
        raise exception.Timeout("no answer")

    cell.scheduler.move_claim = stand_still
    end_leases(cell)
    resting_one = resting(cell, task=states.POWERING_OFF)
    cell.sweep()
    assert len(asked) == 1
    assert told(cell) == [("h1", "run")]
    assert get(cell, resting_one.uuid).task_state == states.POWERING_OFF


def test_a_lost_claim_of_a_begun_build_sends_it_to_the_next_host(cell, begun):
    cell.scheduler.expire(begun.uuid)
    cell.scheduler.room["h1"] = 0
    cell.sweep()
    assert get(cell, begun.uuid).host == "h2"


@pytest.mark.parametrize("vm_state", [states.BUILDING, states.ACTIVE, states.STOPPED, states.ERROR])
def test_a_delete_on_a_host_that_is_down_ends_without_it(cell, vm_state):
    made = resting(cell, vm_state, states.DELETING)
    cell.down = {"h1"}
    cell.sweep()
    assert get(cell, made.uuid) is None
    assert cell.scheduler.claims == {}
    ((event, _result, details),) = events(cell, made.uuid)
    assert event == "cell-conductor.skip"
    assert details == "Without h1, which removes what it has when it is up again."
    with cell.database.read() as session:
        assert left_behind.on_host(session, "h1") == {made.uuid}
    assert told(cell) == []


RESTING = [
    (before.vm, before.task)
    for before in TRANSITIONS
    if before.task in OF_TASK
    and before.task not in (*BUILD.tasks, *SOFT_DELETE.tasks, *RESTORE.tasks, *DELETE.tasks)
    if not OF_TASK[before.task].is_move
]
OFFLOADS = [each for each in RESTING if OF_TASK[each[1]] is SHELVE_OFFLOAD]
REBUILDS = [each for each in RESTING if each[1] in REBUILD.tasks]
TOLD = [each for each in RESTING if OF_TASK[each[1]].why_not_resent is None]


@pytest.mark.parametrize(("vm_state", "task"), TOLD)
def test_a_task_on_a_host_that_is_up_is_told_again(cell, vm_state, task):
    made = resting(cell, vm_state, task)
    cell.sweep()
    ((host, method, arguments),) = cell.bus.sent
    assert (host, method) == ("h1", "run")
    operation = arguments["operation"]
    assert (operation.instance_uuid, operation.kind) == (made.uuid, OF_TASK[task].name)


@pytest.mark.parametrize(("vm_state", "task"), sorted({*RESTING} - {*REBUILDS, *OFFLOADS}))
def test_a_task_on_a_host_that_is_down_ends(cell, vm_state, task):
    made = resting(cell, vm_state, task)
    cell.down = {"h1"}
    cell.sweep()
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state, told(cell)) == (vm_state, None, [])


@pytest.mark.parametrize(("vm_state", "task"), OFFLOADS)
def test_an_offload_does_without_a_host_that_is_down(cell, vm_state, task):
    made = resting(cell, vm_state, task)
    cell.down = {"h1"}
    cell.sweep()
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state, found.host) == (SHELVED_OFFLOADED, None, None)
    assert told(cell) == []


@pytest.mark.parametrize(("vm_state", "task"), REBUILDS)
def test_a_rebuild_on_a_host_that_is_down_is_an_error_that_says_why(cell, vm_state, task):
    made = resting(cell, vm_state, task)
    cell.down = {"h1"}
    cell.sweep()
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state, found.host) == (states.ERROR, None, "h1")
    with cell.database.read() as session:
        assert "went down" in faults.latest(session, [made.uuid])[made.uuid].message


def test_a_password_that_was_lost_on_its_way_is_told_to_nobody_again(cell):
    made = resting(cell, states.ACTIVE, states.UPDATING_PASSWORD)
    cell.sweep()
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state, told(cell)) == (states.ACTIVE, None, [])


def test_nothing_is_taken_up_before_its_lease_is_over(cell):
    under_way(cell)
    for _ in range(3):
        cell.sweeper(lease_seconds=60).sweep()
    assert told(cell) == []


@pytest.mark.parametrize("task", [states.DELETING, states.SPAWNING])
def test_what_goes_on_without_its_host_is_noted_until_the_host_is_seen_without_it(cell, task):
    made = resting(cell, task=task) if task == states.DELETING else overdue(cell)
    cell.down = {"h1"}
    cell.sweep()
    with cell.database.read() as session:
        assert left_behind.on_host(session, "h1") == {made.uuid}


def test_an_operation_that_its_host_never_does_ends_with_each_try_in_its_fault(cell, monkeypatch):
    monkeypatch.setitem(kinds.KINDS, "rebuild", dataclasses.replace(REBUILD, tries=2))
    made = resting(cell, states.ACTIVE, states.REBUILDING)
    for _ in range(4):
        cell.sweep()
        end_leases(cell)
    assert told(cell) == [("h1", "run")] * 2
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state) == (states.ERROR, None)
    with cell.database.read() as session:
        fault = faults.latest(session, [made.uuid])[made.uuid]
    assert fault.message == "The host of the server did not do it: it was sent there 3 times."
    assert fault.details.count("h1 did not go on with rebuild") == 2


def test_an_operation_that_is_sent_again_is_not_counted_when_its_host_cannot_be_reached(cell):
    made = resting(cell, states.ACTIVE, states.POWERING_OFF)
    cell.bus.away = True
    cell.sweep()
    end_leases(cell)
    with cell.database.begin() as session:
        (found,) = operations.take_overdue(session, seconds=60)
    assert (found.instance_uuid, found.tries) == (made.uuid, 0)


def test_what_insists_is_sent_again_without_end(cell, monkeypatch):
    monkeypatch.setitem(kinds.KINDS, "soft_delete", dataclasses.replace(SOFT_DELETE, tries=2))
    made = resting(cell, states.ACTIVE, states.SOFT_DELETING)
    for _ in range(5):
        cell.sweep()
        end_leases(cell)
    assert told(cell) == [("h1", "run")] * 5
    assert get(cell, made.uuid).task_state == states.SOFT_DELETING


def test_an_operation_whose_instance_has_no_such_task_ends(cell):
    made = resting(cell, states.ACTIVE, states.POWERING_OFF)
    with cell.database.begin() as session:
        session.execute(sa.update(models.instances).values(task_state=None))
    cell.down = {"h1"}
    cell.sweep()
    with cell.database.read() as session:
        assert operations.find(session, made.uuid) is None


def test_a_host_moves_an_operation_only_to_its_own_tasks(cell):
    made = resting(cell, states.ACTIVE, states.REBUILDING)
    outcomes = cell.outcomes
    with cell.database.read() as session:
        operation = operations.find(session, made.uuid)
    for changes in ({"task_state": None}, {"task_state": states.DELETING}):
        with pytest.raises(exception.Invalid):
            outcomes.advance(operation, changes)
    other = resting(cell, states.ACTIVE, states.REBUILDING)
    operation.instance_uuid = other.uuid
    with pytest.raises(exception.Conflict):
        outcomes.advance(operation, {"task_state": states.REBUILD_SPAWNING})
    assert outcomes.take_up(cell.context, operation, seconds=30) is None
    assert get(cell, other.uuid).task_state == states.REBUILDING


def test_a_build_that_its_host_never_heard_of_is_sent_again_however_often_it_was_restarted(cell):
    made = overdue(cell, task=states.SCHEDULING)
    with cell.database.begin() as session:
        session.execute(sa.update(models.operations).values(tries=BUILD.tries))
    for _ in range(5):
        cell.sweep()
        end_leases(cell)
    assert told(cell) == [("h1", "build_and_run_instance")] * 5
    assert (get(cell, made.uuid).attempt, row(cell, made.uuid).params.tried) == (1, [])
