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
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.context import RequestContext
from roost.db.cell import deletion, operations
from roost.db.engine import Database, retried
from roost.group_commit import GroupCommit
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


@dataclasses.dataclass(eq=False)
class _Release:
    context: RequestContext
    instance_uuid: str
    done: bool = False
    error: Exception | None = None


class ClaimReleases:
    """Releases claims, those of concurrent deletes with one message."""

    def __init__(self, scheduler: CellSchedulerClient) -> None:
        self._scheduler = scheduler
        self._group = GroupCommit(self._carry_out)

    def release(self, context: RequestContext, instance_uuid: str) -> None:
        """Release the claims of an instance.

        :raises roost.exception.Unavailable: when no scheduler answers
        """
        asked = _Release(context, instance_uuid)
        self._group.submit(asked)
        if asked.error is not None:
            raise asked.error

    def _carry_out(self, asked: list[_Release]) -> list[_Release]:
        uuids = [each.instance_uuid for each in asked]
        error: Exception | None = None
        try:
            self._scheduler.release_claims(asked[0].context, instance_uuids=uuids)
        except exception.Unavailable as unheard:
            error = unheard
        except Exception as refused:  # noqa: BLE001 - the thread that waits for it raises it
            if len(asked) > 1:  # it may be about one of them
                for each in asked:
                    self._carry_out([each])
                return []
            error = refused
        for each in asked:
            each.error, each.done = error, True
        return []


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
