"""Where the guest of a live migration is, from what both hosts have of it. Pure: no I/O."""

import enum
from typing import Final


class Presence(enum.Enum):
    """The state of a migrating guest on one host."""

    ABSENT = "absent"  # nothing
    ROOM = "room"  # its folder and perhaps disks, but no guest (yet, or any more)
    HERE = "here"  # it is active on this host, and not being migrated
    STOPPED = "stopped"  # it is defined on this host, but not active
    LEAVING = "leaving"  # it is active on this host, and being copied to another one
    ARRIVING = "arriving"  # it is being copied to this host, and does not run here yet
    UNDECIDED = "undecided"  # paused in the switchover: it may run at the destination
    TORN = "torn"  # post-copy failed: its memory is divided between both hosts


class MigrationOutcome(enum.Enum):
    """The outcome of a live migration, and what the caller must do."""

    WAIT = "wait"  # it is in progress, or the host that decides does not answer
    ARRIVED = "arrived"  # have both hosts finish, the source first
    STAYED = "stayed"  # have the destination cancel, then have the guest stay at the source
    TORN = "torn"  # neither host has the whole guest: change nothing, notify the operator
    LOST = "lost"  # neither host has the guest


_ON_SOURCE: Final = (Presence.HERE, Presence.UNDECIDED, Presence.STOPPED)


def outcome_of(source: Presence | None, destination: Presence | None) -> MigrationOutcome:
    """Return the outcome from a guest's presence on both hosts; None: the host does not answer.

    Ask the source first: a guest that has left it is on the destination by then. A guest belongs to
    the destination from the moment in which it runs there, and not before. So it never runs twice:
    the copy that the source still has then must not be started.
    """
    if destination in (Presence.HERE, Presence.STOPPED):
        return MigrationOutcome.ARRIVED
    if Presence.TORN in (source, destination):
        return MigrationOutcome.TORN
    if source is Presence.LEAVING or destination is Presence.ARRIVING:
        return MigrationOutcome.WAIT
    if source is Presence.HERE:
        return MigrationOutcome.STAYED
    if source is None or destination is None:
        return MigrationOutcome.WAIT
    return MigrationOutcome.STAYED if source in _ON_SOURCE else MigrationOutcome.LOST
