"""What follows after each step: a function of the kind, the step and its outcome."""

import functools

import pytest

from roost import states
from roost.operations import kinds
from roost.operations.advance import End, Go, HostState, Outcome, Stay, after, is_undo, overdue
from roost.operations.kinds import (
    CONFIRM_RESIZE,
    LIVE_MIGRATE,
    MIGRATE,
    REBUILD,
    REVERT_RESIZE,
    SOFT_DELETE,
)
from roost.operations.steps import IN_ERROR

DONE, FAILED, SPOILT = Outcome.DONE, Outcome.FAILED, Outcome.SPOILT


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
        after(LIVE_MIGRATE, "transfer", Outcome.UNDECIDED),
        waiting(LIVE_MIGRATE, "transfer", HostState.DOWN).next,
        waiting(LIVE_MIGRATE, "transfer", HostState.FENCED).next,
        waiting(LIVE_MIGRATE, "transfer", tries=10).next,
    ):
        assert lost.step.name == "look_at_source"
    asked = functools.partial(names, LIVE_MIGRATE, first="look_at_source")
    assert asked(DONE, DONE, DONE) == ["look_at_destination", "take_over", End(LIVE_MIGRATE.done)]
    back = ["look_at_destination", "clear_room", "go_on_here", End(LIVE_MIGRATE.failed)]
    assert asked(DONE, Outcome.STAYED, DONE, DONE) == back
    assert asked(DONE, Outcome.UNDECIDED) == ["look_at_destination", "look_at_source"]
    for lost in (Outcome.LOST, Outcome.TORN):
        assert asked(DONE, lost) == ["look_at_destination", End(LIVE_MIGRATE.lost)]


@pytest.mark.parametrize("name", ["look_at_source", "look_at_destination", "take_over"])
def test_nobody_guesses_where_the_guest_is_and_nothing_is_undone_when_it_has_arrived(name):
    assert after(LIVE_MIGRATE, name, FAILED) is Stay.REPEAT
    assert waiting(LIVE_MIGRATE, name, tries=99).next is Stay.REPEAT


@pytest.mark.parametrize(
    ("is_host", "source", "what"),
    [
        (HostState.DOWN, "here", "clear_room"),
        (HostState.DOWN, "room", None),
        (HostState.DOWN, "nonsense", None),
        (HostState.DOWN, "", None),
        (HostState.FENCED, "undecided", "clear_room"),
        (HostState.FENCED, "room", End(LIVE_MIGRATE.lost)),
        (HostState.FENCED, "", None),
    ],
)
def test_a_destination_that_is_down_is_left_out_if_the_source_has_the_guest(is_host, source, what):
    name, host = "look_at_destination", "h2"
    found = overdue(LIVE_MIGRATE, name, tries=0, host=host, is_host=is_host, handover=source)
    if isinstance(what, str):
        assert found.next.step.name == what
    else:
        assert found.next == (what or Stay.WAIT)
    assert not found.skips


@pytest.mark.parametrize(
    ("is_host", "source"), [(HostState.DOWN, ""), (HostState.FENCED, "absent")]
)
def test_a_source_that_is_down_is_said_to_be_silent_or_to_have_nothing(is_host, source):
    found = waiting(LIVE_MIGRATE, "look_at_source", is_host)
    assert (found.next.step.name, found.handover) == ("look_at_destination", source)
    assert not found.skips  # else what it has were left behind there
