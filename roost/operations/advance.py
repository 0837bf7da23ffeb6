"""What follows in an operation after the report of a host, or without one. Pure: no I/O.

``conductor/cell/operations/`` carries it out. Steps are done in order; one that fails is undone,
and those before it, the last one first. A step that cannot be undone is repeated. A build that
fails on one host is placed on another; ``conductor/cell/operations/builds.py`` goes on with it.

Where a guest may be on either of two hosts, both are asked before anything is undone or repeated,
the source first.
"""

import enum
from typing import Final, NamedTuple

from roost.operations.presence import MigrationOutcome, Presence, outcome_of
from roost.operations.steps import CONDUCTOR, HOST, IN_ERROR, Ending, Kind, OperationStep


class Outcome(enum.StrEnum):
    """How a step has ended, as its host says.

    ``FAILED``: its guest is as usable as before. ``SPOILT``: it is not; a build fails so on every
    host. ``UNDECIDED``: the guest may be on either side. Of a step that asks where it is:
    ``STAYED``: it has not left. ``LOST``: it is on neither side. ``TORN``: its memory is divided
    between both; neither may be changed.
    """

    DONE = "done"
    FAILED = "failed"
    SPOILT = "spoilt"
    UNDECIDED = "undecided"
    STAYED = "stayed"
    LOST = "lost"
    TORN = "torn"


class HostState(enum.Enum):
    """Whether the host of an overdue step is up. No guest runs on one that is fenced."""

    UP = "up"
    DOWN = "down"
    FENCED = "fenced"


class Go(NamedTuple):
    """The operation goes on with this step."""

    step: OperationStep


class End(NamedTuple):
    """The operation ends."""

    ending: Ending


class Stay(enum.Enum):
    """The step is the same: it is sent to its host again, or waits until that is up."""

    REPEAT = "repeat"
    WAIT = "wait"


Next = Go | End | Stay


class Overdue(NamedTuple):
    """What follows when a host has not renewed its lease.

    ``why``: why the step is given up; None: it is not. ``skips``: the operation goes on as if the
    step was done. ``handover``: what the step would have given to the next one.
    """

    next: Next
    why: str | None = None
    skips: bool = False
    handover: str | None = None


_REPEAT: Final = Overdue(Stay.REPEAT)
# What a source that does not answer is said to have of a guest; no guest runs on a fenced one.
_SILENT: Final = ""
_OUTCOMES: Final = {
    MigrationOutcome.ARRIVED: Outcome.DONE,
    MigrationOutcome.STAYED: Outcome.STAYED,
    MigrationOutcome.WAIT: Outcome.UNDECIDED,
    MigrationOutcome.TORN: Outcome.TORN,
    MigrationOutcome.LOST: Outcome.LOST,
}


def after(kind: Kind, name: str, outcome: Outcome, *, has_guest: bool = True) -> Next:
    """Return what follows after the report of a host.

    :param name: of the step
    :param has_guest: whether the host has a guest of the server now
    """
    if (asked := kind.in_question(name)) is not None:
        return _answered(kind, asked, kind.step(name), outcome)
    if outcome is Outcome.UNDECIDED:
        ask = kind.step(name).ask
        return Stay.REPEAT if ask is None else Go(ask)
    if outcome is Outcome.DONE:
        return _following(kind, name, has_guest=has_guest)
    if kind.repeated_until_done:  # who leaves a host has more there than the guest
        more = kind.deletes or kind.done.leaves_host
        return Stay.REPEAT if has_guest or more else End(kind.done)
    step = kind.step(name)
    if step.at == HOST and (step.elsewhere is None or outcome is Outcome.SPOILT):
        is_lost = kind.failed.needs_guest and not has_guest
        return End(IN_ERROR if outcome is Outcome.SPOILT or is_lost else kind.failed)
    return _undoing(kind, name) or Stay.REPEAT


def find_outcome(source: str | None, destination: Presence | None) -> Outcome:
    """Return the outcome of a step by which a guest may have left its host.

    :param source: what that host has of it, as the first step that asks has handed it over
    :param destination: what the destination has; None: it does not answer
    """
    known = {each.value: each for each in Presence}
    return _OUTCOMES[outcome_of(known.get(source or _SILENT), destination)]


