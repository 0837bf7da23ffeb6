"""The kinds of operations: each row is whole, and each has its work on hosts."""

import pytest

from roost import exception, states
from roost.compute.operations.runner import STEPS
from roost.operations import kinds
from roost.operations.kinds import KINDS, OF_TASK
from roost.operations.steps import FOUND, LAST_REPORTED, UNCHANGED

BY_GUEST = {FOUND, LAST_REPORTED, UNCHANGED}


def test_each_step_of_each_kind_has_a_function_on_its_host():
    kinds = [kind for kind in KINDS.values() if not kind.builds]  # they have a flow of their own
    steps = [step for kind in kinds for step in kind.steps]
    undos = [step.undo for step in steps if step.undo is not None]
    asks = [ask for step in steps for ask in step.asks]
    assert set(STEPS) == {step.name for step in (*steps, *undos, *asks)}


def test_the_task_of_each_step_is_one_of_its_kind():
    for kind in KINDS.values():
        undos = [step.undo for step in kind.steps if step.undo]
        tasks = {step.task for step in (*kind.steps, *undos)}
        assert tasks == (set(kind.tasks) if kind.is_move else {*kind.tasks[:1]} or {None})


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_each_kind_names_states_that_there_are(kind):
    known = {value for value in vars(states).values() if isinstance(value, str)}
    named = {*kind.tasks, *kind.begins, *kind.statuses, kind.leads_to}
    named |= {ending.vm_state for ending in (kind.done, kind.failed, kind.lost)} - BY_GUEST
    assert named <= {*known, None}
    assert kind.preempted_by is None or kind.preempted_by in KINDS
    assert {OF_TASK[task].tasks for task in kind.tasks[:1]} <= {kind.tasks}


def test_a_kind_that_nobody_knows_is_refused_by_its_name():
    with pytest.raises(exception.Invalid, match="levitate"):
        kinds.get("levitate")
