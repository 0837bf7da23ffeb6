"""What a host makes of guests and rows that differ: each case, and all that must not be touched."""

import pytest

from roost import exception, states
from roost.compute.reconcile_rules import Correction
from roost.compute.virt.fake.faults import Crash
from roost.operations.kinds import OF_TASK
from tests.builders import NOW
from tests.unit.compute.reconcile_harness import World


@pytest.fixture
def world(rig, boot):
    return World(rig, boot)


def delete_elsewhere(world, instance):
    """Bury the row while the host is not looking."""
    del world.conductor.instances[instance.uuid]
    world.conductor.buried.append(instance.uuid)


# leftovers


def test_the_guest_of_a_deleted_instance_is_destroyed(world, caplog):
    gone, stays = world.server(), world.server()
    delete_elsewhere(world, gone)
    world.reconcile()
    assert world.virt.list_guests() == [stays.uuid]
    assert world.conductor.findings == [("leftover_destroyed", gone.uuid)]
    assert world.counts() == {Correction.DESTROY: 1}
    assert f"[instance: {gone.uuid}] leftover_destroyed: its instance is deleted" in caplog.text


def test_the_guest_of_an_attempt_that_went_on_elsewhere_is_destroyed(world):
    world.leftover(host="h2", attempt=2)
    world.reconcile()
    assert world.virt.list_guests() == []
    assert world.kinds() == ["leftover_destroyed"]


def test_what_an_instance_that_went_on_without_this_host_has_left_is_destroyed(world):
    gone = world.server(host="h2")
    world.reconcile()
    assert world.kinds() == ["guest_left"]
    world.conductor.left_behind.add((gone.uuid, "h1"))
    world.reconcile()
    assert (world.virt.list_guests(), world.kinds()[1:]) == ([], ["leftover_destroyed"])


def test_leftovers_are_destroyed_before_the_host_serves(rig, world):
    delete_elsewhere(world, world.server())
    rig.manager().start()
    assert world.virt.list_guests() == []


def test_what_a_move_has_left_of_an_instance_that_is_not_here_is_removed(world):
    moves, gone, here = world.virt.cold_moves(), world.server(), world.server()
    world.virt.destroy(gone.uuid)
    moves.prepare(gone)
    delete_elsewhere(world, gone)
    world.virt._file(here.uuid).with_suffix(".before").write_text("{}")
    assert moves.leftovers() == {gone.uuid, here.uuid}
    world.reconcile()
    assert moves.leftovers() == {here.uuid}


# what proves nothing


def test_the_guest_of_an_unknown_instance_is_left_alone(world, caplog):
    stranger = world.server()
    del world.conductor.instances[stranger.uuid]
    world.reconcile()
    assert world.virt.list_guests() == [stranger.uuid]
    assert world.power(stranger) == states.RUNNING
    assert world.conductor.findings == [("guest_left", stranger.uuid)]
    assert "its cell knows no such instance" in caplog.text


def test_what_is_left_alone_is_told_once_until_it_changes(world, caplog):
    stranger = world.server()
    known = world.conductor.instances.pop(stranger.uuid)
    for _ in range(3):
        world.reconcile()
    assert world.kinds() == ["guest_left"]
    assert caplog.text.count(f"[instance: {stranger.uuid}] guest_left") == 1
    world.conductor.instances[known.uuid] = known
    world.reconcile()
    del world.conductor.instances[known.uuid]
    world.reconcile()
    assert world.kinds() == ["guest_left", "guest_left"]


def test_a_host_with_a_new_name_destroys_nothing(world):
    """All rows name a host that is this very one, under its old name."""
    servers = [world.server(host="old-name") for _ in range(2)]
    world.reconcile()
    assert world.virt.list_guests() == sorted(each.uuid for each in servers)
    assert world.kinds() == ["guest_left", "guest_left"]


def test_a_guest_that_remembers_no_attempt_is_left_alone(world, monkeypatch):
    world.server(host="h2", attempt=2)
    described = world.virt.contents

    def forgetful(uuid):
        return {name: v for name, v in described(uuid).items() if name != "attempt"}

    monkeypatch.setattr(world.virt, "contents", forgetful)
    world.reconcile()
    assert len(world.virt.list_guests()) == 1
    assert world.kinds() == ["guest_left"]


@pytest.mark.parametrize("values", [{"launched_at": NOW}, {"vm_state": states.BUILDING}])
def test_an_instance_on_no_host_that_may_live_keeps_its_guest(world, values):
    world.server(**{"host": None, "vm_state": states.ERROR, "launched_at": None} | values)
    world.reconcile()
    assert len(world.virt.list_guests()) == 1


# at work, or not at rest


