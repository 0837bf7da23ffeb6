"""Heartbeats in the cell's database: who was heard of lately is up. Nothing else has to run.

Heartbeats reach the cell-conductors by RPC, and these write them down with the database's clock. So
neither the clocks of hosts nor those of conductors matter, and a host needs no way to the database.
"""

import datetime
from collections.abc import Sequence
from typing import Self

from oslo_config import cfg

from roost.objects import Service


class DatabaseGroup:
    """Judges by the heartbeats in the services themselves.

    :param down_time: seconds without a heartbeat after which a daemon counts as down
    """

    def __init__(self, *, down_time: float) -> None:
        self._down_time = datetime.timedelta(seconds=down_time)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, binary: str) -> Self:  # noqa: ARG003 - the seam's
        return cls(down_time=conf.service_down_time)

    def beat(self, cell_uuid: str) -> None:
        """Do nothing: the heartbeat that the cell-conductor gets is all there is."""

    def find_up(
        self,
        services: Sequence[Service],
        *,
        cell_uuid: str,
        now: datetime.datetime,
    ) -> set[str]:
        heard_since = now - self._down_time
        return {
            service.uuid
            for service in services
            if service.last_seen_up >= heard_since and not service.forced_down
        }

    def disband(self, cell_uuid: str) -> None:
        """Do nothing: heartbeats go with the cell's database."""

    def close(self) -> None:
        """Do nothing: the end of a daemon is noticed by its silence."""
