"""The cell-conductor's sweeper: takes up tasks whose lease has expired.

Every task state has an entry in the table of :func:`remedies`. While the host is up, the sweeper
casts to it again. When it is down, the task ends without it: a build goes to another host, a delete
or soft delete is finished here, any other task is abandoned. So no instance stays in the task of a
dead worker. The super-conductor's sweeper is ``conductor/super/sweeper.py``.
"""

import dataclasses
import logging
import random
from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol

from roost import exception, states
from roost.conductor.cell.delete import Deletion
from roost.conductor.cell.operation_outcomes import OperationOutcomes
from roost.conductor.cell.reschedule import Rescheduling
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.context import RequestContext, current, project_context
from roost.db.cell import builds, leases, left_behind, stale_tasks
from roost.db.cell.leases import ExpiredLease
from roost.db.engine import Database, retried
from roost.operations.kinds import OF_TASK
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)


class RecoveryPolicy(Protocol):
    """Recovers the tasks of one kind. Every change expects the row to be as it was found."""

    def host_is_up(self, task: ExpiredLease) -> None:
        """Send the task to its host again: the host is up, but its lease has expired."""

    def host_is_down(self, task: ExpiredLease) -> None:
        """End the task, or move it: its host is down."""


Remedies = Mapping[str, RecoveryPolicy]


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
class Deletes:
    """Sends a delete again to a host that is up; without the host, deletes the row here.

    The host destroys the rest of the guest when it is up again.
    """

    deletion: Deletion
    compute: Compute
    filterings: HostSecurityGroups

    def host_is_up(self, task: ExpiredLease) -> None:
        if task.host is None:
            self._finish_alone(task, why="it is on no host")
            return
        LOG.info("[instance: %s] delete resent to %s", task.instance_uuid, task.host)
        self.compute.on(task.host).terminate_instance(
            _context(task), instance_uuid=task.instance_uuid
        )

    def host_is_down(self, task: ExpiredLease) -> None:
        self._finish_alone(
            task, why=f"{task.host} is down: it destroys the guest when it is up again"
        )

    def _finish_alone(self, task: ExpiredLease, *, why: str) -> None:
        context = _context(task)
        with self.filterings.changing(context, task.instance_uuid):
            self.deletion.finish_alone(context, task.instance_uuid, why=why)


@dataclasses.dataclass(frozen=True)
class Operations:
    """Sends an operation again to a host that is up; ends that of a host that is down."""

    outcomes: OperationOutcomes

    def host_is_up(self, task: ExpiredLease) -> None:
        if OF_TASK[task.task_state].needs_password:  # it was only in the lost message
            why = "The password did not reach the server: set it again."
            self.outcomes.abandon(task, why=why)
        else:
            self.outcomes.resend(task)

    def host_is_down(self, task: ExpiredLease) -> None:
        self.outcomes.abandon(task)


def remedies(
    *, builds: RecoveryPolicy, deletes: RecoveryPolicy, operations: RecoveryPolicy
) -> Remedies:
    """Return the recovery policy of each task state."""
    return {
        **dict.fromkeys(states.BUILD_TASKS, builds),
        **dict.fromkeys(OF_TASK, operations),
        states.DELETING: deletes,
    }


def _context(task: ExpiredLease) -> RequestContext:
    """Return the context of the request, in the name of the server's project."""
    return project_context(task.project_id, request_id=task.request_id)


_LEAVE_GUESTS: Final = (*states.BUILD_TASKS, states.DELETING)


@dataclasses.dataclass
class CellSweeper:
    """Takes up the tasks of a cell whose lease has expired. Any number of sweepers may run.

    :param remedies: recovery policy by task state
    :param surely_down: returns which of some hosts are certainly down
    :param lease_seconds: length of a lease. Half of it is for the delivery of a message, and for a
        sweep: a host that received the message renews its lease within a third.
    :param stale_seconds: tasks not renewed for so long wait for an operator; 0: none do
    """

    database: Database
    remedies: Remedies
    surely_down: Callable[[Collection[str]], Collection[str]]
    lease_seconds: float
    stale_seconds: float = 0
    _waiting: int = dataclasses.field(default=0, init=False)

    def sweep(self) -> None:
        self._report_stale()
        tasks = self._take()
        if not tasks:
            return
        down = self.surely_down({task.host for task in tasks if task.host is not None})
        random.shuffle(tasks)  # so that not always the same tasks are postponed
        for kind in {id(remedy): remedy for remedy in self.remedies.values()}.values():
            self._take_up([task for task in tasks if self.remedies[task.task_state] is kind], down)

    @retried
    def _take(self) -> list[ExpiredLease]:
        with self.database.begin() as session:
            return leases.take_overdue(
                session,
                begun_seconds=self.lease_seconds,
                seconds=self.lease_seconds / 2,
                stale_seconds=self.stale_seconds,
            )

    def _report_stale(self) -> None:
        """Log when more tasks wait for an operator than at the last sweep."""
        if not self.stale_seconds:
            return
        with self.database.read() as session:
            waiting = stale_tasks.count(session, seconds=self.stale_seconds)
        if waiting > self._waiting:
            LOG.error(
                "%d tasks wait for an operator: no cell-conductor was up for long, or a backup was"
                " restored; see roost-manage cell held-tasks, and cell after-restore before it",
                waiting,
            )
        self._waiting = waiting

    def _take_up(self, tasks: Collection[ExpiredLease], down: Collection[str]) -> None:
        """Recover tasks of one kind; a timeout postpones the rest, which would time out, too."""
        for task in tasks:
            with current(_context(task)):
                try:
                    self._recover(task, down)
                except exception.Timeout as error:
                    LOG.warning("[instance: %s] %s postponed, and all others: %s",
                                task.instance_uuid, task.task_state, error.message)  # fmt: skip
                    return
                except exception.RoostError as error:
                    LOG.warning("[instance: %s] %s postponed: %s",
                                task.instance_uuid, task.task_state, error.message)  # fmt: skip
                except Exception:
                    LOG.exception(
                        "[instance: %s] %s postponed", task.instance_uuid, task.task_state
                    )

    def _recover(self, task: ExpiredLease, down: Collection[str]) -> None:
        remedy = self.remedies[task.task_state]
        if task.host in down:
            if task.task_state in _LEAVE_GUESTS:
                self._note_left_behind(task)
            remedy.host_is_down(task)
        else:
            remedy.host_is_up(task)

    @retried
    def _note_left_behind(self, task: ExpiredLease) -> None:
        """Note that the host may have a guest of an instance that is moved or deleted now."""
        with self.database.begin() as session:
            left_behind.note(session, task.instance_uuid, str(task.host))
