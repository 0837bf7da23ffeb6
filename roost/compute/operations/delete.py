"""Deletion of an instance on this host: its guest, and its claim; the cell deletes its row.

A delete that fails leaves the row in ``deleting``, and the cell sends it again. A server that moves
is deleted on its other host, too, which has no operation.
"""

import functools
import logging
from typing import Final

from roost.compute.operations.operation import HostOperation, step
from roost.objects.host import DELETED, LEFT
from roost.operations import kinds

LOG = logging.getLogger(__name__)


@step
def destroy(operation: HostOperation) -> None:
    """Destroy the guest; no build of it may be under way."""
    remove(operation)


def remove(operation: HostOperation) -> None:
    """Remove a guest, with its disks; its claim stays until the cell knows of it."""
    host = operation.host
    host.tracker.ending(operation.uuid)
    host.destroy(operation.uuid)
    host.tracker.vacate(operation.uuid)


def has_left(operation: HostOperation) -> bool:
    """Return whether the row of a server says that it has left this host, or is gone.

    A message alone destroys nothing: it may be late, or from an unauthorized sender.

    :raises roost.exception.Unavailable: when the conductor does not answer for a long time
    """
    host = operation.host
    ask = functools.partial(
        host.conductor.locate_instances,
        operation.context,
        host=host.name,
        instance_uuids=[operation.uuid],
    )
    found = host.patience.retry(f"{operation}: look", ask, stopping=host.stopping)
    return any(location.presence in (DELETED, LEFT) for location in found)


def clear(operation: HostOperation) -> None:
    """Destroy what a server has left on this host."""
    operation.host.destroy(operation.uuid)
    operation.host.tracker.forget(operation.uuid)
    LOG.info("%s: nothing of it is left on %s", operation, operation.host.name)


WORK: Final = {kinds.DELETE: destroy}
