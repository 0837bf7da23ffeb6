"""Guests that go to another host while they run: what drivers of both hosts do for that.

A flow above asks the source what it has to say of the guest, has the destination check and prepare,
has the source move it, and lets both finish. Whatever fails on the way, or whoever dies: ask both
hosts for the guest's :class:`Presence`, the source first, and :func:`settle` says what has become
of it. All that the hosts tell each other is made of plain values, for a message to carry.
"""

import dataclasses
import enum
import pathlib
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from roost import exception
from roost.compute.virt.driver import GuestPlacement
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo


class Presence(enum.Enum):
    """What a host has of a guest that may be on its way."""

    ABSENT = "absent"  # nothing
    ROOM = "room"  # its folder, disks perhaps; not (or no more) a guest
    HERE = "here"  # it is in memory here, and at home
    STOPPED = "stopped"  # it is at home here, and not in memory
    LEAVING = "leaving"  # it is in memory here, and being copied elsewhere
    ARRIVING = "arriving"  # it is being copied to here, and does not run here yet
    UNDECIDED = "undecided"  # it was held in the last moment of leaving: does it run elsewhere?
    TORN = "torn"  # post-copy broke: parts of its memory are here, the others elsewhere


class MigrationOutcome(enum.Enum):
    """What is to be done about a guest that was to be moved."""

    WAIT = "wait"  # it is under way, or the host that would know does not answer
    ARRIVED = "arrived"  # let both finish, the source first
    STAYED = "stayed"  # let the destination cancel, and then have it stay at the source
    TORN = "torn"  # neither host has all of it: touch nothing, tell the operator
    LOST = "lost"  # neither has any of it


_AT_HOME = (Presence.HERE, Presence.UNDECIDED, Presence.STOPPED)


def check_absent(uuid: str, found: Presence, node: str) -> None:
    """Make sure that a host has nothing of a guest, but room for it.

    :raises roost.exception.Conflict: when it has
    """
    if found not in (Presence.ABSENT, Presence.ROOM):
        raise exception.Conflict(f"The guest {uuid} is {found.value} on {node}.")


