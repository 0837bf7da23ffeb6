"""Which instances a host lists, and which it says that it holds: see ``resource_tracker``.

A confirmed claim of an instance that is not listed any more is dropped, so there may be no gap.
"""

import threading

import pytest

from roost import exception, states
from roost.compute.operations.build import build_flow
from tests.builders import CELL1, a_flavor, taken


class Watch:
    """Runs the steps of builds, and notes what the host lists and holds at each."""

    def __init__(self, rig):
        self.rig = rig
        self.listed = []
        self.held = []

    def __call__(self, do, build):
        self.look()
        try:
            do(build)
        finally:
            self.look()

    def look(self, *_, **__):
        report = self.rig.tracker.report()
        self.listed.append(report.instances)
        self.held.append(list(report.holdings))

    def around(self, function):
        """Let a function be looked at before and after."""

        def watched(*arguments, **named):
            self.look()
            try:
                return function(*arguments, **named)
            finally:
                self.look()

        return watched


@pytest.fixture
def watch(rig):
    return Watch(rig)


@pytest.fixture
def manager(rig, watch):
    rig.tracker.locate(cell_uuid=CELL1)
    rig.tracker.fill([])
    return rig.manager(flow=build_flow(watch))


def listed(rig):
    return rig.tracker.report().instances


def held(rig):
    return dict(rig.tracker.report().holdings)


def test_a_build_is_listed_at_every_step_and_held_when_it_is_done(rig, watch, manager, boot):
    instance = rig.instance()
    boot(manager, instance)
    assert watch.listed
    assert all(found == [instance.uuid] for found in watch.listed)
    assert not any(watch.held)
    assert listed(rig) == [instance.uuid]
    assert held(rig) == {instance.uuid: taken(vcpus=1, memory_mb=1024, disk_gb=1)}


def test_a_build_that_waits_for_its_turn_is_listed_and_under_way(rig, boot, threads, wait_until):
    rig.tracker.locate(cell_uuid=CELL1)
    rig.tracker.fill([])
    go_on = threading.Event()

    def hold_up(do, build):
        assert go_on.wait(10)
        do(build)

    manager = rig.manager(executor=threads, flow=build_flow(hold_up))
    made = [rig.instance(flavor=a_flavor(memory_mb=64)) for _ in range(5)]
    for instance in made:
        boot(manager, instance)
    report = rig.tracker.report()
    assert report.instances == sorted(each.uuid for each in made)
    assert (report.io_operations, report.holdings) == (5, {})
    go_on.set()
    wait_until(lambda: rig.tracker.report().io_operations == 0)
    assert sorted(held(rig)) == report.instances


@pytest.mark.parametrize("step", ["begin", "claim", "network", "image", "prepare", "announce"])
def test_a_build_that_fails_is_listed_until_its_row_names_another_host(
    rig, watch, manager, boot, step
):
    instance = rig.instance()
    rig.trouble({"step": step, "kind": "reschedulable"})
    rig.conductor.end_operation = watch.around(rig.conductor.end_operation)
    boot(manager, instance)
    assert rig.conductor.rescheduled
    assert all(found == [instance.uuid] for found in watch.listed)
    manager.settle()
    assert listed(rig) == [instance.uuid], "the row still says h1"
    instance.host = "h2"
    manager.settle()
    assert listed(rig) == []
    assert not any(watch.held)


def test_an_instance_is_listed_until_its_end_was_heard_of(rig, watch, manager, boot):
    instance = rig.instance()
    boot(manager, instance)
    watch.listed.clear(), watch.held.clear()
    rig.conductor.fail("end_operation", *[exception.Unavailable("no bus")] * 3)
    rig.conductor.end_operation = watch.around(rig.conductor.end_operation)
    rig.virt.destroy = watch.around(rig.virt.destroy)
    rig.delete(manager, instance)
    assert len(watch.listed) == 2 * 5
    assert all(found == [instance.uuid] for found in watch.listed)
    assert not any(watch.held), "its claim may be released at any moment"
    assert listed(rig) == []


def test_what_an_instance_had_is_free_before_the_conductor_answers_that_it_is_gone(
    rig, manager, boot
):
    instance = rig.instance(flavor=a_flavor(memory_mb=3072))
    boot(manager, instance)
    finish = rig.conductor.end_operation

    def give_its_place_away(*arguments, **named):
        finish(*arguments, **named)
        if named["operation"].kind == "delete":
            boot(manager, rig.instance(flavor=a_flavor(memory_mb=3072)))

    rig.conductor.end_operation = give_its_place_away
    rig.delete(manager, instance)
    assert rig.conductor.rescheduled == []
    assert len(rig.virt.list_guests()) == 1


def test_a_guest_that_cannot_be_destroyed_is_listed_and_keeps_its_room(rig, manager, boot):
    instance = rig.instance()
    boot(manager, instance)
    instance.task_state = states.DELETING
    rig.trouble({"step": "destroy", "kind": "crash"})
    rig.delete(manager, instance)
    manager.settle()
    report = rig.tracker.report()
    assert (report.instances, report.amount("MEMORY_MB", "used")) == ([instance.uuid], 1024)
    assert report.holdings == {}


