"""A host works on nothing without a lease: it renews them together, and stops in time."""

import contextlib

import pytest

from roost import exception, states
from roost.compute.leases import Lease, LostLease
from roost.compute.operations.build import Build, build_flow, carry_out
from tests.builders import a_context, a_flavor
from tests.operation_rows import a_build
from tests.unit.compute.conftest import run

AWAY = exception.Unavailable("the bus is away")
USABLE = 25.0  # seconds of a lease of 30
STEPS = [step.name for step in build_flow().steps]


@contextlib.contextmanager
def at_work(rig, uuid):
    lease = Lease(rig.leases, uuid, uuid)
    rig.leases.enter(lease)
    yield lease
    rig.leases.leave(lease)


def carry(rig, instance, run=lambda do, build: do(build)):
    build = Build(rig.host, a_context(), a_build(instance), instance)
    rig.leases.enter(build.lease)
    carry_out(build, build_flow(run))
    return build


def around(name, *, before=lambda: None, after=lambda: None):
    """Let something happen before or after a step."""

    def run(do, build):
        if do.__name__ == name:
            before()
        do(build)
        if do.__name__ == name:
            after()

    return run


def in_silence(rig):
    """Whether a build has ended without a word to the conductor, and without a trace."""
    rig.assert_clean_slate()
    return rig.conductor.rescheduled == rig.conductor.abandoned == []


def test_all_work_is_renewed_in_one_call(rig):
    instance = rig.instance()
    build = Build(rig.host, a_context(), a_build(instance), instance)
    rig.leases.enter(build.lease)
    other = rig.instance(task_state=states.DELETING)
    with at_work(rig, other.uuid):
        rig.leases.renew()
    assert rig.conductor.renewals == [sorted([build.uuid, other.uuid])]


def test_the_cell_tells_how_long_a_lease_is(rig):
    rig.conductor.lease_seconds = 60.0
    rig.leases.start()
    assert rig.leases.renewal_pause() == 20.0
    assert rig.leases.usable_seconds == 50.0
    assert rig.leases.fencing_pause() < 10.0


@pytest.mark.parametrize("step", STEPS[1:])
def test_a_build_whose_lease_is_over_stops_before_its_next_step(rig, step):
    instance = rig.instance()
    carry(rig, instance, around(step, before=lambda: rig.clock.advance(USABLE)))
    assert in_silence(rig)
    assert instance.vm_state == states.BUILDING


def test_a_build_that_renews_its_lease_may_take_its_time(rig):
    def take_long():
        for _ in range(9):
            rig.clock.advance(10)
            rig.leases.renew()
            rig.leases.fence()

    instance = rig.instance()
    carry(rig, instance, around("spawn", before=take_long))
    assert instance.vm_state == states.ACTIVE


def test_two_renewals_may_fail(rig):
    def struggle():
        rig.conductor.fail("renew_leases", AWAY, AWAY)
        for _ in range(2):
            rig.clock.advance(10)
            with pytest.raises(exception.Unavailable):
                rig.leases.renew()
            rig.leases.fence()
        rig.leases.renew()
        rig.clock.advance(USABLE - 1)

    instance = rig.instance()
    carry(rig, instance, around("spawn", before=struggle))
    assert instance.vm_state == states.ACTIVE


def test_a_lease_that_was_over_does_not_come_back(rig):
    def stand_still_and_renew():
        rig.clock.advance(USABLE)
        rig.leases.fence()
        rig.leases.renew()

    carry(rig, rig.instance(), around("spawn", after=stand_still_and_renew))
    assert in_silence(rig)


def test_a_lease_that_was_over_before_anybody_noticed_does_not_come_back_by_a_renewal(rig):
    def stand_still_and_renew_at_once():
        rig.clock.advance(USABLE)
        rig.leases.renew()

    carry(rig, rig.instance(), around("spawn", after=stand_still_and_renew_at_once))
    assert in_silence(rig)


def test_an_outage_before_a_build_begins_costs_it_nothing(rig):
    begin = rig.conductor.begin_operation

    def be_away_for_long(*args, **kwargs):
        rig.conductor.begin_operation = begin
        rig.leases.renew()  # as while it was queued
        rig.clock.advance(2 * USABLE)
        rig.leases.fence()
        raise exception.Timeout("no answer")

    rig.conductor.begin_operation = be_away_for_long
    instance = rig.instance()
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE


def test_a_build_that_is_somebody_elses_by_now_stops(rig):
    handed = rig.instance()

    def move():
        rig.instance(uuid=handed.uuid, host="h2", attempt=2)
        rig.leases.renew()

    carry(rig, handed, around("image", after=move))
    assert in_silence(rig)
    assert handed.uuid not in rig.virt.list_guests()


def test_a_build_whose_instance_is_deleted_stops_though_the_message_is_lost(rig):
    handed = rig.instance()

    def delete():
        rig.conductor.instances.pop(handed.uuid)
        rig.leases.renew()

    carry(rig, handed, around("image", after=delete))
    assert in_silence(rig)