@pytest.mark.parametrize("task", [*OF_TASK, states.DELETING])
@pytest.mark.parametrize("there", [True, False])
def test_an_instance_under_a_task_is_left_alone(world, task, there):
    instance = world.server(task_state=task)
    world.virt.power_off(instance.uuid)
    if not there:
        world.virt.destroy(instance.uuid)
    world.reconcile()
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, task)
    assert world.virt.exists(instance.uuid) is there
    assert world.conductor.findings == []


@pytest.mark.parametrize("task", states.BUILD_TASKS)
def test_a_build_that_nobody_works_on_is_for_its_lease_to_end(world, task):
    instance = world.server(vm_state=states.BUILDING, task_state=task)
    world.reconcile()
    assert world.virt.list_guests() == [instance.uuid]
    assert world.conductor.findings == []


@pytest.mark.parametrize("there", [True, False])
def test_an_instance_in_error_is_left_alone(world, there):
    instance = world.server(vm_state=states.ERROR)
    if not there:
        world.virt.destroy(instance.uuid)
    world.reconcile()
    assert instance.vm_state == states.ERROR
    assert world.virt.exists(instance.uuid) is there
    assert world.conductor.findings == []


def test_what_somebody_works_on_is_left_alone(world):
    instance = world.server()
    delete_elsewhere(world, instance)
    with world.manager._operations.locks.hold(instance.uuid):
        world.reconcile()
    assert world.virt.list_guests() == [instance.uuid]
    world.reconcile()
    assert world.virt.list_guests() == []


# between the two looks


def test_a_build_that_ends_between_the_looks_is_not_lost(world, monkeypatch):
    seen = world.virt.list_guests()
    instance = world.server()
    monkeypatch.setattr(world.virt, "list_guests", lambda: seen)
    world.reconcile()
    assert instance.vm_state == states.ACTIVE
    assert world.conductor.findings == []


def test_a_delete_that_ends_between_the_looks_is_no_leftover(world):
    instance = world.server()
    asked = world.conductor.locate_instances

    def ask_late(*args, **values):
        world.virt.destroy(instance.uuid)
        world.conductor.instances.pop(instance.uuid, None)
        world.conductor.buried.append(instance.uuid)
        return asked(*args, **values)

    world.conductor.locate_instances = ask_late
    world.reconcile()
    assert world.conductor.findings == []


def test_a_row_that_changes_after_the_second_look_stays_as_it_is(world):
    instance = world.server()
    world.virt.destroy(instance.uuid)
    reported = world.conductor.report_power

    def report_late(*args, **values):
        instance.task_state = states.DELETING
        reported(*args, **values)

    world.conductor.report_power = report_late
    world.reconcile()
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, states.DELETING)
    assert world.conductor.findings == []


# without guest, and power


@pytest.mark.parametrize("vm_state", states.WITH_GUEST)
def test_an_instance_whose_guest_is_gone_is_in_error_and_says_why(world, vm_state):
    instance = world.server(vm_state=vm_state)
    world.virt.destroy(instance.uuid)
    world.reconcile()
    assert (instance.vm_state, instance.task_state) == (states.ERROR, None)
    assert world.conductor.faults[instance.uuid] == "Its guest is gone from this host."
    assert world.conductor.findings == [("instance_lost", instance.uuid)]


def test_a_server_that_waits_for_its_user_stays_so_without_its_guest_and_that_is_reported_once(
    world,
):
    instance = world.server(vm_state=states.RESIZED)
    world.virt.destroy(instance.uuid)
    for _ in range(2):
        world.reconcile()
        assert (instance.vm_state, instance.power_state) == (states.RESIZED, states.NOSTATE)
    assert world.conductor.findings == [("power_followed", instance.uuid)]


def test_a_guest_that_stopped_by_itself_makes_a_stopped_server(world):
    instance = world.server()
    world.virt.power_off(instance.uuid)
    world.reconcile()
    assert (instance.vm_state, instance.power_state) == (states.STOPPED, states.SHUTDOWN)
    assert world.conductor.findings == [("power_followed", instance.uuid)]


def rescue(world, instance):
    world.virt.rescue(None, instance, image=None, image_path="rescue.img", password=None)


@pytest.mark.parametrize("vm_state", states.AS_FOUND.values())
@pytest.mark.parametrize("stopped", [True, False])
def test_a_rescued_guest_makes_a_rescued_server_and_keeps_it_so(world, vm_state, stopped):
    """It was rescued, and its host died before its cell heard of that."""
    instance = world.server(vm_state=vm_state)
    rescue(world, instance)
    if stopped:
        world.virt.power_off(instance.uuid)
    for _ in range(2):
        world.reconcile()
        assert (instance.vm_state, instance.task_state) == (states.RESCUED, None)
        assert instance.power_state == world.power(instance)
    assert world.conductor.findings == [("power_followed", instance.uuid)]


