"""What becomes of a task when nobody has been at work on it for the length of its lease.

Every task state has an entry in the table of :func:`remedies`. While the host is up, it is told
again what to do. When it is down, the task ends without it: a build goes elsewhere, a delete is
finished here, what was to be put away is put away, anything else is given up. In no case does an
instance stay under a task whose worker is gone.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Protocol

from roost import states
from roost.conductor.delete import Deletion
from roost.conductor.filtering import Filterings
from roost.conductor.power import Power
from roost.conductor.reschedule import Rescheduling
from roost.context import RequestContext, project_context
from roost.db.cell import builds
from roost.db.cell.leases import Overdue
from roost.db.engine import Database
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)


class Remedy(Protocol):
    """Sees to the tasks of one kind. Every change expects the task to be as it was found."""

    def host_is_up(self, task: Overdue) -> None:
        """The host is alive, but has not worked on this: tell it again."""

    def host_is_down(self, task: Overdue) -> None:
        """Nobody can work on this there."""


Remedies = Mapping[str, Remedy]


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

    def host_is_up(self, task: Overdue) -> None:
        build = self._find(task)
        if build is None:
            return
        if build.has_failed_on(build.host):
            self.rescheduling.go_on(_context(task), build)
        elif task.task_state == states.SCHEDULING:
            self.rescheduling.tell_again(_context(task), build)
        elif build.times_begun_again < self.patience:
            self.rescheduling.begin_again(_context(task), build, found=task.expected)
        else:
            self._leave(task, build, "It was begun here, and nobody was at work on it any more.")

    def host_is_down(self, task: Overdue) -> None:
        build = self._find(task)
        if build is None:
            return
        if build.has_failed_on(build.host):
            self.rescheduling.go_on(_context(task), build)
        else:
            self._leave(task, build, "The host is down.")

    def _find(self, task: Overdue) -> builds.BuildRow | None:
        with self.database.read() as session:
            build = builds.find(session, task.instance_uuid)
        return build if build is not None and build.attempt == task.attempt else None

    def _leave(self, task: Overdue, build: builds.BuildRow, why: str) -> None:
        self.rescheduling.leave(_context(task), build, why=why, found=task.expected)


@dataclasses.dataclass(frozen=True)
class Deletes:
    """A host that is up is told again; without it an instance is buried here.

    What is left of it on its host, that host destroys when it comes back.
    """

    deletion: Deletion
    compute: Compute
    filterings: Filterings

    def host_is_up(self, task: Overdue) -> None:
        if task.host is None:
            self._finish_alone(task, why="it is on no host")
            return
        LOG.info("%s: telling %s again to end it", task.instance_uuid, task.host)
        self.compute.on(task.host).terminate_instance(
            _context(task), instance_uuid=task.instance_uuid
        )

    def host_is_down(self, task: Overdue) -> None:
        self._finish_alone(
            task, why=f"{task.host} is down: what is left there goes when it is back"
        )

    def _finish_alone(self, task: Overdue, *, why: str) -> None:
        context = _context(task)
        with self.filterings.changing(context, task.instance_uuid):
            self.deletion.finish_alone(context, task.instance_uuid, why=why)


@dataclasses.dataclass(frozen=True)
class PowerTasks:
    """A host that is up is told again; on one that is down the task ends."""

    power: Power

    def host_is_up(self, task: Overdue) -> None:
        self.power.tell_again(task)

    def host_is_down(self, task: Overdue) -> None:
        self.power.give_up(task)


@dataclasses.dataclass(frozen=True)
class Passwords:
    """Only the message that was lost knew the password, so nobody can be told again."""

    power: Power

    def host_is_up(self, task: Overdue) -> None:
        self.power.give_up(task, why="The password did not reach the server: set it again.")

    def host_is_down(self, task: Overdue) -> None:
        self.power.give_up(task)


def remedies(*, builds: Remedy, deletes: Remedy, power: Remedy, passwords: Remedy) -> Remedies:
    """Return what to do about each task state."""
    return {
        **dict.fromkeys(states.BUILD_TASKS, builds),
        **dict.fromkeys((*states.POWER_TASKS, *states.LIFE_TASKS, *states.PUT_AWAY_TASKS), power),
        states.UPDATING_PASSWORD: passwords,
        states.DELETING: deletes,
    }


def _context(task: Overdue) -> RequestContext:
    """Return in whose name the sweeper goes on: of the project that the server belongs to."""
    return project_context(task.project_id)
