"""Calls to the host of a server, for handlers that wait for the answer.

A host that is known to be down is not called. Errors of a host are shown to users without its name
and paths; callers who may see hosts get all of it.
"""

import contextlib
import dataclasses
import datetime
import logging
import re
from collections.abc import Iterator
from typing import Final

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
_PATH: Final = re.compile(r"(?<![\w/.:-])/[\w.+-]+/")  # no part of a URL, of a range of addresses
_REFUSED: Final = "The host of this server refused that."


@dataclasses.dataclass(frozen=True)
class ServerHost:
    """The host of a server, for one caller.

    ``heard``: its last sign of life; None: it has given none.
    """

    call: Call
    instance: Instance
    compute: Compute
    heard: datetime.datetime | None

    @contextlib.contextmanager
    def answering(self) -> Iterator[Compute]:
        """Let users hear what the host says in the block, but nothing about its machine.

        Who may see hosts of servers hears all of it.

        :raises roost.exception.Silent: when it does not answer; users read since when
        """
        instance = self.instance
        try:
            yield self.compute
        except (exception.Timeout, exception.Silent) as error:
            LOG.warning("host %s does not answer for %s: %s", instance.host, instance.uuid, error)
            message = f"The host of instance {instance.uuid} does not answer{_since(self.heard)}"
            raise exception.Silent(message, for_users=True) from error
        except exception.RoostError as error:
            told = for_users(error, instance)
            if told is error or self.call.allows(policies.SHOW_HOST):
                raise
            LOG.warning("host %s refused %s: %s", instance.host, instance.uuid, error.message)
            raise told from error


class ServerHosts:
    """Looks whether a host is up, before anybody waits for it."""

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
        heard = max((one.service.last_seen_up for one in seen), default=None)
        if seen and not any(one.up for one in seen):  # of one that is not known nothing is said
            raise exception.Conflict(f"The host of instance {instance.uuid} is down{_since(heard)}")
        return ServerHost(call, instance, cell.compute.on(str(instance.host)), heard)

    def _see(self, cell: Cell, host: str) -> list[ServiceState]:
        with cell.database.read() as session:
            roll = rows.call_roll(session, hosts=[host], binary=COMPUTE)
        return self._daemons.see(cell, roll)


def _since(heard: datetime.datetime | None) -> str:
    last = f"; it was last heard of at {time(heard)}" if heard else ""
    return f"{last}. Please try again later."


def for_users(error: Exception, instance: Instance) -> Exception:
    """Return what a host said, or the same kind without its words: they name host or paths.

    What users can mend is said by hosts of ours without either; a network service may do otherwise.
    """
    if not isinstance(error, exception.RoostError):
        return error
    name = rf"(?<![\w.-]){re.escape(str(instance.host))}(?![\w-])"
    if re.search(name, error.message) or _PATH.search(error.message):
        return type(error)(_REFUSED)
    return error
