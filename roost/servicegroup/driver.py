"""What Roost asks of a service group: the seam that ``roost.servicegroup`` plug-ins fill.

A plug-in is a class with ``from_conf(conf, *, binary)``, named by an entry point of that group. The
daemons of a cell say that they live; cell-conductors and the API level ask who does.
"""

import datetime
from collections.abc import Sequence
from typing import Protocol

from roost.objects import Service


class ServiceGroup(Protocol):
    """The living daemons of cells. Any thread may call; nothing is connected before first use."""

    def beat(self, cell_uuid: str) -> None:
        """Say that this daemon lives, in this cell; to be called again and again.

        This comes on top of the heartbeats that go to the cell-conductor.

        :raises roost.exception.Unavailable: when nobody could be told
        """

    def find_up(
        self, services: Sequence[Service], *, cell_uuid: str, now: datetime.datetime
    ) -> set[str]:
        """Return the uuids of those services of a cell that are up, in a bounded time.

        One that was forced down is not, whatever it says.

        :param now: the time by the clock that stamps the heartbeats of these services
        """

    def disband(self, cell_uuid: str) -> None:
        """Leave nothing of the group of a cell that is gone; one in which somebody lives stays.

        :raises roost.exception.Unavailable: when the backend cannot be reached
        """

    def close(self) -> None:
        """Take this daemon out of its groups: it ends."""