def outcome_of(source: Presence | None, destination: Presence | None) -> MigrationOutcome:
    """Say what has become of a guest, from what both hosts have of it; None: one does not answer.

    The source is asked first: what has left it is at the destination by then.
    A guest is at home at the destination from the moment in which it runs there, and not before. So
    it never comes to run twice: what the source has then is not to be started.
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
    return MigrationOutcome.STAYED if source in _AT_HOME else MigrationOutcome.LOST


class Phase(enum.Enum):
    """How far a move has come."""

    COPYING = "copying"  # the guest runs at the source
    SWITCHING = "switching"  # it runs nowhere, for as short as can be
    POST_COPY = "post-copy"  # it runs at the destination, and what it lacks is fetched


@dataclasses.dataclass(frozen=True)
class Progress:
    """How a move goes. Bytes; ``dirty_rate`` in bytes a second, times in ms.

    Totals may grow while it lasts. ``downtime`` is what it is expected to be if all goes on like
    this; ``iterations`` is how often all memory was gone through.
    """

    phase: Phase
    memory_total: int = 0
    memory_processed: int = 0
    memory_remaining: int = 0
    disk_total: int = 0
    disk_processed: int = 0
    disk_remaining: int = 0
    dirty_rate: int = 0
    downtime: int = 0
    elapsed: int = 0
    iterations: int = 0


@dataclasses.dataclass(frozen=True)
class MovingDisk:
    """A disk of a guest, by the name of its file. Bytes: as the guest sees it, and on its host.

    ``base`` is the name of what it stands on, made from an image: None, it stands on nothing.
    """

    name: str
    device: str
    size: int
    used: int
    base: str | None = None


@dataclasses.dataclass(frozen=True)
class MigrationSource:
    """What a source has to say of a guest that is to go.

    ``storage`` names the storage that its disks are on: a host that knows it by the same name has
    them already. ``config_drive`` is what is on it, where it has one; ``details`` are for the
    driver of the destination alone.
    """

    uuid: str
    node: str
    hypervisor_type: str
    hypervisor_version: int
    storage: str
    disks: tuple[MovingDisk, ...] = ()
    config_drive: bytes | None = None
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class MigrationDestination:
    """What a destination has made ready; ``details`` are for the driver of the source alone.

    ``copied`` are the devices of the disks that go with the guest: none, where both hosts share
    their storage. ``whole``: they go with what they stand on, which the destination does not have.
    """

    uuid: str
    node: str
    copied: tuple[str, ...] = ()
    whole: bool = False
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class MigrationSources(Protocol):
    """What the source does for guests that go."""

    def describe(self, uuid: str) -> MigrationSource:
        """Say of a guest what its destination must know; nothing changes.

        :raises roost.exception.Conflict: when it is in no state to go
        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Unsupported: when it has what cannot go with it
        """

    def move(self, uuid: str, incoming: MigrationDestination) -> None:
        """Move a guest to where it is awaited; this returns when it runs there, and not here.

        It may take hours. One that has gone already is fine. It does not depend on this process: if
        that ends, the guest goes on going. After any failure, ask both hosts.

        :raises roost.exception.Conflict: when it was aborted, is being moved, or does not run
        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Timeout: when it took too long, and so was aborted
        :raises roost.exception.Unavailable: when it failed; details say why
        """

    def progress(self, uuid: str) -> Progress | None:
        """Return how its move goes, which any thread may ask; None: it is not under way."""

    def abort(self, uuid: str) -> None:
        """Have it stay; whoever waits for its move is told. It may be too late for that.

        :raises roost.exception.Conflict: when it is not under way, or in post-copy
        :raises roost.exception.NotFound: when there is none
        """

    def switch_to_post_copy(self, uuid: str) -> None:
        """Have a guest that is being moved run at the destination now, and fetch what it lacks.

        If either host, or what is between them, fails from now on, the guest is lost.

        :raises roost.exception.Conflict: when it is not under way
        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Unsupported: when this host does not do that
        """

    def stay(self, uuid: str) -> None:
        """Let a guest go on here, as nothing of it is at its destination; one that does is fine.

        :raises roost.exception.Conflict: when it is under way still
        :raises roost.exception.NotFound: when there is none
        """

    def finish(self, uuid: str) -> bytes:
        """Remove what is left of a guest that has arrived; nothing is fine.

        Disks on storage that both hosts share stay. What it has said to its console here is
        returned where the destination cannot know it.

        :raises roost.exception.Conflict: when it runs here
        """


class MigrationDestinations(Protocol):
    """What the destination does for guests that come."""

    def check(self, outgoing: MigrationSource) -> None:
        """Make sure that a guest could run here; nothing changes.

        :raises roost.exception.Conflict: when it is here
        :raises roost.exception.NoCapacity: when there is no room for its disks
        :raises roost.exception.Unsupported: when this host cannot run it; the message says why
        """

    def prepare(
        self,
        context: RequestContext,
        instance: Instance,
        outgoing: MigrationSource,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
        placement: GuestPlacement,
    ) -> MigrationDestination:
        """Make room for a guest; again is fine, and begins anew.

        :param image_path: what its root disk was made from, a whole image on this host; None: it
            cannot be had any more, and what the disk has of it is copied, too
        :param network_info: its interfaces as they are plugged on this host
        :param placement: the NUMA cells and CPUs that are set aside for it on this host
        :raises roost.exception.Conflict: when it is here, or an interface is not as it was
        """

    def finish(self, instance: Instance, console: bytes) -> None:
        """Have a guest that runs here be here for good; again is fine.

        :param console: what it has said elsewhere
        :raises roost.exception.Conflict: when it is not at home here
        """

    def cancel(self, uuid: str) -> None:
        """Leave nothing of a guest that did not come; nothing is fine.

        Disks on storage that both hosts share stay.

        :raises roost.exception.Conflict: when it is here, or arriving: then abort it at the source
        """


@runtime_checkable
class MigratesGuests(Protocol):
    """A driver whose guests go to other hosts, and come from them, while they run."""

    def departures(self) -> MigrationSources: ...

    def arrivals(self) -> MigrationDestinations: ...

    def presence(self, uuid: str) -> Presence:
        """Return what this host has of a guest, whoever has died since it was to be moved."""
