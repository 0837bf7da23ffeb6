"""Stopping, starting and rebooting on a host: once, twice, too late, with trouble."""

import dataclasses
import threading

import pytest

from roost import exception, states
from roost.compute.virt.fake.faults import Crash
from roost.operations.kinds import OF_TASK
from tests.unit.compute.conftest import run

ENDS = {
    states.POWERING_OFF: (states.STOPPED, states.SHUTDOWN),
    states.POWERING_ON: (states.ACTIVE, states.RUNNING),
    states.REBOOTING: (states.ACTIVE, states.RUNNING),
    states.REBOOTING_HARD: (states.ACTIVE, states.RUNNING),
    states.PAUSING: (states.PAUSED, states.HELD),
    states.UNPAUSING: (states.ACTIVE, states.RUNNING),
    states.SUSPENDING: (states.SUSPENDED, states.SAVED),
    states.RESUMING: (states.ACTIVE, states.RUNNING),
    states.TRIGGERING_CRASH_DUMP: (states.ACTIVE, states.RUNNING),
    states.SOFT_DELETING: (states.SOFT_DELETED, states.SHUTDOWN),
    states.RESTORING: (states.ACTIVE, states.RUNNING),
}
BEGINS = {
    states.POWERING_ON: states.STOPPED,
    states.UNPAUSING: states.PAUSED,
    states.RESUMING: states.SUSPENDED,
    states.RESTORING: states.SOFT_DELETED,
}
MISSING = {
    states.PAUSING: "cannot pause",
    states.UNPAUSING: "cannot pause",
    states.SUSPENDING: "cannot suspend",
    states.RESUMING: "cannot suspend",
    states.TRIGGERING_CRASH_DUMP: "cannot trigger a crash dump",
}


class Simple:
    """A hypervisor that can do none of what not all can."""

    def __init__(self, virt):
        self.describe = virt.describe


@pytest.fixture
def server(rig, boot):
    """Boot a server, and put its row under a task as the API does."""

    def server(task, vm_state=None):
        manager, instance = rig.manager(), rig.instance()
        boot(manager, instance)
        vm_state = vm_state or BEGINS.get(task, states.ACTIVE)
        before = {
            states.STOPPED: rig.virt.power_off,
            states.SOFT_DELETED: rig.virt.power_off,
            states.PAUSED: rig.virt.pause,
            states.SUSPENDED: rig.virt.suspend,
        }
        if vm_state in before:
            before[vm_state](instance.uuid)
        instance.vm_state, instance.task_state = vm_state, task
        rig.conductor.events[instance.uuid].clear()
        return manager, instance

    return server


class Gate:
    """Holds up the first switching of a guest until it is opened."""

    def __init__(self, virt):
        self.reached, self.go_on = threading.Event(), threading.Event()
        self._virt = virt
        self._switch = {name: getattr(virt, name) for name in ("power_off", "reboot")}
        virt.power_off, virt.reboot = self._power_off, self._reboot

    def _power_off(self, uuid):
        self._wait()
        self._switch["power_off"](uuid)

    def _reboot(self, uuid, *, hard):
        self._wait()
        self._switch["reboot"](uuid, hard=hard)

    def _wait(self):
        if not self.reached.is_set():
            self.reached.set()
            assert self.go_on.wait(10)


@pytest.fixture
def gate(rig):
    gate = Gate(rig.virt)
    yield gate
    gate.go_on.set()


def change(manager, instance, task):
    run(manager, instance, kind=OF_TASK[task].name)


def power(rig, instance):
    return rig.virt.describe(instance.uuid).power_state


def boots(rig, instance):
    return rig.virt.contents(instance.uuid).get("boots", 1)


@pytest.mark.parametrize("task", ENDS)
def test_a_task_changes_the_guest_and_then_its_row(rig, server, task):
    manager, instance = server(task)
    change(manager, instance, task)
    vm_state, power_state = ENDS[task]
    assert (instance.vm_state, instance.task_state) == (vm_state, None)
    assert instance.power_state == power(rig, instance) == power_state
    assert [(e.event.split(".")[0], e.result) for e in rig.conductor.events[instance.uuid]] == [
        ("compute", "Success")
    ]


