"""Every step of a build: fail at it, fail after it, do it twice, undo it twice."""

import pytest

from roost import exception, states
from roost.compute.operations.build import Build, build_flow, carry_out
from tests.builders import a_context
from tests.operation_rows import a_build

STEPS = [step.name for step in build_flow().steps]
UNDOS = [step.undo.__name__ for step in build_flow().steps if step.undo]
BEFORE_ANNOUNCE = STEPS[:-1]


class Breaks:
    """Runs steps, and fails at (or after) the named one."""

    def __init__(self, name, *, after=False, error=None):
        self.name, self.after = name, after
        self.error = error or exception.BuildFailed("on purpose")

    def __call__(self, do, build):
        if do.__name__ == self.name and not self.after:
            raise self.error
        do(build)
        if do.__name__ == self.name:
            raise self.error


class Twice:
    """Runs every step twice, and after it fails, every undo."""

    def __init__(self, last=None):
        self.last = last

    def __call__(self, do, build):
        do(build)
        do(build)
        if do.__name__ == self.last:
            raise exception.BuildFailed("on purpose")


def carry(rig, instance, run):
    carry_out(Build(rig.host, a_context(), a_build(instance), instance), build_flow(run))


@pytest.mark.parametrize("step", STEPS)
def test_a_build_that_fails_at_a_step_leaves_nothing_and_is_rescheduled(rig, step):
    instance = rig.instance()
    carry(rig, instance, Breaks(step))
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, "on purpose")]


@pytest.mark.parametrize("step", BEFORE_ANNOUNCE)
def test_a_build_that_fails_after_a_step_leaves_nothing_and_is_rescheduled(rig, step):
    instance = rig.instance()
    carry(rig, instance, Breaks(step, after=True))
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, "on purpose")]


@pytest.mark.parametrize("step", STEPS[STEPS.index("network") :])
def test_networks_are_kept_for_the_next_host(rig, step):
    instance = rig.instance()
    carry(rig, instance, Breaks(step, after=step != "announce"))
    assert instance.uuid in rig.conductor.ports


@pytest.mark.parametrize("step", STEPS[STEPS.index("network") :])
def test_networks_that_cannot_move_are_freed(host_bound_rig, step):
    rig = host_bound_rig
    carry(rig, rig.instance(), Breaks(step, after=step != "announce"))
    assert rig.conductor.ports == {}


@pytest.mark.parametrize("step", STEPS)
def test_a_final_failure_is_undone_and_abandoned(rig, step):
    instance = rig.instance()
    error = exception.BuildFailed("hopeless", reschedulable=False)
    carry(rig, instance, Breaks(step, error=error))
    rig.assert_clean_slate()
    assert rig.conductor.abandoned == [(instance.uuid, "h1", 1, "hopeless")]
    assert rig.conductor.rescheduled == []
    assert rig.conductor.ports == {}


@pytest.mark.parametrize("step", STEPS)
def test_what_nobody_foresaw_is_rescheduled_with_its_class_and_words(rig, step):
    instance = rig.instance()
    carry(rig, instance, Breaks(step, error=ZeroDivisionError("oh")))
    rig.assert_clean_slate()
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, "ZeroDivisionError: oh")]


def test_a_build_whose_every_step_is_done_twice_succeeds_once(rig):
    instance = rig.instance()
    carry(rig, instance, Twice())
    assert instance.vm_state == states.ACTIVE
    assert rig.virt.list_guests() == [instance.uuid]
    assert rig.tracker.claims.keys() == {instance.uuid}
    assert rig.conductor.rescheduled == []


@pytest.mark.parametrize("undo", UNDOS)
def test_an_undo_that_fails_does_not_keep_the_others_from_running(rig, undo):
    def run(do, build):
        if do.__name__ in (undo, "announce"):
            raise ZeroDivisionError
        do(build)

    instance = rig.instance()
    carry(rig, instance, run)
    assert rig.virt.list_guests() == ([instance.uuid] if undo == "destroy" else [])
    assert list(rig.tracker.claims) == ([instance.uuid] if undo == "release_claim" else [])
    assert len(rig.conductor.rescheduled) == 1
