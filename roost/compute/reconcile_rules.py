"""What a host does about a guest that differs from its row: the cases, and the reasons.

A guest is destroyed only if it is proven to be this host's own leftover: its row is deleted; or a
later attempt of its build is on another host; or all hosts gave up its build; or its instance went
on without this host, which was down, and a record says so. A row that merely names another host
proves nothing: a host that was renamed would see the same. For a guest that was announced once,
only a deleted row and such a record are proof: any other row may be an old copy.

Pure functions: ``reconcile.py`` reads guests and rows, and makes the corrections.
"""

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from roost import states
from roost.compute.virt.driver import Guest
from roost.objects import InstanceLocation
from roost.objects.host import DELETED, ELSEWHERE, HERE, LEFT, MOVING, NOWHERE, UNKNOWN


class Correction(enum.Enum):
    """How a difference is handled: the last part of the notification's event type."""

    DESTROY = "leftover_destroyed"
    LEAVE = "guest_left"
    GIVE_UP = "instance_lost"
    FOLLOW = "power_followed"
    STOP = "stopped_again"
    START = "started_again"
    FIND = "guest_found"


@dataclasses.dataclass(frozen=True)
class GuestDecision:
    """The correction to make, and the reason in plain text for operators."""

    correction: Correction
    why: str


class Case(NamedTuple):
    """A guest and its row, by a condition on both, and what is decided about them."""

    applies: Callable[[Guest, InstanceLocation], bool]
    correction: Correction
    why: str


def _always(_guest: Guest, _row: InstanceLocation) -> bool:
    return True


def _was_announced(guest: Guest, _row: InstanceLocation) -> bool:
    return guest.announced


def _is_in_other_state(guest: Guest, row: InstanceLocation) -> bool:
    return row.vm_state in states.WITH_GUEST and guest.vm_state not in (None, row.vm_state)


def _differs(guest: Guest, row: InstanceLocation) -> bool:
    """Return whether the guest of a server that must have one, or may, is not as its row says."""
    if row.vm_state not in (
        *states.WITH_GUEST,
        *(states.RESIZED, states.SOFT_DELETED, states.SHELVED),
    ):
        return False
    is_known = guest.power_state in (states.NOSTATE, row.power_state)
    return _is_in_other_state(guest, row) or not is_known


_ELSEWHERE: Final = "attempt {row.attempt} of its instance is on {row.host}"
_OLD_ROW: Final = ", and the guest was announced: see doc/restore"
_CUT_OFF: Final = "its guest had ended with its host, which was started again"
# Of a guest, by the presence of its instance: the first case that applies; none: all is in order.
CASES: Final[Mapping[str, Sequence[Case]]] = {
    DELETED: [Case(_always, Correction.DESTROY, "its instance is deleted")],
    MOVING: [],
    LEFT: [Case(_always, Correction.DESTROY, "its instance has left meanwhile")],
    ELSEWHERE: [
        Case(_was_announced, Correction.LEAVE, _ELSEWHERE + _OLD_ROW),
        Case(
            lambda guest, row: guest.attempt is not None and guest.attempt < row.attempt,
            Correction.DESTROY,
            _ELSEWHERE + ", the guest is of attempt {guest.attempt}",
        ),
        Case(
            _always,
            Correction.LEAVE,
            _ELSEWHERE + ", and no record shows that the guest is of an earlier attempt",
        ),
    ],
    NOWHERE: [
        Case(_was_announced, Correction.LEAVE, "its instance is on no host" + _OLD_ROW),
        Case(
            lambda _guest, row: row.vm_state == states.ERROR and not row.launched,
            Correction.DESTROY,
            "the build of its instance was given up",
        ),
        Case(_always, Correction.LEAVE, "its instance is on no host"),
    ],
    UNKNOWN: [
        Case(_was_announced, Correction.LEAVE, "its cell knows no such instance" + _OLD_ROW),
        Case(_always, Correction.LEAVE, "its cell knows no such instance"),
    ],
    HERE: [  # without a task
        Case(
            lambda guest, row: (
                (row.vm_state, row.power_state) == (states.ERROR, states.NOSTATE)
                and guest.announced
                and guest.vm_state is not None
            ),
            Correction.FIND,
            "its guest, which was missing, is there again",
        ),
        Case(
            lambda guest, row: (
                row.vm_state in (states.SOFT_DELETED, states.SHELVED)
                and guest.power_state not in (states.NOSTATE, states.SHUTDOWN)
            ),
            Correction.STOP,
            "its guest {did}, though it is {row.vm_state}",
        ),
        Case(
            lambda guest, row: (
                row.vm_state == states.STOPPED
                and not guest.rescued
                and _is_in_other_state(guest, row)
            ),
            Correction.STOP,
            "its guest {did}, though it is to be stopped",
        ),
        Case(  # one that was paused stays down: its memory is lost
            lambda guest, row: (
                guest.cut_off
                and _differs(guest, row)
                and row.vm_state in (states.ACTIVE, states.RESCUED, states.RESIZED)
                and row.power_state == states.RUNNING
            ),
            Correction.START,
            _CUT_OFF,
        ),
        Case(
            lambda guest, row: guest.cut_off and _differs(guest, row), Correction.FOLLOW, _CUT_OFF
        ),
        Case(
            lambda guest, row: guest.rescued and _is_in_other_state(guest, row),
            Correction.FOLLOW,
            "its guest was rescued",
        ),
        Case(_is_in_other_state, Correction.FOLLOW, "its guest {did} by itself"),
        Case(_differs, Correction.FOLLOW, "its row did not know the power state"),
    ],
}
# Where there is no guest, but must be one.
_GONE: Final = GuestDecision(Correction.GIVE_UP, "its guest is gone from this host")
# How a guest came to differ from its row.
_DID: Final = {
    states.RUNNING: "ran",
    states.SHUTDOWN: "had stopped",
    states.HELD: "was paused",
    states.SAVED: "was suspended",
}


def decide(
    guest: Guest | None, row: InstanceLocation, *, resumes: bool = False
) -> GuestDecision | None:
    """Compare a guest (None: there is none) with its row; return None when nothing is to be done.

    :param resumes: whether guests that ran are started again after a reboot of the node
    """
    if guest is None:
        if _is_resized(row) and row.power_state != states.NOSTATE:
            return GuestDecision(Correction.FOLLOW, _GONE.why)  # it may be reverted
        return _GONE if must_have_guest(row) else None
    if row.presence == HERE and row.task_state is not None:
        return None
    found = next((case for case in CASES[row.presence] if case.applies(guest, row)), None)
    if found is None:
        return None
    stays = found.correction is Correction.START and not resumes
    return GuestDecision(
        Correction.FOLLOW if stays else found.correction,
        found.why.format(guest=guest, row=row, did=_DID.get(guest.power_state)),
    )


def must_have_guest(row: InstanceLocation) -> bool:
    """Return whether a server of this host is in a state with a guest, and not under a task."""
    return row.presence == HERE and row.task_state is None and row.vm_state in states.WITH_GUEST


def is_unnoted(guest: Guest | None, row: InstanceLocation) -> bool:
    """Return whether a guest lacks its mark as announced, though its server is built and idle."""
    is_built = must_have_guest(row) or _is_resized(row)
    return guest is not None and not guest.announced and is_built


def _is_resized(row: InstanceLocation) -> bool:
    """Return whether a server of this host waits for its user to confirm or revert its move."""
    return row.presence == HERE and row.task_state is None and row.vm_state == states.RESIZED