@pytest.mark.parametrize("vm_state", [states.STOPPED, states.SOFT_DELETED])
@pytest.mark.parametrize("switch", [None, "pause", "suspend"])
def test_a_guest_that_runs_though_it_is_stopped_or_put_away_is_stopped_again(
    world, vm_state, switch
):
    """Its host was down when it was put away, or somebody started it beside us."""
    instance = world.server(vm_state=vm_state, power_state=states.RUNNING)
    if switch is not None:
        getattr(world.virt, switch)(instance.uuid)
    world.reconcile()
    assert world.power(instance) == states.SHUTDOWN
    assert (instance.vm_state, instance.power_state) == (vm_state, states.SHUTDOWN)
    assert world.conductor.findings == [("stopped_again", instance.uuid)]


def test_a_server_that_is_put_away_and_stopped_is_left_alone_and_one_without_guest_too(world):
    stopped, gone = (
        world.server(vm_state=states.SOFT_DELETED, power_state=states.SHUTDOWN) for _ in range(2)
    )
    world.virt.power_off(stopped.uuid)
    world.virt.destroy(gone.uuid)
    world.reconcile()
    assert {stopped.vm_state, gone.vm_state} == {states.SOFT_DELETED}
    assert world.conductor.findings == []


@pytest.mark.parametrize(
    ("before", "switch", "vm_state"),
    [
        (states.ACTIVE, "pause", states.PAUSED),
        (states.ACTIVE, "suspend", states.SUSPENDED),
        (states.PAUSED, None, states.ACTIVE),
        (states.SUSPENDED, None, states.ACTIVE),
        (states.RESCUED, None, states.ACTIVE),
        (states.PAUSED, "power_off", states.STOPPED),
        (states.SUSPENDED, "power_off", states.STOPPED),
    ],
)
def test_a_server_follows_its_guest(world, before, switch, vm_state):
    instance = world.server(vm_state=before)
    if switch is not None:
        getattr(world.virt, switch)(instance.uuid)
    world.reconcile()
    assert instance.vm_state == vm_state
    assert instance.power_state == world.power(instance)
    assert world.conductor.findings == [("power_followed", instance.uuid)]


def test_a_guest_of_which_nobody_knows_how_it_is_changes_nothing(world):
    instance = world.server(power_state=states.RUNNING)
    world.virt._switch(instance.uuid, states.NOSTATE)
    world.reconcile()
    assert (instance.vm_state, instance.power_state) == (states.ACTIVE, states.RUNNING)
    assert world.conductor.findings == []


# trouble


def test_one_guest_that_cannot_be_put_right_does_not_keep_the_others(rig, world, caplog):
    gone = [world.server() for _ in range(2)]
    lost = world.server()
    world.virt.destroy(lost.uuid)
    for each in gone:
        delete_elsewhere(world, each)
    rig.trouble({"step": "destroy", "kind": "crash"})
    world.reconcile()
    assert len(world.virt.list_guests()) == 2
    assert lost.vm_state == states.ERROR
    assert "cannot be corrected" in caplog.text
    rig.trouble()
    world.reconcile()
    assert world.virt.list_guests() == []


def test_a_cell_that_does_not_answer_changes_nothing(world):
    delete_elsewhere(world, world.server())
    world.conductor.fail("locate_instances", exception.Unavailable("the bus is away"))
    with pytest.raises(exception.Unavailable):
        world.reconcile()
    assert len(world.virt.list_guests()) == 1


def test_what_the_cell_does_not_hear_is_told_next_time(world):
    instance = world.server()
    world.virt.destroy(instance.uuid)
    world.conductor.fail("report_power", exception.Unavailable("the bus is away"))
    with pytest.raises(exception.Unavailable):
        world.reconcile()
    world.reconcile()
    assert instance.vm_state == states.ERROR


def test_a_host_does_not_serve_before_it_could_compare(rig):
    rig.conductor.fail("locate_instances", exception.Unavailable("the bus is away"))
    manager = rig.manager()
    with pytest.raises(exception.Unavailable):
        manager.start()
    manager.start()


def test_a_guest_that_the_hypervisor_cannot_describe_keeps_its_server(world, monkeypatch):
    instance, gone = world.server(), world.server()
    delete_elsewhere(world, gone)

    def broken(_uuid):
        raise Crash("the hypervisor is away")

    monkeypatch.setattr(world.virt, "describe", broken)
    world.reconcile()
    assert instance.vm_state == states.ACTIVE
    assert world.virt.list_guests() == [instance.uuid]
