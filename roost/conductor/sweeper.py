"""What nobody works on is taken up again: rows are the truth, messages only hints.

This is the half of the cell-conductors; that of the super-conductors is ``wishes.py``.
"""

import dataclasses
import logging
import random
from collections.abc import Callable, Collection
from typing import Final

from roost import exception, states
from roost.conductor.overdue import Remedies
from roost.db.cell import leases, left_behind, stale
from roost.db.cell.leases import Overdue
from roost.db.engine import Database, retried

LOG = logging.getLogger(__name__)
_LEAVE_GUESTS: Final = (*states.BUILD_TASKS, states.DELETING)


@dataclasses.dataclass(frozen=True)
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
    def _take(self) -> list[Overdue]:
        with self.database.begin() as session:
            return leases.take_overdue(
                session,
                begun_seconds=self.lease_seconds,
                seconds=self.lease_seconds / 2,
                stale_seconds=self.stale_seconds,
            )

    def _tell_of_stale(self) -> None:
        """Say, once, that no conductor was up for long, and how many tasks wait for an operator."""
        gap = self._note_sweep()
        if gap is None:
            return
        with self.database.read() as session:
            waiting = stale.count(session, seconds=self.stale_seconds)
        LOG.warning(
            "no cell-conductor was up from %s to %s, or a backup of that time was put back: %d"
            " tasks wait for an operator; see roost-manage cell after-restore",
            gap.began, gap.ended, waiting,
        )  # fmt: skip

    @retried
    def _note_sweep(self) -> stale.Gap | None:
        with self.database.begin() as session:
            return stale.note_sweep(session, seconds=self.stale_seconds)

    def _take_up(self, tasks: Collection[Overdue], down: Collection[str]) -> None:
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

    def _see_to(self, task: Overdue, down: Collection[str]) -> None:
        remedy = self.remedies[task.task_state]
        if task.host in down:
            if task.task_state in _LEAVE_GUESTS:
                self._note_left_behind(task)
            remedy.host_is_down(task)
        else:
            remedy.host_is_up(task)

    @retried
    def _note_left_behind(self, task: Overdue) -> None:
        """Note that the host may have a guest of what goes on, or ends, without it."""
        with self.database.begin() as session:
            left_behind.note(session, task.instance_uuid, str(task.host))
