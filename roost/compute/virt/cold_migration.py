"""Cold migration and resize: the driver interface for stopped guests that change host or flavor."""

import pathlib
from typing import Protocol, runtime_checkable

from roost.compute.virt.driver import GuestPlacement
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo


class ColdMoves(Protocol):
    """Moves the stopped guests of a host, with their disks.

    To another host: the source keeps its guest until it is destroyed there. On the same host the
    guest gets another flavor, and what it was is kept until then. Everything may be repeated.
    """

    def prepare(self, instance: Instance) -> str:
        """Make room for the disks of a guest; return what the source needs to send them, as JSON.

        Room that was made before is made anew.

        :raises roost.exception.Conflict: when the guest is on this host
        """

    def discard(self, uuid: str) -> None:
        """Remove the room of a guest, with what has arrived, and what :meth:`reshape` has kept."""

    def send(self, uuid: str, room: str) -> None:
        """Copy the disks of a stopped guest into the room that another host has made.

        :raises roost.exception.NotFound: when there is no such guest, or no room
        """

    def arrive(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        network_info: NetworkInfo,
        placement: GuestPlacement,
        config_drive: pathlib.Path | None,
    ) -> None:
        """Create the guest, stopped, around the disks in its room; a guest that is there stays.

        :raises roost.exception.NotFound: when there is neither a guest nor room
        """

    def reshape(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        network_info: NetworkInfo,
        placement: GuestPlacement,
        config_drive: pathlib.Path | None,
    ) -> None:
        """Give a stopped guest of this host another flavor; what it was is kept.

        :raises roost.exception.NotFound: when there is no such guest
        """

    def restore(self, uuid: str) -> None:
        """Make a guest what it was before :meth:`reshape`; one that was not reshaped stays."""

    def settle(self, uuid: str) -> None:
        """Remove what :meth:`reshape` has kept."""


@runtime_checkable
class MovesGuests(Protocol):
    """A driver whose stopped guests can move to another host, or get another flavor."""

    def cold_moves(self) -> ColdMoves:
        """Return what moves the guests of this host."""
