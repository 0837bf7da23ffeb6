"""Ports that are no rows of a cell: let go when their instance ends, whichever way it ends."""

from typing import Protocol


class OutsidePorts(Protocol):
    """What a network service keeps for instances."""

    def free(self, instance_uuid: str) -> int:
        """Let all ports of an instance go; safe to repeat. Return how many there were.

        :raises roost.exception.Unavailable: when that cannot be done now
        """


class NoOutsidePorts:
    """All ports are rows."""

    def free(self, instance_uuid: str) -> int:
        return 0


NONE = NoOutsidePorts()
