"""A host that has not begun is told again, and finds its claim there when it does."""

import pytest

from roost import exception, states
from roost.db.cell import actions
from tests.builders import a_pinned_topology, a_selection
from tests.unit.conductor.test_builds import begin
from tests.unit.conductor.test_reschedule import end_leases, get, under_way

PINNED = a_selection("h1", claimed=True, numa_topology=a_pinned_topology(2, 3))


@pytest.fixture
def waiting(cell):
    """An instance that h1 should have begun by now."""

    def waiting(**values):
        made = under_way(cell, task_state=states.SCHEDULING, **values)
        end_leases(cell)
        return made

    return waiting


@pytest.fixture
def sweep(cell):
    return cell.sweep


def told(cell):
    return [(host, arguments["selection"]) for host, _method, arguments in cell.bus.sent]


def test_a_claim_that_holds_is_kept(cell, waiting, sweep):
    made = waiting()
    sweep()
    assert told(cell) == [("h1", a_selection("h1", claimed=True))]
    assert cell.scheduler.claims == {made.uuid: "h1"}


def test_a_claim_that_ran_out_is_made_anew_before_the_host_is_told(cell, waiting, sweep):
    made = waiting()
    cell.scheduler.expire(made.uuid)
    sweep()
    assert [host for host, _ in told(cell)] == ["h1"]
    assert cell.scheduler.claims == {made.uuid: "h1"}
    assert get(cell, made.uuid).attempt == 1


def test_a_claim_that_is_made_anew_of_other_resources_voids_the_message_before(
    cell, waiting, sweep
):
    made = waiting()
    cell.scheduler.expire(made.uuid)
    cell.scheduler.selections["h1"] = PINNED
    sweep()
    assert told(cell) == [("h1", PINNED)]
    assert get(cell, made.uuid).numa_topology == PINNED.numa_topology
    assert not begin(cell, made.uuid, attempt=1)
    assert begin(cell, made.uuid, attempt=2)


def test_resources_that_somebody_else_has_by_now_send_the_build_to_the_next_host(
    cell, waiting, sweep
):
    made = waiting()
    cell.scheduler.expire(made.uuid)
    cell.scheduler.room["h1"] = 0
    sweep()
    assert [host for host, _ in told(cell)] == ["h2"]
    found = get(cell, made.uuid)
    assert (found.host, found.attempt, cell.scheduler.claims) == ("h2", 2, {made.uuid: "h2"})
    with cell.database.read() as session:
        (event, _moved) = actions.get(session, made.uuid, "req-1").events
    assert (event.event, event.result) == ("cell-conductor.keep_claim", "Error")
    assert event.details == "The claim expired before the host began. no room on h1"


@pytest.mark.parametrize("has_room", [True, False])
def test_a_host_that_begins_meanwhile_is_left_alone(cell, waiting, sweep, has_room):
    made = waiting()
    keep = cell.scheduler.move_claim

    def begin_now(*args, **kwargs):
        assert begin(cell, made.uuid)
        if not has_room:
            raise exception.NoCapacity("full")
        return keep(*args, **kwargs)

    cell.scheduler.move_claim = begin_now
    sweep()
    assert told(cell) == []
    found = get(cell, made.uuid)
    assert (found.host, found.attempt, found.task_state) == ("h1", 1, states.SPAWNING)
