"""Requests that are placed together: what is odd about one of them concerns that one only."""

import threading

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.conductor.super import boot, boot_queue
from roost.conductor.super.boot_queue import BootQueue
from roost.conductor.super.boot_service import BootOrder
from roost.db.api import instance_mappings, models
from roost.db.cell import actions, instances
from roost.objects.mapping import CELL0_UUID
from tests.builders import CELL2, a_context, an_instance
from tests.unit.conductor.placements import (
    assert_placed,
    build_request,
    end_leases,
    failing,
    instance,
    mapping,
    run_with,
)


def requested(world, *counts):
    """Make requests of so many instances; return them, and their instances."""
    made = [world.build_request(count) for count in counts]
    return made, [uuid for _, uuids in made for uuid in uuids]


def test_the_scheduler_is_asked_once_for_all(world):
    made, uuids = requested(world, 1, 2, 1)
    world.build_together(*made)
    for uuid in uuids:
        assert_placed(world, uuid)
    assert (world.scheduler.together, world.scheduler.asked) == ([3], [])
    assert len(world.casts()) == 4


def test_a_request_whose_spec_is_lost_holds_up_no_other(world, caplog):
    made, (lost, other) = requested(world, 1, 1)
    with world.api_db.begin() as session:
        specs = models.request_specs
        session.execute(sa.delete(specs).where(specs.c.request_uuid == made[0][0]))
    world.build_together(*made)
    assert_placed(world, other)
    assert build_request(world, lost) is not None
    assert f"request {made[0][0]} has no request spec" in caplog.text


def test_each_has_its_own_history_and_notifications(world):
    made, uuids = requested(world, 1, 1)
    world.build_together(*made)
    for uuid in uuids:
        with world.cell1.read() as session:
            (action,) = actions.list_actions(session, uuid)
            events = actions.get(session, uuid, action.request_id).events
        assert [event.event for event in events] == [
            "api.accept",
            "super-conductor.lease",
            "scheduler.select_destinations",
            "super-conductor.create_in_cell",
        ]
    assert sorted(world.notifier.events()) == [
        "scheduler.select_destinations.end",
        "scheduler.select_destinations.end",
        "scheduler.select_destinations.start",
        "scheduler.select_destinations.start",
    ]


def test_instances_of_several_cells_come_each_to_its_own(world):
    world.scheduler.room = {"h1": 2, "new-cell2": 2}
    world.scheduler.cells = {"new-cell2": CELL2}
    made, uuids = requested(world, 1, 1, 1, 1)
    world.build_together(*made)
    for uuid in uuids[2:]:
        assert instance(world.databases[CELL2], uuid).host == "new-cell2"
        assert mapping(world, uuid).cell_uuid == CELL2
    for uuid in uuids[:2]:
        assert_placed(world, uuid)


def test_one_that_no_host_can_take_ends_in_error_with_the_reason(world):
    world.scheduler.room = {"h1": 2}
    made, (first, second, third) = requested(world, 1, 1, 1)
    world.build_together(*made)
    assert_placed(world, first)
    assert_placed(world, second)
    assert instance(world.cell0, third).vm_state == states.ERROR
    assert mapping(world, third).cell_uuid == CELL0_UUID


def test_one_that_its_user_deletes_meanwhile_leaves_nothing(world):
    made, (gone, other) = requested(world, 1, 1)

    def delete_now(work):
        boot.create_in_cell(work)
        if build_request(world, gone) is not None:
            with world.api_db.begin() as session:
                assert instance_mappings.withdraw(session, gone)

    run_with(world, {"create_in_cell": delete_now}, *made)
    assert_placed(world, other)
    assert instance(world.cell1, gone) is None
    assert gone not in world.scheduler.claims
    assert len(world.casts()) == 1


def test_one_that_its_cell_has_already_is_not_created_twice(world):
    made, (there, other) = requested(world, 1, 1)
    with world.cell1.begin() as session:
        instances.create(session, an_instance(uuid=there, host="h1"))
    world.build_together(*made)
    for uuid in (there, other):
        assert_placed(world, uuid)