def overdue(
    kind: Kind,
    name: str,
    *,
    tries: int,
    host: str,
    is_host: HostState,
    handover: str | None = None,
) -> Overdue:
    """Return what follows when a host has not renewed its lease, or a conductor has died.

    A step that cannot be undone is sent without end: the server may run there, or have its only
    disk there.

    :param tries: how often the step was sent to the host again
    :param handover: what the step before has handed over
    """
    step = kind.step(name)
    if kind.in_question(name) is not None:
        return _unanswered(kind, step, is_host, handover)
    is_known = step.at == HOST and not kind.builds  # else there is more than one
    who = "The host of the server" if is_known else f"The host {host}"
    if is_host is HostState.UP:
        if kind.why_not_resent is not None:
            return Overdue(End(kind.lost), kind.why_not_resent)
        if tries < kind.tries or kind.repeated_until_done or step.at == CONDUCTOR:
            return _REPEAT
        why = f"{who} did not do it: it was sent there {kind.tries + 1} times."
    else:
        if kind.repeated_until_done:
            return Overdue(End(kind.lost), skips=True)
        why = f"{who} went down during the action: {kind.action}."
    given_up = _giving_up(kind, step)
    if given_up is None and (step.when_down or is_host is HostState.FENCED):
        return Overdue(_following(kind, name, has_guest=True), skips=True)
    stays = Stay.REPEAT if is_host is HostState.UP else Stay.WAIT
    return Overdue(stays) if given_up is None else Overdue(given_up, why)


def _answered(kind: Kind, asked: OperationStep, ask: OperationStep, outcome: Outcome) -> Next:
    """Return what follows after a host was asked for the outcome of a step."""
    if ask.ask is not None:  # the other host is asked next
        return Go(ask.ask) if outcome is Outcome.DONE else Stay.REPEAT
    if outcome is Outcome.DONE:
        return _following(kind, asked.name, has_guest=True)
    if outcome is Outcome.STAYED:
        return _undoing(kind, asked.name) or Stay.REPEAT
    if outcome is Outcome.UNDECIDED and asked.ask is not None:
        return Go(asked.ask)
    return End(kind.lost) if outcome in (Outcome.LOST, Outcome.TORN) else Stay.REPEAT


def _unanswered(
    kind: Kind, ask: OperationStep, is_host: HostState, handover: str | None
) -> Overdue:
    """Return what follows when a host is down that is asked for the outcome of a step."""
    if is_host is HostState.UP:
        return _REPEAT
    fenced = is_host is HostState.FENCED
    why = f"A host went down during the action: {kind.action}."
    if ask.ask is not None:
        return Overdue(Go(ask.ask), why, handover=Presence.ABSENT.value if fenced else _SILENT)
    outcome = find_outcome(handover, Presence.ABSENT if fenced else None)
    if outcome is Outcome.UNDECIDED:
        return Overdue(Stay.WAIT)
    return Overdue(after(kind, ask.name, outcome), why)


def is_undo(kind: Kind, name: str) -> bool:
    """Return whether a step undoes another one."""
    return any(step.undo is not None and step.undo.name == name for step in kind.steps)


def _following(kind: Kind, name: str, *, has_guest: bool) -> Next:
    if is_undo(kind, name):
        undo = _undo_below(kind, _index(kind, name))
        return End(kind.failed) if undo is None else Go(undo)
    later = kind.steps[_index(kind, name) + 1 :]
    if later:
        return Go(later[0])
    return End(IN_ERROR if kind.done.needs_guest and not has_guest else kind.done)


def _undoing(kind: Kind, name: str) -> Go | None:
    """Return the step after one that failed; None: it cannot be undone."""
    if (elsewhere := kind.step(name).elsewhere) is not None:
        return Go(elsewhere)
    if any(step.ask is not None for step in kind.steps[: _index(kind, name)]):
        return None  # the guest has left
    undo = None if is_undo(kind, name) else _undo_below(kind, _index(kind, name) + 1)
    return None if undo is None else Go(undo)


def _giving_up(kind: Kind, step: OperationStep) -> Next | None:
    if step.ask is not None:
        return Go(step.ask)
    is_alone = step.at == HOST and step.elsewhere is None
    return End(kind.lost) if is_alone else _undoing(kind, step.name)


def _index(kind: Kind, name: str) -> int:
    """Return where a step is among those of its kind, or the one that it belongs to."""
    return next(
        at
        for at, step in enumerate(kind.steps)
        if name in {one.name for one in (step, step.undo, *step.asks, step.elsewhere) if one}
    )


def _undo_below(kind: Kind, index: int) -> OperationStep | None:
    undos = [step.undo for step in kind.steps[:index] if step.undo is not None]
    return undos[-1] if undos else None
