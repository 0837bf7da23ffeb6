"""The kinds of operations: each row is whole, and each has its work on hosts."""

import pytest

from roost import exception, states
from roost.compute.operations.move import STEPS
from roost.compute.operations.runner import WORK
from roost.operations import kinds
from roost.operations.kinds import KINDS, OF_TASK


def test_each_kind_has_work_on_its_host():
    moves = {kind for kind in KINDS.values() if kind.steps}
    assert set(WORK) == set(KINDS.values()) - moves
    steps = {step for kind in moves for step in kind.steps}
    assert set(STEPS) == {step.name for step in steps} | {
        step.undo.name for step in steps if step.undo
    }


def test_a_move_goes_step_by_step_and_comes_back_the_same_way():
    kind = kinds.MIGRATE
    assert [kind.following(name).name for name in ("prepare", "send")] == ["send", "arrive"]
    assert kind.following("arrive") is None
    back = {name: kind.undoing(name).name for name in ("prepare", "send", "arrive")}
    assert back == {"prepare": "discard", "send": "stay", "arrive": "withdraw"}
    assert [kind.following(name).name for name in ("withdraw", "stay")] == ["stay", "discard"]
    assert kind.following("discard") is None
    assert [kind.is_undo(name) for name in ("arrive", "withdraw")] == [False, True]


def test_what_cannot_be_undone_is_repeated():
    assert kinds.MIGRATE.undoing("stay") is None
    assert kinds.CONFIRM_RESIZE.undoing("leave") is None
    assert kinds.REVERT_RESIZE.undoing("stay") is None
    assert kinds.REVERT_RESIZE.following("withdraw").name == "stay"


def test_the_task_of_each_step_is_one_of_its_kind():
    for kind in KINDS.values():
        undos = [step.undo for step in kind.steps if step.undo]
        assert {step.task for step in (*kind.steps, *undos)} == (
            set(kind.tasks) if kind.steps else set()
        )


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_each_kind_names_states_that_there_are(kind):
    known = {value for value in vars(states).values() if isinstance(value, str)}
    named = {*kind.tasks, *kind.begins, *kind.statuses, kind.leads_to, kind.without_host}
    assert named <= {*known, None}
    assert kind.gives_way is None or kind.gives_way in KINDS
    assert OF_TASK[kind.first].tasks == kind.tasks


def test_a_kind_that_nobody_knows_is_refused_by_its_name():
    with pytest.raises(exception.Invalid, match="levitate"):
        kinds.get("levitate")
