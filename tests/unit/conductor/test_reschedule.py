"""A build that failed on one host: the next one, or the end."""

import pytest

from roost import exception, states
from roost.conductor.reschedule import Failure
from roost.db.cell import actions, builds, faults, instances, ports
from roost.networks import parse
from roost.objects import NetworkRequest
from tests.builders import CELL1, a_selection, a_spec, an_instance
from tests.unit.db.test_cell import an_action, an_event

NETWORKS = parse(["private=10.0.0.0/29"])
ANY = NetworkRequest(network_id=None, fixed_ip=None, port_id=None, tag=None)


def under_way(cell, *, alternates=("h2", "h3"), attempt=1, host="h1", **values):
    """An instance that h1 is building."""
    made = an_instance(host=host, node=host, attempt=attempt, task_state=states.SPAWNING, **values)
    build = builds.BuildRow(
        instance_uuid=made.uuid,
        attempt=attempt,
        host=host,
        spec=a_spec(),
        alternates=[a_selection(name) for name in alternates],
        tried=[],
    )
    with cell.database.begin() as session:
        instances.create(session, made)
        builds.create(session, build)
        actions.start(session, an_action(made.uuid))
    cell.scheduler.claims[made.uuid] = host
    return made


def fail(cell, uuid, host="h1", attempt=1, reason="disk on fire"):
    failure = Failure(uuid, host, attempt, reason, [an_event(result="Error")])
    cell.rescheduling.build_elsewhere(cell.context, failure)


def get(cell, uuid):
    with cell.database.read() as session:
        return instances.find(session, uuid)


def fault(cell, uuid):
    with cell.database.read() as session:
        return faults.latest(session, [uuid])[uuid].message


def test_a_failed_build_goes_on_to_the_next_alternate(cell):
    made = under_way(cell)
    fail(cell, made.uuid)
    found = get(cell, made.uuid)
    assert (found.host, found.attempt, found.task_state) == ("h2", 2, states.SCHEDULING)
    assert cell.scheduler.claims[made.uuid] == "h2"
    assert [sent[:2] for sent in cell.bus.sent] == [("h2", "build_and_run_instance")]


def test_an_alternate_without_room_is_passed_over(cell):
    made = under_way(cell)
    cell.scheduler.room["h2"] = 0
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h3"


def test_with_alternates_used_up_the_scheduler_is_asked_for_this_cell_only(cell):
    made = under_way(cell, alternates=())
    fail(cell, made.uuid)
    ((spec, uuids),) = cell.scheduler.asked
    assert (spec.requested_cell, spec.ignore_hosts, uuids) == (CELL1, ["h1"], [made.uuid])
    assert get(cell, made.uuid).host == "h2"


def test_attempts_used_up_end_in_error_with_every_host_and_reason(cell):
    made = under_way(cell)
    fail(cell, made.uuid, "h1", 1, "disk on fire")
    for attempt, host in ((2, "h2"), (3, "h3")):
        fail(cell, made.uuid, host, attempt, f"{host} fell over")
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state, found.host) == (states.ERROR, None, None)
    for told in ("h1: disk on fire", "h2: h2 fell over", "h3: h3 fell over"):
        assert told in fault(cell, made.uuid)
    assert made.uuid not in cell.scheduler.claims


def test_no_host_left_ends_in_error_with_the_schedulers_reason(cell):
    made = under_way(cell, alternates=())
    cell.scheduler.room = {"h1": 5}
    fail(cell, made.uuid)
    assert get(cell, made.uuid).vm_state == states.ERROR
    assert "No valid host" in fault(cell, made.uuid)
    assert "h1: disk on fire" in fault(cell, made.uuid)
    assert made.uuid not in cell.scheduler.claims


def test_a_failure_that_no_host_cures_ends_in_error_at_once(cell):
    made = under_way(cell)
    cell.rescheduling.abandon(cell.context, Failure(made.uuid, "h1", 1, "image is corrupt", []))
    assert get(cell, made.uuid).vm_state == states.ERROR
    assert "image is corrupt" in fault(cell, made.uuid)
    assert cell.bus.sent == []
    assert made.uuid not in cell.scheduler.claims


def test_a_build_that_ends_in_error_leaves_no_ports_and_no_build(cell):
    made = under_way(cell, networks=[ANY])
    with cell.database.begin() as session:
        ports.allocate(
            session,
            instance_uuid=made.uuid,
            host="h1",
            requests=[ANY],
            networks=NETWORKS,
        )
    cell.rescheduling.abandon(cell.context, Failure(made.uuid, "h1", 1, "no", []))
    with cell.database.read() as session:
        assert ports.info(session, made.uuid, networks=NETWORKS).vifs == []
        assert builds.find(session, made.uuid) is None


def test_a_doubled_message_moves_a_build_once(cell):
    made = under_way(cell)
    fail(cell, made.uuid)
    fail(cell, made.uuid)
    assert get(cell, made.uuid).attempt == 2
    assert len(cell.bus.sent) == 1
    assert cell.scheduler.claims[made.uuid] == "h2"


def test_a_late_message_of_an_earlier_attempt_changes_nothing(cell):
    made = under_way(cell, attempt=2, host="h2")
    fail(cell, made.uuid, "h1", 1)
    assert get(cell, made.uuid).host == "h2"
    assert cell.bus.sent == []


def test_an_instance_deleted_before_its_failure_is_not_moved(cell):
    made = under_way(cell)
    with cell.database.begin() as session:
        instances.update(session, made.uuid, {"task_state": states.DELETING}, expected={})
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h1"
    assert cell.bus.sent == []


def test_an_instance_deleted_while_it_moves_keeps_no_claim(cell):
    made = under_way(cell)
    move = cell.scheduler.move_claim

    def delete_now(*args, **kwargs):
        with cell.database.begin() as session:
            instances.update(session, made.uuid, {"task_state": states.DELETING}, expected={})
        return move(*args, **kwargs)

    cell.scheduler.move_claim = delete_now
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h1"
    assert made.uuid not in cell.scheduler.claims


def test_the_history_tells_of_the_move(cell):
    made = under_way(cell)
    fail(cell, made.uuid)
    with cell.database.read() as session:
        events = actions.get(session, made.uuid, "req-1").events
    assert {(e.event, e.result) for e in events} == {
        ("compute.spawn", "Error"),
        ("cell-conductor.reschedule", "Success"),
    }


def test_the_end_of_a_build_is_notified(cell):
    made = under_way(cell)
    cell.rescheduling.abandon(cell.context, Failure(made.uuid, "h1", 1, "no", []))
    (event, payload) = cell.notifier.sent[0]
    assert (event, payload.instance_uuid) == ("instance.create.error", made.uuid)


def test_with_the_scheduler_away_the_build_waits_where_it_is(cell):
    made = under_way(cell)
    cell.scheduler.away = True
    with pytest.raises(exception.Unavailable):
        fail(cell, made.uuid)
    cell.scheduler.away = False
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h2"