@pytest.mark.parametrize("task", [states.REBOOTING, states.REBOOTING_HARD])
def test_a_reboot_told_twice_happens_once(rig, server, task):
    manager, instance = server(task)
    change(manager, instance, task)
    change(manager, instance, task)
    assert boots(rig, instance) == 2


def test_a_task_that_was_lost_half_way_is_done_when_told_again(rig, server):
    """The guest was stopped, and the host died before its cell knew."""
    manager, instance = server(states.POWERING_OFF)
    rig.virt.power_off(instance.uuid)
    change(manager, instance, states.POWERING_OFF)
    assert (instance.vm_state, instance.task_state) == (states.STOPPED, None)


@pytest.mark.parametrize("host", ["h2", None])
def test_an_instance_of_another_host_is_left_alone(rig, server, host):
    manager, instance = server(states.POWERING_OFF)
    instance.host = host
    change(manager, instance, states.POWERING_OFF)
    assert (instance.task_state, power(rig, instance)) == (states.POWERING_OFF, states.RUNNING)


def test_a_delete_during_a_task_wins(rig, server, gate, threads, wait_until):
    manager, instance = server(states.POWERING_OFF)
    stop = threads.submit(change, manager, instance, states.POWERING_OFF)
    assert gate.reached.wait(10)
    instance.task_state = states.DELETING
    delete = threads.submit(run, manager, instance, kind="delete")
    wait_until(lambda: len(rig.leases) == 2)
    gate.go_on.set()
    stop.result(), delete.result()
    assert rig.conductor.buried == [instance.uuid]
    rig.assert_clean_slate()


@pytest.mark.parametrize("kind", ["reschedulable", "final", "crash"])
@pytest.mark.parametrize("task", [states.PAUSING, states.RESUMING, states.POWERING_OFF])
def test_a_failed_task_ends_as_the_guest_is_and_says_why(rig, server, task, kind):
    manager, instance = server(task)
    before = (instance.vm_state, power(rig, instance))
    rig.trouble({"step": "power", "kind": kind, "message": "no luck"})
    change(manager, instance, task)
    assert instance.task_state is None
    assert (instance.vm_state, power(rig, instance)) == before
    assert ("no luck" in rig.conductor.faults[instance.uuid]) == (kind == "final")
    (event,) = rig.conductor.events[instance.uuid]
    assert (event.result, "no luck" in event.details) == ("Error", True)


def test_what_could_not_be_put_away_is_tried_again_when_it_is_told_again(rig, server):
    manager, instance = server(states.SOFT_DELETING)
    rig.trouble({"step": "power", "kind": "crash", "message": "no luck"})
    change(manager, instance, states.SOFT_DELETING)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, states.SOFT_DELETING)
    rig.trouble()
    change(manager, instance, states.SOFT_DELETING)
    assert (instance.vm_state, instance.task_state) == (states.SOFT_DELETED, None)
    assert power(rig, instance) == states.SHUTDOWN


@pytest.mark.parametrize("task", MISSING)
def test_what_the_hypervisor_cannot_do_fails_and_the_server_is_as_it_was(rig, server, task):
    manager, instance = server(task)
    before = (instance.vm_state, power(rig, instance))
    rig.host = dataclasses.replace(rig.host, virt=Simple(rig.virt))
    manager = rig.manager()
    change(manager, instance, task)
    assert (instance.vm_state, power(rig, instance)) == before
    assert MISSING[task] in rig.conductor.faults[instance.uuid]
    (event,) = rig.conductor.events[instance.uuid]
    assert event.result == "Error"


@pytest.mark.parametrize("task", [states.PAUSING, states.SUSPENDING])
def test_a_guest_that_had_stopped_cannot_be_paused_and_makes_a_stopped_server(rig, server, task):
    manager, instance = server(task)
    rig.virt.power_off(instance.uuid)
    change(manager, instance, task)
    assert (instance.vm_state, power(rig, instance)) == (states.STOPPED, states.SHUTDOWN)
    assert rig.conductor.faults[instance.uuid] is not None


