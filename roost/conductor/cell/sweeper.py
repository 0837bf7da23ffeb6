"""The cell-conductor's sweeper: takes up builds and operations whose lease has expired.

While the host is up, the sweeper casts to it again. When it is down, the work ends without it: a
build goes to another host, an operation ends or goes on without it. So no instance
stays in the task of a dead worker. The super-conductor's sweeper is ``conductor/super/sweeper.py``.
"""

import dataclasses
import logging
import random
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from roost import exception, states
from roost.conductor.cell.operations.confirmations import Confirmations
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.conductor.cell.reschedule import Rescheduling
from roost.context import RequestContext, current, project_context
from roost.db.cell import builds, leases, left_behind, operations
from roost.db.cell.leases import ExpiredLease
from roost.db.cell.operations import OverdueOperation
from roost.db.engine import Database, retried

LOG = logging.getLogger(__name__)
T = TypeVar("T", ExpiredLease, OverdueOperation)
W_contra = TypeVar("W_contra", contravariant=True)


class RecoveryPolicy(Protocol[W_contra]):
    """Recovers work of one kind. Every change expects the row to be as it was found."""

    def host_is_up(self, work: W_contra, /) -> None:
        """Send it to its host again: the host is up, but its lease has expired."""

    def host_is_down(self, work: W_contra, /) -> None:
        """End it, or move it: its host is down."""


@dataclasses.dataclass(frozen=True)
class Builds:
    """Restarts an abandoned build on a host that is up; moves it from one that is down.

    A host that was restarted or disconnected may abandon a build, which is no failure. But a build
    may also kill its hosts: so one is restarted ``patience`` times in all, and each further time
    counts as a failure on its host.

    :param patience: how often a build is restarted on its host
    """

    database: Database
    rescheduling: Rescheduling
    patience: int

    def host_is_up(self, task: ExpiredLease) -> None:
        build = self._find(task)
        if build is None:
            return
        if build.has_failed_on(build.host):
            self.rescheduling.go_on(_context(task), build)
        elif task.task_state == states.SCHEDULING:
            self.rescheduling.resend(_context(task), build)
        elif build.times_begun_again < self.patience:
            self.rescheduling.begin_again(_context(task), build, found=task.expected)
        else:
            self._leave(task, build, "The build was begun here, and its lease expired.")

    def host_is_down(self, task: ExpiredLease) -> None:
        build = self._find(task)
        if build is None:
            return
        if build.has_failed_on(build.host):
            self.rescheduling.go_on(_context(task), build)
        else:
            self._leave(task, build, "The host is down.")

    def _find(self, task: ExpiredLease) -> builds.BuildRow | None:
        with self.database.read() as session:
            build = builds.find(session, task.instance_uuid)
        return build if build is not None and build.attempt == task.attempt else None

    def _leave(self, task: ExpiredLease, build: builds.BuildRow, why: str) -> None:
        self.rescheduling.leave(_context(task), build, why=why, found=task.expected)


@dataclasses.dataclass(frozen=True)
class Operations:
    """Goes on with an operation whose host does not, as ``roost/operations/advance.py`` says."""

    outcomes: OperationOutcomes

    def host_is_up(self, operation: OverdueOperation) -> None:
        self.outcomes.overdue(operation, is_down=False)

    def host_is_down(self, operation: OverdueOperation) -> None:
        self.outcomes.overdue(operation, is_down=True)


def _context(task: ExpiredLease | OverdueOperation) -> RequestContext:
    """Return the context of the request, in the name of the server's project."""
    return project_context(task.project_id, request_id=task.request_id)


@dataclasses.dataclass
class CellSweeper:
    """Takes up what is under way in a cell and whose lease has expired. Any number may run.

    :param confirmations: confirms moves whose users do not
    :param surely_down: returns which of some hosts are certainly down
    :param lease_seconds: length of a lease. Half of it is for the delivery of a message, and for a
        sweep: a host that received the message renews its lease within a third.
    """

    database: Database
    builds: Builds
    operations: Operations
    confirmations: Confirmations
    surely_down: Callable[[Collection[str]], Collection[str]]
    lease_seconds: float

    def sweep(self) -> None:
        self.confirmations.sweep(self.surely_down)
        tasks, overdue = self._take()
        if not tasks and not overdue:
            return
        hosts = {task.host for task in tasks if task.host is not None}
        down = self.surely_down(hosts | {operation.host for operation in overdue})
        self._take_up(tasks, self.builds, down)
        self._take_up(overdue, self.operations, down)

    @retried
    def _take(self) -> tuple[list[ExpiredLease], list[OverdueOperation]]:
        whole, half = self.lease_seconds, self.lease_seconds / 2
        with self.database.begin() as session:
            tasks = leases.take_overdue(session, begun_seconds=whole, seconds=half)
            return tasks, operations.take_overdue(session, seconds=half)

    def _take_up(self, work: list[T], recovery: RecoveryPolicy[T], down: Collection[str]) -> None:
        """Recover work of one kind; a timeout postpones the rest, which would time out, too."""
        random.shuffle(work)  # so that not always the same is postponed
        for one in work:
            with current(_context(one)):
                try:
                    self._recover(one, recovery, down)
                except exception.Timeout as error:
                    LOG.warning("[instance: %s] recovery postponed, and all others: %s",
                                one.instance_uuid, error.message)  # fmt: skip
                    return
                except exception.RoostError as error:
                    LOG.warning("[instance: %s] recovery postponed: %s",
                                one.instance_uuid, error.message)  # fmt: skip
                except Exception:
                    LOG.exception("[instance: %s] recovery postponed", one.instance_uuid)

    def _recover(self, one: T, recovery: RecoveryPolicy[T], down: Collection[str]) -> None:
        if one.host not in down:
            recovery.host_is_up(one)
            return
        if isinstance(one, ExpiredLease):  # it goes on elsewhere
            self.database.write(left_behind.note, one.instance_uuid, str(one.host))
        recovery.host_is_down(one)
