"""The kinds of operations: each row is whole, and each has its work on hosts."""

import pytest

from roost import exception, states
from roost.compute.operations.runner import WORK
from roost.operations import kinds
from roost.operations.kinds import KINDS, OF_TASK


def test_each_kind_has_work_on_its_host():
    assert set(WORK) == set(KINDS.values())


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_each_kind_names_states_that_there_are(kind):
    known = {value for value in vars(states).values() if isinstance(value, str)}
    named = {*kind.tasks, *kind.begins, *kind.statuses, kind.leads_to, kind.without_host}
    assert named <= {*known, None}
    assert kind.gives_way is None or kind.gives_way in KINDS
    assert OF_TASK[kind.first] is kind


def test_a_kind_that_nobody_knows_is_refused_by_its_name():
    with pytest.raises(exception.Invalid, match="levitate"):
        kinds.get("levitate")