def test_a_build_that_waits_for_its_turn_is_renewed_and_needs_no_lease_before_it_begins(
    rig, boot, threads
):
    rig.host.virt.before_step = lambda _name: None
    later = Later()
    manager = rig.manager(executor=later)
    instance = rig.instance()
    boot(manager, instance)
    rig.leases.renew()
    rig.clock.advance(600)
    rig.leases.fence()
    later.run()
    assert instance.vm_state == states.ACTIVE
    assert len(rig.leases) == 0


class Later:
    """An executor that waits until it is told."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, *args):
        self.waiting.append((function, args))

    def run(self):
        for function, args in self.waiting:
            function(*args)


def test_a_task_notices_that_its_lease_is_lost(rig):
    made = rig.instance(vm_state=states.ACTIVE, task_state=states.POWERING_OFF)
    with at_work(rig, made.uuid) as lease:
        lease.check()
        made.task_state = None
        rig.leases.renew()
        with pytest.raises(LostLease):
            lease.check()


def test_a_delete_is_renewed_while_it_is_under_way(rig, boot):
    manager, instance = rig.manager(), rig.instance(flavor=a_flavor(memory_mb=64))
    boot(manager, instance)
    instance.task_state = states.DELETING
    destroy = rig.virt.destroy

    def renew_and_destroy(uuid):
        rig.leases.renew()
        destroy(uuid)

    rig.virt.destroy = renew_and_destroy
    run(manager, instance, kind="delete")
    assert rig.conductor.renewals == [[instance.uuid]]
    assert rig.conductor.buried == [instance.uuid]
    assert len(rig.leases) == 0


@pytest.mark.parametrize("applied", [True, False])
def test_a_lease_that_ends_with_an_announcement_whose_answer_was_lost_costs_no_server(rig, applied):
    instance = rig.instance()
    end, powers = rig.conductor.end_operation, []

    def lose_the_first_answer(*args, **kwargs):
        powers.append(rig.virt.describe(instance.uuid).power_state)
        if len(powers) > 1 or applied:
            end(*args, **kwargs)
        if len(powers) == 1:
            rig.leases.renew()
            raise exception.Timeout("no answer")

    rig.conductor.end_operation = lose_the_first_answer
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE
    assert rig.virt.list_guests() == [instance.uuid]
    assert powers == [states.RUNNING] * 2


class Outage:
    """A cell that does not answer an announcement until it is over.

    ``applied``: the update arrived, and only its answer was lost.
    """

    def __init__(self, rig, *, applied, at_end=lambda: None):
        self.rig, self.applied, self.at_end = rig, applied, at_end
        self.tries = 0
        self.powers = []
        self._end = rig.conductor.end_operation
        rig.conductor.end_operation = self

    def __call__(self, *args, **kwargs):
        self.tries += 1
        self._note_power(kwargs["operation"].instance_uuid)
        if self.tries == 1 and self.applied:
            self._end(*args, **kwargs)
        if self.tries == 4:
            self.at_end()
        if self.tries < 4:
            self.rig.clock.advance(USABLE / 2)
            self.rig.leases.fence()
            raise exception.Timeout("no answer")
        self._end(*args, **kwargs)

    def _note_power(self, uuid):
        self.powers.append(self.rig.virt.describe(uuid).power_state)


def test_a_guest_of_an_unanswered_announcement_stands_still_from_the_end_of_its_lease(rig):
    instance = rig.instance()
    outage = Outage(rig, applied=True)
    carry(rig, instance)
    assert outage.powers[0] == states.RUNNING
    assert outage.powers[3] == states.SHUTDOWN


@pytest.mark.parametrize("applied", [True, False])
def test_a_guest_that_turns_out_to_be_somebodys_server_runs_again(rig, applied):
    instance = rig.instance()
    Outage(rig, applied=applied)
    carry(rig, instance)
    assert instance.vm_state == states.ACTIVE
    assert rig.virt.describe(instance.uuid).power_state == states.RUNNING
    assert rig.conductor.rescheduled == []


def test_a_guest_whose_instance_is_elsewhere_by_now_is_destroyed(rig):
    handed = rig.instance()
    Outage(rig, applied=False, at_end=lambda: rig.instance(uuid=handed.uuid, attempt=2, host="h2"))
    carry(rig, handed)
    assert in_silence(rig)


def test_a_host_that_stops_leaves_a_guest_still_of_which_it_does_not_know_whose_it_is(rig):
    instance = rig.instance()

    def stop():
        rig.host.stopping.set()
        raise exception.Timeout("no answer")

    Outage(rig, applied=False, at_end=stop)
    carry(rig, instance)
    assert rig.virt.list_guests() == [instance.uuid]
    assert rig.conductor.rescheduled == []


def test_an_operation_that_the_cell_has_ended_is_lost_though_it_also_waits_again(rig):
    made = rig.instance(vm_state=states.ACTIVE, task_state=None)
    running, waiting = [Lease(rig.leases, made.uuid, made.uuid) for _ in range(2)]
    for lease in (running, waiting):
        rig.leases.enter(lease)
    rig.leases.renew()
    assert (running.lost, waiting.lost) == (True, True)
    for lease in (running, waiting):
        rig.leases.leave(lease)
