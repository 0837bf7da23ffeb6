"""Messages that take a host long are taken at once: their work waits for its turn elsewhere."""

import threading
import time
from concurrent import futures

import futurist
import pytest

from roost import exception, states
from roost.compute import manager as managers
from roost.context import current
from roost.objects import NetworkRequest
from roost.operations.kinds import OF_TASK
from tests import log_lines
from tests.builders import a_context, a_flavor, a_uuid
from tests.unit.compute.conftest import run

REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


@pytest.fixture
def stubborn(rig):
    """Guests stop only when the event is set; counts how many are being stopped."""
    go_on, stopping = threading.Event(), []
    power_off = rig.virt.power_off

    def hang(uuid):
        stopping.append(uuid)
        assert go_on.wait(10)
        power_off(uuid)

    rig.virt.power_off = hang
    yield go_on, stopping
    go_on.set()


@pytest.fixture
def manager(rig, threads):
    return rig.manager(tasks=threads)


def served(rig, boot, manager, count):
    made = [rig.instance(flavor=a_flavor(memory_mb=64), networks=[]) for _ in range(count)]
    for instance in made:
        boot(manager, instance)
    return made


def stop(manager, instance):
    instance.task_state = states.POWERING_OFF
    run(manager, instance, kind="stop")


def test_guests_that_do_not_stop_hold_no_thread_for_messages(
    rig, boot, manager, stubborn, wait_until
):
    go_on, stopping = stubborn
    made = served(rig, boot, manager, 5)
    for instance in made:
        stop(manager, instance)  # returns
    wait_until(lambda: len(stopping) == 2)
    assert len(rig.leases) == 5  # those that wait, too: nobody sends them again
    go_on.set()
    wait_until(lambda: all(each.vm_state == states.STOPPED for each in made))
    wait_until(lambda: len(rig.leases) == 0)


def test_log_lines_of_queued_work_name_its_own_request(rig, boot, manager, stubborn, wait_until):
    go_on, stopping = stubborn
    (server,) = served(rig, boot, manager, 1)
    server.task_state = states.POWERING_OFF
    asked = [a_context(), a_context()]
    with log_lines.recorded() as lines:
        for one, task in zip(asked, (states.POWERING_OFF, states.POWERING_ON), strict=True):
            with current(one):
                run(manager, server, kind=OF_TASK[task].name, context=one)
        wait_until(lambda: stopping)
        go_on.set()
        wait_until(lambda: len(rig.leases) == 0)
    named = {line.request_id: line.text for line in lines}
    assert set(named) == {one.request_id for one in asked}
    assert "stop is done" in named[asked[0].request_id]
    assert "start is not under way" in named[asked[1].request_id]


def test_what_waits_for_one_server_takes_nobody_elses_turn(
    rig, boot, manager, stubborn, wait_until
):
    go_on, stopping = stubborn
    first, second = served(rig, boot, manager, 2)
    stop(manager, first)
    wait_until(lambda: stopping)
    rig.delete(manager, first)
    rig.delete(manager, second)
    wait_until(lambda: rig.conductor.buried == [second.uuid])
    go_on.set()
    wait_until(lambda: rig.conductor.buried == [second.uuid, first.uuid])


def test_a_delete_does_not_wait_for_what_waits_before_it(rig, boot, threads, stubborn, wait_until):
    manager = rig.manager(tasks=threads, ends=futurist.SynchronousExecutor())
    go_on, stopping = stubborn
    *busy, last = served(rig, boot, manager, 3)
    for instance in busy:
        stop(manager, instance)
    wait_until(lambda: len(stopping) == 2)  # all threads for stops
    stop(manager, last)
    last.task_state = states.DELETING
    rig.delete(manager, last)
    assert rig.conductor.buried == [last.uuid]
    go_on.set()
    wait_until(lambda: all(each.vm_state == states.STOPPED for each in busy))
    wait_until(lambda: len(rig.leases) == 0)
    assert sorted(stopping) == sorted(each.uuid for each in busy)


def test_what_waits_is_done_after_an_outage_in_which_its_lease_ended(
    rig, boot, manager, stubborn, wait_until
):
    go_on, stopping = stubborn
    *busy, last = served(rig, boot, manager, 3)
    for instance in (*busy, last):
        stop(manager, instance)
    wait_until(lambda: len(stopping) == 2)
    (lease,) = [each for each in rig.leases._known() if each.instance_uuid == last.uuid]
    lease.hold(since=rig.leases.clock() - 3600)
    rig.leases.fence()
    assert lease.lost
    go_on.set()
    wait_until(lambda: last.vm_state == states.STOPPED)


def test_a_message_that_comes_again_while_it_waits_is_one(rig, boot, manager, stubborn, wait_until):
    go_on, stopping = stubborn
    (server,) = served(rig, boot, manager, 1)
    stop(manager, server)
    wait_until(lambda: stopping)
    for _ in range(9):
        rig.delete(manager, server)
    assert len(manager._tasks) == 2
    go_on.set()
    wait_until(lambda: len(manager._tasks) == 0)


def test_a_stopping_host_finishes_the_task_under_way_and_drops_what_waits(
    rig, boot, manager, stubborn, wait_until
):
    go_on, stopping = stubborn
    made = served(rig, boot, manager, 3)
    for instance in made:
        stop(manager, instance)
    wait_until(lambda: len(stopping) == 2)
    assert not manager.drain(0.01)
    assert len(rig.leases) == 2
    go_on.set()
    assert manager.drain(10)
    stop(manager, made[2])
    left = {each.task_state for each in made[:2]}, made[2].task_state
    assert left == ({None}, states.POWERING_OFF)
    assert len(rig.leases) == 0


def change(manager, instance, way):
    if way == "attach":
        manager.attach_interface(a_context(), instance=instance, request=REQUEST, key=a_uuid())
    else:
        manager.detach_interface(a_context(), instance=instance, port_id=a_uuid())


def test_changes_of_interfaces_queue(rig, boot):
    """More than are done at once, and several of one server."""
    manager = rig.manager(interfaces=2)
    servers = served(rig, boot, manager, 3)
    rig.virt.detach_interface = lambda *_: time.sleep(0.02)
    with futures.ThreadPoolExecutor(12) as callers:
        for going in [callers.submit(change, manager, one, "detach") for one in servers * 4]:
            going.result(30)


@pytest.mark.parametrize("way", ["attach", "detach"])
def test_interfaces_of_a_busy_server_are_not_waited_for_for_ever(
    rig, boot, manager, stubborn, wait_until, way, monkeypatch
):
    monkeypatch.setattr(managers, "PATIENCE", 0.1)
    _go_on, stopping = stubborn
    busy, other = served(rig, boot, manager, 2)
    stop(manager, busy)
    wait_until(lambda: stopping)
    with pytest.raises(exception.Conflict, match="This server is busy"):
        change(manager, busy, way)
    change(manager, other, way)


def test_changes_of_interfaces_never_hold_all_threads_for_messages(rig, boot, threads, wait_until):
    go_on, reached = threading.Event(), threading.Event()

    def unplug(_uuid, _port_id):
        reached.set()
        assert go_on.wait(10)

    rig.virt.detach_interface = unplug
    manager = rig.manager(interfaces=1, queue=0)
    slow, other = served(rig, boot, manager, 2)
    going = threads.submit(change, manager, slow, "detach")
    assert reached.wait(10)
    with pytest.raises(exception.Conflict, match="host of this server is busy"):
        change(manager, other, "attach")
    go_on.set()
    going.result(10)
    change(manager, other, "attach")
