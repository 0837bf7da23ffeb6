"""Calls to the host of a server, for handlers that wait for the response.

A host that is known to be down is not called. Users see errors of a host without its name and
paths; callers who may see hosts get the full message.
"""

import contextlib
import dataclasses
import datetime
import logging
from collections.abc import Iterator

from roost import exception
from roost.api.compute.service_views import COMPUTE
from roost.api.compute.services import ServiceReader, ServiceState
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.pagination import time
from roost.api.request import Call
from roost.api.servers import policies
from roost.cells import Cell
from roost.db.cell import services as rows
from roost.objects import Instance
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ServerHost:
    """The host of a server, for one caller.

    ``seen_at``: when it last reported; None: never.
    """

    call: Call
    instance: Instance
    compute: Compute
    seen_at: datetime.datetime | None

    @contextlib.contextmanager
    def answering(self) -> Iterator[Compute]:
        """Pass on errors of the host in the block, without details of the host.

        Callers who may see the hosts of servers get the full errors.

        :raises roost.exception.Silent: when it does not answer; the message says since when
        """
        instance = self.instance
        try:
            yield self.compute
        except (exception.Timeout, exception.Silent) as error:
            LOG.debug(
                "[instance: %s] host %s does not answer: %s", instance.uuid, instance.host, error
            )
            message = f"The host of instance {instance.uuid} does not answer{_since(self.seen_at)}"
            raise exception.Silent(message, for_users=True) from error
        except exception.RoostError as error:
            shown = exception.without_host(error, str(instance.host))
            if shown is error or self.call.allows(policies.SHOW_HOST):
                raise
            LOG.info(
                "[instance: %s] host %s refused the request: %s",
                instance.uuid, instance.host, error.message,
            )  # fmt: skip
            raise shown from error


class ServerHosts:
    """Checks whether a host is up, before a handler waits for it."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._daemons = ServiceReader(dependencies)

    def of(self, call: Call, server_ref: ServerRef) -> ServerHost:
        """Return the host of a server.

        :raises roost.exception.Conflict: when the server is on no host, or its host is down
        """
        instance, cell = server_ref.instance, server_ref.cell
        if cell is None or instance.host is None:
            raise exception.Conflict(f"Instance {instance.uuid} is not ready")
        seen = self._see(cell, str(instance.host))
        at = max((one.service.last_seen_up for one in seen), default=None)
        if seen and not any(one.up for one in seen):  # an unknown host may be up
            raise exception.Conflict(f"The host of instance {instance.uuid} is down{_since(at)}")
        return ServerHost(call, instance, cell.compute.on(str(instance.host)), at)

    def _see(self, cell: Cell, host: str) -> list[ServiceState]:
        roll = cell.database.query(rows.call_roll, hosts=[host], binary=COMPUTE)
        return self._daemons.see(cell, roll)


def _since(seen_at: datetime.datetime | None) -> str:
    last = f"; it was last seen at {time(seen_at)}" if seen_at else ""
    return f"{last}. Please try again later."
