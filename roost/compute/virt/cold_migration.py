"""Cold migration and resize: the driver interface for stopped guests that change host or flavor."""

import pathlib
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from roost.compute.virt.driver import GuestResources
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo

# Returns the path of the instance's image on this host, fetched if need be; None: it is not there.
FindImage = Callable[[], pathlib.Path | None]
# Notes the bytes of all disks of a guest that are fetched, and how many of them are here.
NoteCopied = Callable[[int, int], None]


class ColdMoves(Protocol):
    """Moves the stopped guests of a host, with their disks.

    To another host: the source keeps its guest until it is destroyed there; the disks are one and
    the same where hosts share the storage. On the same host the guest gets another flavor, and what
    it was is kept until then. Everything may be repeated.
    """

    def leftovers(self) -> set[str]:
        """Return the guests of which there is anything that :meth:`discard` removes."""

    def prepare(self, instance: Instance) -> str:
        """Make room for the disks of a guest; return what the source must know of it, as JSON.

        Room that was made before is made anew.

        :raises roost.exception.Conflict: when the guest is on this host
        """

    def discard(self, uuid: str) -> None:
        """Remove what moves have left of a guest: its room, its offer, what it was before."""

    def check(self, uuid: str, room: str) -> None:
        """Make sure that a guest can move to the host with that room, before it is stopped.

        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the guest, or its disks, cannot move there
        """

    def send(self, uuid: str, room: str, *, reshaped: bool) -> str:
        """Offer the disks of a stopped guest, which may move, to the host with that room.

        Hosts that share the storage of guests have them already.

        :param reshaped: whether the guest gets others there; on shared storage what they were is
            kept until the guest is destroyed here, or restored
        :returns: what that host needs to fetch them, as JSON
        :raises roost.exception.NotFound: when there is no such guest
        """

    def adopt(self, uuid: str) -> str | None:
        """Return an offer of the disks of a guest whose host is down for good.

        It is for :meth:`arrive`; None: they are not on storage that this host shares with it.
        """

    def keep(self, uuid: str) -> None:
        """Offer the disks of a guest no more."""

    def arrive(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        offer: str,
        before: Instance,
        image: FindImage,
        copied: NoteCopied,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None,
    ) -> None:
        """Fetch the disks, and create the guest around them, stopped; one that is there stays.

        Disks of a larger flavor grow. What an interrupted call has fetched is not fetched again.

        :param offer: what :meth:`send` has returned
        :param copied: called whenever some more is; what it raises ends the copy
        :param before: the instance with its flavor and disks on the source
        :raises roost.exception.NotFound: when there is neither a guest nor room
        :raises roost.exception.Unavailable: when the source cannot be reached
        """

    def reshape(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        before: Instance,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None,
    ) -> None:
        """Give a stopped guest of this host another flavor; what it was is kept.

        :param before: the instance with its flavor and disks until now
        :raises roost.exception.NotFound: when there is no such guest
        """

    def restore(self, uuid: str) -> None:
        """Make a guest what it was before :meth:`reshape`; one that was not reshaped stays.

        So it is with a guest that another host has reshaped on the same storage.
        """

    def settle(self, uuid: str) -> None:
        """Remove what :meth:`reshape` has kept."""


@runtime_checkable
class MovesGuests(Protocol):
    """A driver whose stopped guests can move to another host, or get another flavor."""

    def cold_moves(self) -> ColdMoves:
        """Return what moves the guests of this host."""
