"""The message of a build gives its host a lease, where the host can be sure of that."""

import datetime

import pytest

from roost import states
from roost.compute.operations.build import Build, build_flow, carry_out
from roost.objects import GivenLease
from roost.operations.advance import Outcome
from roost.operations.kinds import DELETE, STOP
from tests.builders import NOW, a_context
from tests.operation_rows import a_build
from tests.unit.compute.conftest import run

SKEW = datetime.timedelta(hours=3)  # clocks of hosts may be wrong by any time
LENGTH = 30.0


@pytest.fixture
def cell(rig):
    """Let the host know the time of its cell; return that."""

    def now():
        return NOW + SKEW + datetime.timedelta(seconds=rig.clock())

    rig.conductor.now = lambda: now().isoformat()
    rig.leases.start()
    rig.clock.advance(1)
    rig.leases.note({"now": rig.conductor.now()}, since=rig.clock())
    return now


def given(cell, *, age=0.0):
    since = cell() - datetime.timedelta(seconds=age)
    return GivenLease.of(since=since, until=since + datetime.timedelta(seconds=LENGTH))


def carry(rig, lease, *, instance=None, flow=None):
    instance = instance or rig.instance(task_state=states.SPAWNING)
    build = a_queued_build(rig, lease, instance)
    rig.leases.enter(build.lease)
    carry_out(build, flow or build_flow())
    return build


def a_queued_build(rig, lease, instance=None):
    instance = instance or rig.instance(task_state=states.SPAWNING)
    operation = a_build(instance)
    operation.given = lease
    build = Build(rig.host, a_context(), operation, instance)
    build.lease.take(operation)
    return build


def has_asked(rig):
    return bool(rig.conductor.asked)


def test_a_build_with_a_lease_begins_without_a_question(rig, cell):
    rig.clock.advance(5)
    build = carry(rig, given(cell))
    assert build.instance.vm_state == states.ACTIVE
    assert not has_asked(rig)


def test_a_lease_ends_when_it_ends_in_the_cell_at_the_latest(rig, cell):
    rig.clock.advance(60)
    build = a_queued_build(rig, given(cell, age=10))
    rig.clock.advance(14.9)
    assert build.lease.is_given
    rig.clock.advance(0.2)  # a sixth of it is left for the end
    assert not build.lease.is_given


def test_the_time_that_the_answer_took_shortens_it(rig, cell):
    asked = rig.clock()
    said = rig.conductor.now()
    rig.clock.advance(4)
    rig.leases.note({"now": said}, since=asked - 4)
    build = a_queued_build(rig, given(cell))
    rig.clock.advance(LENGTH * 5 / 6 - 4.1)
    assert build.lease.is_given
    rig.clock.advance(0.2)
    assert not build.lease.is_given


@pytest.mark.parametrize("age", [16, 31, 3600])
def test_a_host_asks_where_little_of_the_lease_is_left(rig, cell, age):
    rig.clock.advance(3600)
    build = carry(rig, given(cell, age=age))
    assert build.instance.vm_state == states.ACTIVE
    assert has_asked(rig)


def test_a_host_asks_where_its_claim_may_have_expired_however_long_the_lease_is(rig, cell):
    rig.clock.advance(3600)
    lease = given(cell, age=31)
    lease.until += datetime.timedelta(hours=1)
    assert carry(rig, lease).instance.vm_state == states.ACTIVE
    assert has_asked(rig)


def test_a_host_asks_while_it_does_not_know_the_time_of_its_cell(rig):
    carry(rig, given(lambda: NOW))
    assert has_asked(rig)


def test_a_host_asks_about_messages_from_before_its_start(rig, cell):
    before = given(cell)
    rig.clock.advance(1)
    rig.leases.start()
    carry(rig, before)
    assert has_asked(rig)


def test_a_host_asks_about_what_it_has_to_delete_whatever_came_first(rig, cell):
    instance = rig.instance(task_state=states.SPAWNING)
    queued = a_queued_build(rig, given(cell), instance)
    rig.leases.enter(queued.lease)
    manager = rig.manager()
    run(manager, instance, kind=DELETE.name)
    assert not queued.lease.is_given
    late = a_queued_build(rig, given(cell), instance)
    assert not late.lease.is_given
    other = a_queued_build(rig, given(cell))
    assert other.lease.is_given


def test_a_host_asks_when_a_message_comes_again(rig, cell):
    instance = rig.instance(task_state=states.SPAWNING)
    message = given(cell)
    carry(rig, message, instance=instance)
    assert not has_asked(rig)
    carry(rig, message, instance=instance)
    assert has_asked(rig)


def test_a_build_whose_lease_ends_while_it_waits_asks_in_its_turn(rig, cell):
    instance = rig.instance(task_state=states.SPAWNING)
    build = a_queued_build(rig, given(cell), instance)
    rig.clock.advance(LENGTH)
    build.lease.resume()
    carry_out(build, build_flow())
    assert has_asked(rig)
    assert instance.vm_state == states.ACTIVE


@pytest.mark.parametrize("notifies", [False, True])
def test_an_operation_with_a_lease_begins_without_a_question_unless_its_cell_notifies(
    rig, cell, do_step, notifies
):
    rig.leases.cell_notifies = notifies
    server = carry(rig, given(cell)).instance
    asked = []
    ended = do_step(server, STOP.name, kind=STOP, asked=asked, given=given(cell))
    assert ended["outcome"] == Outcome.DONE
    assert bool(asked) is notifies
