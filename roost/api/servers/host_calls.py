"""Calls to the host of a server, for handlers that wait for the answer.

A host that is known to be down is not called. Errors of a host are shown to users without its name
and paths; callers who may see hosts get all of it.
"""

import contextlib
import logging
import re
from collections.abc import Iterator
from typing import Final

from roost import exception
from roost.api.compute.service_views import COMPUTE
from roost.api.compute.services import ServiceReader
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.request import Call
from roost.api.servers import policies
from roost.cells import Cell
from roost.db.cell import services as rows
from roost.objects import Instance
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)
_PATH: Final = re.compile(r"(?<![\w/.:-])/[\w.+-]+/")  # no part of a URL, of a range of addresses
_REFUSED: Final = "The host of this server refused that."


class ServerHosts:
    """Looks whether a host is up, before anybody waits for it."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._daemons = ServiceReader(dependencies)

    def of(self, server_ref: ServerRef) -> Compute:
        """Return the way to the host of a server.

        :raises roost.exception.Conflict: when the server is on no host, or its host is down
        """
        instance, cell = server_ref.instance, server_ref.cell
        if cell is None or instance.host is None:
            raise exception.Conflict(f"Instance {instance.uuid} is not ready")
        if self._is_down(cell, str(instance.host)):
            raise exception.Conflict(
                f"The host of instance {instance.uuid} is down. Please try again later."
            )
        return cell.compute.on(str(instance.host))

    def _is_down(self, cell: Cell, host: str) -> bool:
        """Tell whether a host is known not to be up; of one that is not known nothing is said."""
        with cell.database.read() as session:
            roll = rows.call_roll(session, hosts=[host], binary=COMPUTE)
        seen = self._daemons.see(cell, roll)
        return bool(seen) and not any(one.up for one in seen)


@contextlib.contextmanager
def answering_host(call: Call, instance: Instance) -> Iterator[None]:
    """Let users hear what the host of a server says in the block, but nothing about its machine.

    Who may see hosts of servers hears all of it.
    """
    try:
        yield
    except exception.RoostError as error:
        told = for_users(error, instance)
        if told is error or call.allows(policies.SHOW_HOST):
            raise
        LOG.warning("host %s refused %s: %s", instance.host, instance.uuid, error.message)
        raise told from error


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
