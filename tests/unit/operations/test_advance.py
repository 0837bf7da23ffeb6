"""What follows after each step: a function of the kind, the step and its outcome."""

import dataclasses

import pytest

from roost import states
from roost.operations import kinds
from roost.operations.advance import End, Go, HostState, Outcome, Stay, after, is_undo, overdue
from roost.operations.kinds import CONFIRM_RESIZE, MIGRATE, REBUILD, REVERT_RESIZE, SOFT_DELETE
from roost.operations.steps import DESTINATION, IN_ERROR, SOURCE, OperationStep

DONE, FAILED, SPOILT = Outcome.DONE, Outcome.FAILED, Outcome.SPOILT
ASK = OperationStep(name="look", at=DESTINATION, task="migrating")
SWITCH = OperationStep(name="switch", at=SOURCE, task="migrating", ask=ASK)
BEFORE = OperationStep(
    name="open",
    at=DESTINATION,
    task="migrating",
    undo=OperationStep(name="close", at=DESTINATION, task="migrating"),
)
LIVE = dataclasses.replace(
    MIGRATE,
    name="live",
    tasks=("migrating",),
    steps=(BEFORE, SWITCH, OperationStep(name="tidy", at=SOURCE, task="migrating")),
    lost=IN_ERROR,
)


def names(kind, *outcomes, first=None):
    """Return the steps that follow each other with these outcomes, and how it ends."""
    found, name = [], first or kind.steps[0].name
    for outcome in outcomes:
        what = after(kind, name, outcome)
        if not isinstance(what, Go):
            return [*found, what]
        name = what.step.name
        found.append(name)
    return found


def waiting(kind, name, is_host=HostState.UP, tries=0):
    return overdue(kind, name, tries=tries, host="h1", is_host=is_host)


def test_a_move_goes_step_by_step_and_comes_back_the_same_way():
    assert names(MIGRATE, DONE, DONE, DONE) == ["send", "arrive", End(MIGRATE.done)]
    back = ["withdraw", "stay", "discard", End(MIGRATE.failed)]
    assert names(MIGRATE, FAILED, DONE, DONE, DONE, first="arrive") == back
    assert [is_undo(MIGRATE, name) for name in ("arrive", "withdraw")] == [False, True]


@pytest.mark.parametrize(
    ("kind", "step"), [(MIGRATE, "stay"), (CONFIRM_RESIZE, "leave"), (REVERT_RESIZE, "stay")]
)
def test_what_cannot_be_undone_is_repeated(kind, step):
    assert after(kind, step, FAILED) is Stay.REPEAT
    assert waiting(kind, step).next is Stay.REPEAT


@pytest.mark.parametrize(
    ("outcome", "has_guest", "ending"),
    [
        (DONE, True, REBUILD.done),
        (FAILED, True, REBUILD.failed),
        (SPOILT, True, IN_ERROR),
        (DONE, False, IN_ERROR),
        (FAILED, False, IN_ERROR),
    ],
)
def test_a_server_whose_guest_is_spoilt_or_gone_is_in_error(outcome, has_guest, ending):
    assert after(REBUILD, "rebuild", outcome, has_guest=has_guest) == End(ending)


def test_what_is_repeated_until_done_ends_when_nothing_is_left_to_do():
    assert after(SOFT_DELETE, "soft_delete", FAILED) is Stay.REPEAT
    assert after(SOFT_DELETE, "soft_delete", FAILED, has_guest=False) == End(SOFT_DELETE.done)


def test_an_operation_that_its_host_does_not_do_is_given_up_after_its_tries():
    assert waiting(REBUILD, "rebuild", tries=9).next is Stay.REPEAT
    assert waiting(REBUILD, "rebuild", tries=10).next == End(REBUILD.lost)
    assert waiting(SOFT_DELETE, "soft_delete", tries=99).next is Stay.REPEAT
    secret = kinds.CHANGE_PASSWORD
    assert waiting(secret, "change_password").why == secret.why_not_resent
    down = waiting(REBUILD, "rebuild", HostState.DOWN)
    assert (down.next, down.next.ending.vm_state) == (End(REBUILD.lost), states.ERROR)


@pytest.mark.parametrize(
    ("kind", "step", "is_host", "what", "skips"),
    [
        (MIGRATE, "send", HostState.DOWN, "stay", False),
        (MIGRATE, "stay", HostState.DOWN, None, False),
        (MIGRATE, "stay", HostState.FENCED, "discard", True),
        (REVERT_RESIZE, "withdraw", HostState.FENCED, "stay", True),
    ],
)
def test_the_step_of_a_dead_host_is_undone_or_waits_until_no_guest_can_run_there(
    kind, step, is_host, what, skips
):
    found = waiting(kind, step, is_host)
    assert (found.next.step.name if what else found.next) == (what or Stay.WAIT)
    assert found.skips is skips


def test_where_the_guest_may_be_on_either_side_both_are_asked_before_anything_is_undone():
    for lost in (
        after(LIVE, "switch", Outcome.UNDECIDED),
        waiting(LIVE, "switch", HostState.DOWN).next,
        waiting(LIVE, "switch", HostState.FENCED).next,
        waiting(LIVE, "switch", tries=10).next,
    ):
        assert lost == Go(ASK)
    assert names(LIVE, DONE, DONE, first="look") == ["tidy", End(LIVE.done)]
    assert names(LIVE, FAILED, DONE, first="look") == ["close", End(LIVE.failed)]
    assert after(LIVE, "look", Outcome.UNDECIDED) is Stay.REPEAT
    assert after(LIVE, "look", Outcome.LOST) == End(IN_ERROR)
