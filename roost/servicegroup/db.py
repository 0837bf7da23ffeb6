"""Service group by heartbeats in the cell's database: a daemon with a recent one is up.

Daemons send heartbeats to the cell-conductors by RPC, which store them with the database's time. So
neither the clocks of hosts nor those of conductors matter, and hosts need no database access.
"""

import datetime
from collections.abc import Sequence
from typing import Self

from oslo_config import cfg

from roost.objects import Service


class DatabaseGroup:
    """Finds daemons up by the heartbeats in their service rows.

    :param down_time: seconds without a heartbeat after which a daemon counts as down
    """

    def __init__(self, *, down_time: float) -> None:
        self._down_time = datetime.timedelta(seconds=down_time)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, binary: str) -> Self:  # noqa: ARG003 - the seam's
        return cls(down_time=conf.service_down_time)

    def beat(self, cell_uuid: str) -> None:
        """Do nothing: the heartbeat to the cell-conductor is enough."""

    def find_up(
        self,
        services: Sequence[Service],
        *,
        cell_uuid: str,
        now: datetime.datetime,
    ) -> set[str]:
        seen_since = now - self._down_time
        return {
            service.uuid
            for service in services
            if service.last_seen_up >= seen_since and not service.forced_down
        }

    def disband(self, cell_uuid: str) -> None:
        """Do nothing: the heartbeats are rows of the cell's database."""

    def close(self) -> None:
        """Do nothing: a daemon is down when its heartbeats stop."""
