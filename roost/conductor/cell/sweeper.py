"""The cell-conductor's sweep: takes up tasks whose lease ran out.

Every task state has an entry in the table of :func:`remedies`. While the host is up, it gets the
cast again. When it is down, the task ends without it: a build goes elsewhere, a delete is finished
here, a soft delete likewise, anything else is given up. In no case does an instance stay under a
task whose worker is gone. The super-conductor's half is ``conductor/super/sweeper.py``.
"""

import dataclasses
import logging
import random
from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol

from roost import exception, states
from roost.conductor.cell.delete import Deletion
from roost.conductor.cell.reschedule import Rescheduling
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.conductor.cell.task_outcomes import TaskOutcomes
from roost.context import RequestContext, project_context
from roost.db.cell import builds, leases, left_behind, stale_tasks
from roost.db.cell.leases import ExpiredLease
from roost.db.engine import Database, retried
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)


class RecoveryPolicy(Protocol):
    """Sees to the tasks of one kind. Every change expects the task to be as it was found."""

    def host_is_up(self, task: ExpiredLease) -> None:
        """The host is alive, but has not worked on this: tell it again."""

    def host_is_down(self, task: ExpiredLease) -> None:
        """Nobody can work on this there."""


Remedies = Mapping[str, RecoveryPolicy]


@dataclasses.dataclass(frozen=True)
class Builds:
    """A host that is up builds again what it left lying; from one that is down builds move on.

    That a host lets a build lie, because it was restarted or cut off, is not held against it. But a
    build may be what kills its hosts: so one is begun again ``patience`` times in all, and each
    further time it counts as failed on its host.

    :param patience: how often a build is begun again where it was
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
            self._leave(task, build, "It was begun here, and nobody was at work on it any more.")

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
    """A host that is up is told again; without it an instance is buried here.

    What is left of it on its host, that host destroys when it comes back.
    """

    deletion: Deletion
    compute: Compute
    filterings: HostSecurityGroups

    def host_is_up(self, task: ExpiredLease) -> None:
        if task.host is None:
            self._finish_alone(task, why="it is on no host")
            return
        LOG.info("%s: telling %s again to end it", task.instance_uuid, task.host)
        self.compute.on(task.host).terminate_instance(
            _context(task), instance_uuid=task.instance_uuid
        )

    def host_is_down(self, task: ExpiredLease) -> None:
        self._finish_alone(
            task, why=f"{task.host} is down: what is left there goes when it is back"
        )

    def _finish_alone(self, task: ExpiredLease, *, why: str) -> None:
        context = _context(task)
        with self.filterings.changing(context, task.instance_uuid):
            self.deletion.finish_alone(context, task.instance_uuid, why=why)


@dataclasses.dataclass(frozen=True)
class PowerTasks:
    """A host that is up is told again; on one that is down the task ends."""

    power: TaskOutcomes

    def host_is_up(self, task: ExpiredLease) -> None:
        self.power.resend(task)

    def host_is_down(self, task: ExpiredLease) -> None:
        self.power.abandon(task)


@dataclasses.dataclass(frozen=True)
class Passwords:
    """Only the message that was lost knew the password, so nobody can be told again."""

    power: TaskOutcomes

    def host_is_up(self, task: ExpiredLease) -> None:
        self.power.abandon(task, why="The password did not reach the server: set it again.")

    def host_is_down(self, task: ExpiredLease) -> None:
        self.power.abandon(task)


def remedies(
    *,
    builds: RecoveryPolicy,
    deletes: RecoveryPolicy,
    power: RecoveryPolicy,
    passwords: RecoveryPolicy,
) -> Remedies:
    """Return what to do about each task state."""
    return {
        **dict.fromkeys(states.BUILD_TASKS, builds),
        **dict.fromkeys((*states.POWER_TASKS, *states.LIFE_TASKS, *states.PUT_AWAY_TASKS), power),
        states.UPDATING_PASSWORD: passwords,
        states.DELETING: deletes,
    }


def _context(task: ExpiredLease) -> RequestContext:
    """Return in whose name the sweeper goes on: of the project that the server belongs to."""
    return project_context(task.project_id)


_LEAVE_GUESTS: Final = (*states.BUILD_TASKS, states.DELETING)


@dataclasses.dataclass
class CellSweeper:
    """Takes up the tasks of a cell whose lease has ended. Any number do this side by side.

    :param remedies: what to do, by task state
    :param surely_down: tells which of some hosts are down beyond doubt
    :param lease_seconds: how long a host may be silent about what it works on. Half of it is for a
        message to be heard, and for a sweep: a host that has heard renews its lease within a third.
    :param stale_seconds: what nobody has seen to for so long waits for an operator; 0: nothing does
    """

    database: Database
    remedies: Remedies
    surely_down: Callable[[Collection[str]], Collection[str]]
    lease_seconds: float
    stale_seconds: float = 0
    _waiting: int = dataclasses.field(default=0, init=False)

    def sweep(self) -> None:
        self._tell_of_stale()
        tasks = self._take()
        if not tasks:
            return
        down = self.surely_down({task.host for task in tasks if task.host is not None})
        random.shuffle(tasks)  # so that what is given up on for now is not always the same
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

    def _tell_of_stale(self) -> None:
        """Say when more tasks wait for an operator than at the last sweep."""
        if not self.stale_seconds:
            return
        with self.database.read() as session:
            waiting = stale_tasks.count(session, seconds=self.stale_seconds)
        if waiting > self._waiting:
            LOG.warning(
                "%d tasks wait for an operator: no cell-conductor was up for long, or a backup was"
                " put back; see roost-manage cell held-tasks, and cell after-restore before it",
                waiting,
            )
        self._waiting = waiting

    def _take_up(self, tasks: Collection[ExpiredLease], down: Collection[str]) -> None:
        """See to tasks of one kind; whoever they all need may be away, and let each wait long."""
        for task in tasks:
            try:
                self._see_to(task, down)
            except exception.Timeout as error:
                LOG.warning("%s and its like: not now: %s", task.instance_uuid, error.message)
                return
            except exception.RoostError as error:
                LOG.warning("%s: not now: %s", task.instance_uuid, error.message)
            except Exception:
                LOG.exception("%s: not now", task.instance_uuid)

    def _see_to(self, task: ExpiredLease, down: Collection[str]) -> None:
        remedy = self.remedies[task.task_state]
        if task.host in down:
            if task.task_state in _LEAVE_GUESTS:
                self._note_left_behind(task)
            remedy.host_is_down(task)
        else:
            remedy.host_is_up(task)

    @retried
    def _note_left_behind(self, task: ExpiredLease) -> None:
        """Note that the host may have a guest of what goes on, or ends, without it."""
        with self.database.begin() as session:
            left_behind.note(session, task.instance_uuid, str(task.host))
