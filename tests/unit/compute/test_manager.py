"""What a compute host does when it is told to."""

import dataclasses
import queue
import threading
from concurrent import futures

import pytest

from roost import exception, states
from roost.compute.collectors import Collectors, offered_by
from roost.compute.network.local import LocalNetworkDriver
from roost.compute.operations.build import build_flow
from roost.objects import Operation
from roost.operations.kinds import BUILD, CONFIRM_RESIZE, MIGRATE
from roost.rpc.compute import Compute
from roost.rpc.interface import endpoint
from tests.builders import CELL1, a_context, a_flavor, a_uuid
from tests.unit.compute.conftest import run


class Gate:
    """Holds builds up before the named step, and counts how often each step is done."""

    def __init__(self, step):
        self.step = step
        self.done = []
        self.reached = threading.Semaphore(0)
        self.go_on = threading.Event()

    def __call__(self, do, build):
        self.done.append(do.__name__)
        if do.__name__ == self.step:
            self.reached.release()
            assert self.go_on.wait(10)
        do(build)


@pytest.fixture
def gate():
    gate = Gate("spawn")
    yield gate
    gate.go_on.set()


def test_the_manager_is_what_is_declared(rig):
    endpoint(Compute, rig.manager())


def test_a_host_learns_at_its_start_where_it_is_and_what_it_holds(rig):
    instance = rig.instance(vm_state=states.ACTIVE, task_state=None)
    rig.instance(host="h2")
    rig.manager().start()
    report = rig.tracker.report()
    assert (report.cell_uuid, report.instances) == (CELL1, [instance.uuid])
    assert rig.reporter.changes > 0


def test_a_heartbeat_brings_what_the_operator_decided(rig):
    manager = rig.manager()
    manager.start()
    rig.conductor.disabled, rig.conductor.disabled_version = True, 1
    manager.heartbeat()
    assert not rig.tracker.report().enabled


def test_an_answer_from_before_the_operators_word_does_not_undo_it(rig):
    """An answer that comes late, after that to a later heartbeat."""
    manager = rig.manager()
    manager.start()
    for disabled, version in ((True, 2), (False, 1)):
        rig.conductor.disabled, rig.conductor.disabled_version = disabled, version
        manager.heartbeat()
    report = rig.tracker.report()
    assert (report.enabled, report.enabled_version) == (False, 2)


def test_a_heartbeat_brings_what_schedulers_read_of_reports(rig):
    rig.virt._metrics = {"heat": 21.5, "load": 0.5}
    rig.tracker.collectors = Collectors(offered_by(rig.virt))
    manager = rig.manager()
    manager.ask_collectors()
    manager.start()
    assert rig.tracker.report().metrics == {"heat": 21.5, "load": 0.5}
    for parts, found in ((["metrics.heat"], {"heat": 21.5}), (None, {"heat": 21.5}), ([], {})):
        before = rig.reporter.changes
        rig.conductor.read_parts = parts
        manager.heartbeat()
        assert rig.tracker.report().metrics == found
        assert (rig.reporter.changes > before) is (parts is not None)


def test_a_host_that_has_started_is_a_living_daemon_of_its_cell(rig):
    manager = rig.manager()
    manager.beat()
    assert rig.group.beats == []
    manager.start()
    manager.beat()
    assert rig.group.beats == [CELL1]


def test_a_doubled_build_message_does_nothing(rig, boot, gate, threads):
    manager, instance = rig.manager(executor=threads, flow=build_flow(gate)), rig.instance()
    boot(manager, instance)
    gate.reached.acquire()
    boot(manager, instance)
    gate.go_on.set()
    assert manager.drain(10)
    assert gate.done.count("begin") == 1
    assert instance.vm_state == states.ACTIVE


def test_no_more_builds_run_at_once_than_there_is_room_for(rig, boot, gate, threads):
    manager = rig.manager(executor=threads, flow=build_flow(gate))
    made = [rig.instance(flavor=a_flavor(memory_mb=64)) for _ in range(5)]
    for instance in made:
        boot(manager, instance)
    gate.reached.acquire()
    gate.reached.acquire()
    assert gate.done.count("begin") == 2
    gate.go_on.set()
    assert len(rig.tracker.claims) >= 2