def test_one_that_another_worker_has_leased_is_left_to_it(world):
    made, (theirs, other) = requested(world, 1, 1)

    def lose_one(*args, **kwargs):
        end_lease_of(world, theirs)
        return ask(*args, **kwargs)

    ask, world.scheduler.select_for_requests = world.scheduler.select_for_requests, lose_one
    world.build_together(*made)
    assert_placed(world, other)
    assert instance(world.cell1, theirs) is None
    assert build_request(world, theirs) is not None


def end_lease_of(world, uuid):
    with world.api_db.begin() as session:
        text = "UPDATE build_requests SET lease_owner = 'another' WHERE instance_uuid = :uuid"
        session.execute(sa.text(text), {"uuid": uuid})


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", boot.PLACE.steps[:-1], ids=lambda step: step.name)
def test_a_group_that_fails_is_placed_one_by_one(world, step, after):
    made, uuids = requested(world, 1, 1)
    once = []
    fail = failing(step, after=after)[step.name]

    def fail_together(work):
        if len(work.tasks) > 1:
            once.append(work)
            fail(work)
        step.do(work)

    run_with(world, {step.name: fail_together}, *made)
    assert len(once) == 1
    for uuid in uuids:
        assert_placed(world, uuid)
    assert len(world.casts()) == 2


def test_with_the_scheduler_away_all_are_free_for_the_next(world):
    made, uuids = requested(world, 1, 1)
    world.scheduler.away = True
    with pytest.raises(exception.Unavailable):
        world.build_together(*made)
    world.scheduler.away = False
    world.build_together(*made)
    for uuid in uuids:
        assert_placed(world, uuid)


def test_a_request_whose_message_came_twice_is_placed_once(world):
    made, (uuid,) = requested(world, 1)
    queue = BootQueue(world.boots.build)
    for _ in range(2):
        queue.put(BootOrder(a_context(), *made[0]))
    assert_placed(world, uuid)
    end_leases(world)
    assert len(world.casts()) == 1


class SlowBuild:
    """Builds nothing; the first group waits until it may go on."""

    def __init__(self):
        self.groups = []
        self.begun, self.gate = threading.Event(), threading.Event()

    def __call__(self, *orders):
        self.groups.append([order.request_uuid for order in orders])
        if len(self.groups) == 1:
            self.begun.set()
            self.gate.wait(10)


@pytest.fixture
def under_way(monkeypatch):
    """Return a queue with a group under way, and its thread."""
    monkeypatch.setattr(boot_queue, "_SLOW", 60)
    build = SlowBuild()
    queue = BootQueue(build)
    thread = threading.Thread(target=queue.put, args=[an_order("0")])
    thread.start()
    build.begun.wait(10)
    yield queue, build, thread
    build.gate.set()
    thread.join(10)


def an_order(name, count=1):
    return BootOrder(a_context(), name, [f"{name}-{number}" for number in range(count)])


def test_what_comes_while_a_group_is_under_way_is_the_next_one(under_way):
    queue, build, thread = under_way
    for name in "1123":
        queue.put(an_order(name))
    build.gate.set()
    thread.join(10)
    assert build.groups == [["0"], ["1", "2", "3"]]


def test_a_group_has_a_limited_number_of_instances(under_way):
    queue, build, thread = under_way
    for name in "123":
        queue.put(an_order(name, count=60))
    build.gate.set()
    thread.join(10)
    assert build.groups == [["0"], ["1", "2"], ["3"]]


def test_a_slow_group_does_not_hold_up_the_next_ones(under_way, monkeypatch):
    queue, build, _thread = under_way
    queue.put(an_order("1"))
    assert build.groups == [["0"]]
    monkeypatch.setattr(boot_queue, "_SLOW", 0)
    queue.put(an_order("2"))
    assert build.groups == [["0"], ["1", "2"]]


def test_an_accident_of_a_group_leaves_the_next_one_alone():
    groups = []

    def fail(*orders):
        groups.append(orders)
        raise ValueError("on purpose")

    queue = BootQueue(fail)
    queue.put(an_order("1"))
    queue.put(an_order("2"))
    assert len(groups) == 2