@pytest.fixture
def stopping(rig, boot, threads):
    """Two builds under way and two that wait, on a host that is about to stop."""
    rig.tracker.locate(cell_uuid=CELL1)
    rig.tracker.fill([])
    go_on = threading.Event()

    def hold_up(do, build):
        assert go_on.wait(10)
        do(build)

    manager = rig.manager(executor=threads, flow=build_flow(hold_up))
    made = [rig.instance(flavor=a_flavor(memory_mb=64)) for _ in range(4)]
    for instance in made:
        boot(manager, instance)
    return manager, made[2:], go_on


def test_builds_that_are_given_back_at_the_end_are_listed_until_then(rig, watch, stopping):
    manager, waiting, go_on = stopping
    end = rig.conductor.end_operation
    give_back = watch.around(end)

    def give_back_both_then_go_on(*arguments, **named):
        (give_back if named["outcome"] == "failed" else end)(*arguments, **named)
        if len(rig.conductor.rescheduled) == len(waiting):
            go_on.set()

    rig.conductor.end_operation = give_back_both_then_go_on
    assert manager.drain(10)
    told = [(each.uuid, "h1", 1, "The host is stopping.") for each in waiting]
    assert rig.conductor.rescheduled == told
    assert len(watch.listed) == 4
    assert all({each.uuid for each in waiting} <= set(found) for found in watch.listed)


def test_a_host_that_starts_lists_all_whose_rows_name_it(rig):
    active = rig.instance(vm_state=states.ACTIVE, task_state=None)
    others = [
        rig.instance(vm_state=states.BUILDING, task_state=states.SCHEDULING),
        rig.instance(vm_state=states.BUILDING, task_state=states.SPAWNING),
        rig.instance(vm_state=states.ACTIVE, task_state=states.DELETING),
        rig.instance(vm_state=states.BUILDING, task_state=states.DELETING),
    ]
    rig.instance(host="h2")
    rig.manager().start()
    assert listed(rig) == sorted(each.uuid for each in [active, *others])
    assert held(rig) == {active.uuid: taken(vcpus=1, memory_mb=1024, disk_gb=1)}


def test_a_host_that_starts_learns_in_time_what_became_of_builds_of_its_former_life(rig):
    built, moved = (rig.instance(task_state=states.SPAWNING) for _ in range(2))
    manager = rig.manager()
    manager.start()
    built.vm_state, built.task_state = states.ACTIVE, None
    moved.host = "h2"
    manager.settle()
    assert listed(rig) == [built.uuid]
    assert list(held(rig)) == [built.uuid]


def test_only_rows_of_instances_that_wait_are_read(rig, manager, boot, monkeypatch):
    boot(manager, rig.instance())
    waiting, asked = rig.instance(task_state=states.SPAWNING), []
    rig.tracker.expect(waiting.uuid)
    read = rig.conductor.list_instances

    def list_instances(context, **of):
        asked.append(of["instance_uuids"])
        return read(context, **of)

    monkeypatch.setattr(rig.conductor, "list_instances", list_instances)
    manager.settle()
    assert asked == [[waiting.uuid]]


def test_rows_decide_nothing_of_what_is_under_way_or_there(rig, manager, boot):
    there = rig.instance()
    boot(manager, there)
    rig.tracker.begin_operation(there.uuid)
    rig.tracker.settle({there.uuid}, [])
    assert listed(rig) == [there.uuid]
    rig.tracker.end_operation(there.uuid)
    rig.tracker.settle({there.uuid}, [])
    assert listed(rig) == [there.uuid]


def test_what_is_ending_is_not_brought_back_by_the_build_that_still_runs(rig, manager):
    instance = rig.instance()
    rig.tracker.begin_operation(instance.uuid)
    rig.tracker.ending(instance.uuid)
    rig.tracker.claim(instance)
    rig.tracker.built(instance.uuid)
    assert held(rig) == {}
    rig.tracker.release(instance.uuid)
    rig.tracker.end_operation(instance.uuid)
    report = rig.tracker.report()
    assert (report.instances, report.amount("MEMORY_MB", "used")) == ([instance.uuid], 0)


def test_builds_that_failed_in_a_row_are_counted_until_one_succeeds(rig, manager, boot):
    rig.trouble({"step": "spawn", "kind": "reschedulable"})
    boot(manager, rig.instance())
    rig.trouble({"step": "image", "kind": "crash"})
    boot(manager, rig.instance())
    assert rig.tracker.report().failed_builds == 2
    rig.trouble()
    boot(manager, rig.instance())
    assert rig.tracker.report().failed_builds == 0


def test_a_failure_that_no_host_would_cure_is_not_held_against_this_one(rig, manager, boot):
    rig.trouble({"step": "image", "kind": "final"})
    boot(manager, rig.instance())
    assert rig.tracker.report().failed_builds == 0