@pytest.mark.parametrize("vm_state", [states.PAUSED, states.SUSPENDED])
def test_a_hard_reboot_lets_a_paused_or_suspended_server_run(rig, server, vm_state):
    manager, instance = server(states.REBOOTING_HARD, vm_state)
    change(manager, instance, states.REBOOTING_HARD)
    assert (instance.vm_state, power(rig, instance)) == (states.ACTIVE, states.RUNNING)


def test_a_guest_that_is_gone_makes_an_error(rig, server):
    manager, instance = server(states.POWERING_OFF)
    rig.virt.destroy(instance.uuid)
    change(manager, instance, states.POWERING_OFF)
    assert (instance.vm_state, instance.task_state) == (states.ERROR, None)
    assert "no guest" in rig.conductor.faults[instance.uuid]


def test_a_hard_reboot_brings_back_a_server_in_error_whose_guest_is_there(rig, server):
    manager, instance = server(states.REBOOTING_HARD, states.ERROR)
    change(manager, instance, states.REBOOTING_HARD)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)


def test_a_hypervisor_that_cannot_tell_ends_the_task_only(rig, server, monkeypatch):
    manager, instance = server(states.POWERING_OFF)

    def broken(_uuid):
        raise Crash("the hypervisor is away")

    monkeypatch.setattr(rig.virt, "describe", broken)
    change(manager, instance, states.POWERING_OFF)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)


@pytest.mark.parametrize("applied", [False, True])
def test_the_outcome_is_told_until_it_is_heard(rig, server, applied):
    manager, instance = server(states.POWERING_OFF)
    away = exception.Unavailable("the bus is away")
    rig.conductor.fail("end_operation", away, away, applied=applied)
    change(manager, instance, states.POWERING_OFF)
    assert (instance.vm_state, instance.task_state) == (states.STOPPED, None)


def test_without_an_answer_for_long_nothing_is_done(rig, server):
    manager, instance = server(states.POWERING_OFF)
    rig.conductor.fail("begin_operation", *[exception.Unavailable("the bus is away")] * 1000)
    change(manager, instance, states.POWERING_OFF)
    assert power(rig, instance) == states.RUNNING
    assert len(rig.leases) == 0


def test_an_operation_is_begun_when_the_conductor_answers_again(rig, server):
    manager, instance = server(states.POWERING_OFF)
    rig.conductor.fail("begin_operation", exception.Unavailable("the bus is away"))
    change(manager, instance, states.POWERING_OFF)
    assert (instance.vm_state, power(rig, instance)) == (states.STOPPED, states.SHUTDOWN)


def test_a_task_under_way_has_a_lease_that_is_renewed(rig, server, gate, threads):
    manager, instance = server(states.POWERING_OFF)
    stop = threads.submit(change, manager, instance, states.POWERING_OFF)
    assert gate.reached.wait(10)
    manager.renew_leases()
    gate.go_on.set()
    stop.result()
    assert rig.conductor.renewals[-1] == [instance.uuid]
    assert len(rig.leases) == 0


def test_a_task_whose_lease_is_lost_is_not_begun(rig, server, monkeypatch):
    """The cell has given it up, and the host learns it while it asks for the row."""
    manager, instance = server(states.POWERING_OFF)
    asked = rig.conductor.begin_operation

    def ask_and_lose(*args, **values):
        answer = asked(*args, **values)
        instance.host = "h2"
        manager.renew_leases()
        return answer

    monkeypatch.setattr(rig.conductor, "begin_operation", ask_and_lose)
    change(manager, instance, states.POWERING_OFF)
    assert (instance.task_state, power(rig, instance)) == (states.POWERING_OFF, states.RUNNING)


def test_two_tasks_never_work_on_one_guest_at_once(rig, server, gate, threads, wait_until):
    manager, instance = server(states.REBOOTING)
    soft = threads.submit(change, manager, instance, states.REBOOTING)
    assert gate.reached.wait(10)
    instance.task_state = states.REBOOTING_HARD
    hard = threads.submit(change, manager, instance, states.REBOOTING_HARD)
    wait_until(lambda: len(rig.leases) == 2)
    assert boots(rig, instance) == 1
    gate.go_on.set()
    soft.result(), hard.result()
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert boots(rig, instance) == 3