def test_a_delete_ends_guest_claim_and_row(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    rig.delete(manager, instance)
    rig.assert_clean_slate()
    assert rig.conductor.buried == [instance.uuid]
    assert rig.conductor.ports == {}
    assert rig.conductor.events[instance.uuid][-1].event == "compute.destroy"


def test_a_delete_may_be_repeated(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    for _ in range(2):
        rig.delete(manager, instance)
    assert rig.conductor.buried == [instance.uuid]


def test_a_delete_of_an_instance_that_was_never_here_still_buries_it(rig):
    instance = rig.instance()
    rig.delete(rig.manager(), instance)
    assert rig.conductor.buried == [instance.uuid]


def test_a_delete_that_was_finished_before_is_no_failure(rig):
    rig.conductor.fail("end_operation", exception.NotFound("gone"))
    rig.delete(rig.manager(), rig.instance())


@pytest.mark.parametrize("row", [{}, {"host": "h2", "task_state": states.DELETING}])
def test_a_message_alone_ends_no_guest(rig, boot, row):
    """Late, doubled, or of somebody who may not send it."""
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    for name, value in row.items():
        setattr(instance, name, value)
    run(manager, instance, kind="delete")
    assert rig.virt.list_guests() == [instance.uuid]
    assert rig.tracker.claims.keys() == {instance.uuid}
    assert rig.conductor.buried == []


def test_what_a_server_that_moved_has_left_here_goes_when_it_is_deleted(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    instance.host, instance.task_state = "h2", states.DELETING
    rig.conductor.left_behind.add((instance.uuid, "h1"))
    run(manager, instance, kind="delete")
    assert (rig.virt.list_guests(), rig.tracker.claims) == ([], {})
    assert rig.conductor.buried == []


def test_a_message_alone_ends_no_build(rig, boot, gate, threads):
    manager, instance = rig.manager(executor=threads, flow=build_flow(gate)), rig.instance()
    boot(manager, instance)
    gate.reached.acquire()
    run(manager, instance, kind="delete")
    gate.go_on.set()
    assert manager.drain(10)
    assert rig.virt.list_guests() == [instance.uuid]
    assert instance.vm_state == states.ACTIVE


def test_a_guest_that_could_not_be_destroyed_is_destroyed_by_the_next_delete(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    rig.trouble({"step": "destroy", "kind": "crash"})
    rig.delete(manager, instance)
    rig.trouble()
    rig.delete(manager, instance)
    rig.assert_clean_slate()
    assert rig.conductor.buried == [instance.uuid]


def test_a_delete_ends_the_build_under_way(rig, boot, gate, threads):
    manager, instance = rig.manager(executor=threads, flow=build_flow(gate)), rig.instance()
    boot(manager, instance)
    gate.reached.acquire()
    deleting = threading.Thread(
        target=rig.delete,
        args=(manager, instance),
    )
    deleting.start()
    gate.go_on.set()
    deleting.join(10)
    rig.assert_clean_slate()
    assert rig.conductor.buried == [instance.uuid]
    assert rig.conductor.rescheduled == []


def test_a_delete_settles_a_build_that_waits_for_an_answer(rig, boot, threads, wait_until):
    rig.host.patience._seconds = 600
    manager, instance = rig.manager(executor=threads), rig.instance()
    end_operation = rig.conductor.end_operation

    def answer_all_but_builds(context, *, operation, **report):
        if operation.kind == BUILD.name:
            raise exception.Timeout("no answer")
        return end_operation(context, operation=operation, **report)

    rig.conductor.end_operation = answer_all_but_builds
    boot(manager, instance)
    wait_until(lambda: rig.virt.list_guests() == [instance.uuid])
    rig.delete(manager, instance)
    rig.assert_clean_slate()


def test_a_delete_drops_a_build_that_waits_for_its_turn(rig, boot, gate, threads):
    manager = rig.manager(executor=threads, flow=build_flow(gate))
    first, second, third = (rig.instance(flavor=a_flavor(memory_mb=64)) for _ in range(3))
    for instance in (first, second, third):
        boot(manager, instance)
    gate.reached.acquire()
    gate.reached.acquire()
    rig.delete(manager, third)
    gate.go_on.set()
    assert manager.drain(10)
    assert rig.virt.list_guests() == sorted([first.uuid, second.uuid])
    assert rig.conductor.rescheduled == []


def test_a_stopping_host_gives_back_what_takes_too_long(rig, boot, gate, threads):
    manager, instance = rig.manager(executor=threads, flow=build_flow(gate)), rig.instance()
    boot(manager, instance)
    gate.reached.acquire()
    threading.Timer(0.1, gate.go_on.set).start()
    assert manager.drain(0.01)
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, "The host is stopping.")]


def test_a_stopping_host_gives_new_builds_back(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    manager.drain(0)
    boot(manager, instance)
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, "The host is stopping.")]


def test_a_host_that_starts_again_builds_again(rig, boot):
    manager, instance = rig.manager(), rig.instance(host="h1")
    manager.drain(0)
    manager.start()
    boot(manager, instance)
    assert instance.vm_state == states.ACTIVE


def test_only_hosts_that_filter_hear_of_security_groups(rig):
    rig.manager().refresh_security_groups(a_context(), project_id="project")
    asked = []

    class Filtering(LocalNetworkDriver):
        def refresh_groups(self, context, project_id):
            asked.append(project_id)

    rig.host = dataclasses.replace(rig.host, networks=Filtering(rig.conductor, host="h1"))
    rig.manager().refresh_security_groups(a_context(), project_id="project")
    assert asked == ["project"]


def test_a_host_copies_no_more_disks_at_once_than_it_may_and_no_other_step_waits_for_that(
    rig, monkeypatch
):
    begun, go_on = queue.SimpleQueue(), threading.Event()

    def begin(_context, *, operation, **_more):
        begun.put(operation.step)
        assert operation.step != "arrive" or go_on.wait(10)

    monkeypatch.setattr(rig.conductor, "begin_operation", begin)
    short = {MIGRATE: ("prepare", "send", "discard", "stay", "withdraw"), CONFIRM_RESIZE: ["leave"]}
    with futures.ThreadPoolExecutor(max_workers=2) as copies:
        manager = rig.manager(copies=copies)

        def run(kind, step):
            names = {"uuid": a_uuid(), "instance_uuid": a_uuid(), "kind": kind.name}
            manager.run(a_context(), operation=Operation.of(**names, host="h1", step=step))

        for _ in range(3):
            run(MIGRATE, "arrive")
        assert [begun.get(timeout=10) for _ in range(2)] == ["arrive"] * 2
        for kind, steps in short.items():
            for step in steps:
                run(kind, step)
                assert begun.get(timeout=10) == step
        assert begun.empty()
        go_on.set()
        assert begun.get(timeout=10) == "arrive"
