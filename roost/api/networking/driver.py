"""What the API asks of the networking: the seam that ``roost.api.networking`` plug-ins fill.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group; it has the
name of the driver that hosts use. It judges what users ask for, with the eyes of the user, and
changes nothing: that is for the hosts.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from roost.api.call import Call
from roost.objects import Locality, NetworkRequest


class Networking(Protocol):
    """Judges what servers are to be connected to."""

    def requests(
        self, call: Call, asked: dict[str, Any], *, least: int, most: int
    ) -> list[NetworkRequest]:
        """Return the interfaces that each server of a create gets.

        :param asked: the create's body
        :param most: servers that are to be made, ``least`` that must be
        :raises roost.exception.Invalid: for what is not there, or cannot be had
        :raises roost.exception.Conflict: for what belongs to another, or is not clear
        :raises roost.exception.QuotaExceeded: when the project may not have so many ports
        :raises roost.exception.Forbidden: when the user may not use a network
        """

    def security_groups(self, asked: dict[str, Any]) -> list[str]:
        """Return the groups that a new server is in, as it shows them.

        :raises roost.exception.Invalid: for one that does not exist
        """

    def attachment(self, call: Call, asked: dict[str, Any]) -> NetworkRequest:
        """Return the one interface that is to be attached to a server that is there.

        :raises roost.exception.NotFound: when the network or port is not there
        :raises roost.exception.Invalid: for what cannot be had
        :raises roost.exception.Conflict: for what belongs to another, or is not clear
        """

    def locality(self, requests: Sequence[NetworkRequest]) -> list[Locality]:
        """Return where a server must or should be for the sake of these."""
