"""The end of a delete: releases the claim and the ports of an instance, then deletes its row.

Before: ``compute/operations/delete.py`` has destroyed the guest; or the host is down, and destroys
it when it is up again. The row is deleted last: while it exists, the delete is repeated, so nothing
leaks.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from roost import exception
from roost.conductor.cell.operations.claims import ClaimReleases
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.context import RequestContext
from roost.db.cell import deletion, operations
from roost.db.engine import Database, retried
from roost.objects import InstanceActionEvent, Operation
from roost.scheduler.client import CellSchedulerClient


class ExternalPorts(Protocol):
    """The ports that a network service has for instances."""

    def free(self, instance_uuid: str) -> int:
        """Release all ports of an instance; repeatable. Return how many there were.

        :raises roost.exception.Unavailable: when the service cannot do it now
        """


class NoExternalPorts:
    """For cells without a network service: all ports are rows."""

    def free(self, instance_uuid: str) -> int:
        return 0


NONE = NoExternalPorts()


@dataclasses.dataclass(frozen=True)
class Deletion:
    """Deletes instances of this cell."""

    database: Database
    scheduler: CellSchedulerClient
    filterings: HostSecurityGroups
    outside_ports: ExternalPorts = NONE

    @functools.cached_property
    def _claims(self) -> ClaimReleases:
        return ClaimReleases(self.scheduler)

    def finish(
        self,
        context: RequestContext,
        operation: Operation,
        events: Sequence[InstanceActionEvent],
        *,
        expected: Mapping[str, Any],
    ) -> None:
        """Delete an instance with all that it has.

        :param expected: columns of the operation's row
        :raises roost.exception.Conflict: when the operation is over, or another host's
        """
        uuid = str(operation.instance_uuid)
        if not self.database.query(operations.is_under_way, operation):
            raise exception.Conflict(f"The instance {uuid} is not being deleted there.")
        self._claims.release(context, uuid)
        self.outside_ports.free(uuid)
        with self.filterings.changing(context, uuid):
            self._write(operation, events, expected)

    @retried
    def _write(
        self,
        operation: Operation,
        events: Sequence[InstanceActionEvent],
        expected: Mapping[str, Any],
    ) -> None:
        with self.database.begin() as session:
            deletion.finish(session, operation, events, expected=expected)
