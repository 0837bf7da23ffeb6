"""Messages that take a host long are taken at once: their work waits for its turn elsewhere."""

import threading
from concurrent import futures

import futurist
import pytest

from roost import states
from roost.context import current
from roost.objects import NetworkRequest
from roost.operations.kinds import ATTACH_INTERFACE, DETACH_INTERFACE, OF_TASK
from tests import log_lines
from tests.builders import a_context, a_flavor, a_uuid, an_image
from tests.unit.compute.conftest import change_interfaces, run

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
    assert len(manager._queue) == 2
    go_on.set()
    wait_until(lambda: len(manager._queue) == 0)


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


def test_interfaces_of_one_server_wait_for_its_task_and_those_of_others_do_not(
    rig, boot, threads, stubborn, wait_until
):
    go_on, stopping = stubborn
    with futures.ThreadPoolExecutor(2) as devices:
        manager = rig.manager(tasks=threads, devices=devices)
        busy, other = served(rig, boot, manager, 2)
        stop(manager, busy)
        wait_until(lambda: stopping)
        port = {"port_id": a_uuid(), "request": REQUEST}
        waits, done = (
            change_interfaces(rig, manager, one, ATTACH_INTERFACE, **port) for one in (busy, other)
        )
        wait_until(lambda: done in rig.conductor.ended)
        assert waits not in rig.conductor.ended
        go_on.set()
        wait_until(lambda: waits in rig.conductor.ended)


def test_interfaces_do_not_wait_for_an_image_of_their_server(rig, boot, threads, wait_until):
    """Its upload may take an hour."""
    go_on = threading.Event()
    rig.store.upload = lambda _context, image_id, _disk: (go_on.wait(10), an_image(id=image_id))[1]
    with futures.ThreadPoolExecutor(2) as devices:
        manager = rig.manager(tasks=threads, devices=devices)
        (server,) = served(rig, boot, manager, 1)
        image = rig.store.create(a_context(), an_image(owner="project"))
        rig.conductor.images[server.uuid] = image
        server.task_state = states.IMAGE_SNAPSHOT_PENDING
        run(manager, server, kind="create_image", image=image)
        wait_until(lambda: server.task_state == states.IMAGE_UPLOADING)
        made = change_interfaces(
            rig, manager, server, ATTACH_INTERFACE, port_id=a_uuid(), request=REQUEST
        )
        wait_until(lambda: made in rig.conductor.ended)
        assert server.task_state == states.IMAGE_UPLOADING
        go_on.set()
        wait_until(lambda: server.task_state is None)


def test_a_hundred_changes_of_interfaces_keep_no_stop_waiting(rig, boot, threads, wait_until):
    go_on = threading.Event()
    rig.virt.detach_interface = lambda *_: go_on.wait(10)
    with futures.ThreadPoolExecutor(2) as devices:
        manager = rig.manager(tasks=threads, devices=devices)
        *slow, other = served(rig, boot, manager, 5)
        going = [
            change_interfaces(rig, manager, one, DETACH_INTERFACE, port_id=a_uuid())
            for one in slow * 25
        ]
        stop(manager, other)
        wait_until(lambda: other.task_state is None)
        go_on.set()
        wait_until(lambda: {*going} <= {*rig.conductor.ended})
