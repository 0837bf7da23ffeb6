"""Waits until nothing is under way any more, then looks at everything there is."""

import contextlib
import dataclasses
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.audit import Report, audit
from roost.cmd.manage.audit import collector
from roost.cmd.manage.deployment import Deployment
from roost.db.engine import Database
from roost.rig import health
from roost.rig.chaos.arena import BALLAST, Arena
from roost.rig.chaos.storm import Storm
from roost.rig.services.rabbitmq import Queue

LOG = logging.getLogger(__name__)
PAUSE: Final = 1.0
SETTLE: Final = 2.0  # seconds between the two looks of an audit
_REPLIES: Final = "reply_"
_TO_ALL: Final = "_fanout_"  # in the name of the queue of each server for messages to all
Say = Callable[[str], object]


@dataclasses.dataclass
class Inspection:
    """What was seen when all was quiet, or when the time for that was over.

    ``seconds`` is how long it took from the last healing until nothing was wrong.
    """

    listed: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    guests: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    report: Report = dataclasses.field(default_factory=lambda: Report([], []))
    queued: dict[str, int] = dataclasses.field(default_factory=dict)
    silent: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    @property
    def wrong(self) -> list[str]:
        """Say what there is that may still come right."""
        counts = [f"{kind}: {count}" for kind, count in self.report.counts.items() if count]
        queued = [f"{queue} has {count} messages" for queue, count in self.queued.items()]
        silent = [f"{name} does not answer" for name in self.silent]
        return [*counts, *self.report.unchecked, *queued, *silent]


class Inspector:
    """Looks at an arena once its faults are healed.

    :param patience: seconds that everything gets to come right
    """

    def __init__(self, arena: Arena, storm: Storm, *, patience: float, say: Say) -> None:
        self._arena = arena
        self._storm = storm
        self._patience = patience
        self._say = say

    def wait_and_look(self) -> Inspection:
        """Return what is there, as soon as all is well or the patience is over."""
        began = time.monotonic()
        deadline = began + self._patience
        self._wait(self._under_way, "under way", deadline)
        while True:
            self._say("comparing what everybody says")
            seen = self._look()
            if not seen.wrong or time.monotonic() > deadline:
                seen.seconds = time.monotonic() - began
                return seen
            LOG.info("not right yet: %s", seen.wrong)
            self._say(f"not right yet: {'; '.join(seen.wrong)}")
            time.sleep(PAUSE)

    def delete_all_and_look(self) -> list[str]:
        """Delete every server; return what is left of them all the same."""
        deadline = time.monotonic() + self._patience
        self._storm.delete_all()
        self._wait(self._there, "still there", deadline)
        while True:
            left = self._left()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(PAUSE)

    def rows(self) -> dict[str, int]:
        """Count the rows of every table of every database."""
        counts = {}
        for whose in self._arena.plan.databases:
            with _opened(self._arena.plan.database_url(whose)) as database:
                counts.update(_count(database, whose))
        return counts

    def _wait(self, count: Callable[[], int], what: str, deadline: float) -> None:
        while (left := count()) and time.monotonic() < deadline:
            self._say(f"{left} servers are {what}")
            time.sleep(PAUSE)

    def _under_way(self) -> int:
        self._storm.look()
        return sum(server.under_way for server in self._storm.register.all()) + self._ballast()

    def _ballast(self) -> int:
        """Delete what should be gone by now, and count it."""
        found = [one for one in self._servers() if one["name"].startswith(BALLAST)]
        for one in found:
            with contextlib.suppress(exception.RoostError):
                self._arena.client.delete_server(one["id"])
        return len(found)

    def _there(self) -> int:
        found = self._servers()
        for one in found:
            if one.get("OS-EXT-STS:task_state") != "deleting":
                with contextlib.suppress(exception.RoostError):
                    self._arena.client.delete_server(one["id"])
        return len(found)

    def _servers(self) -> list[dict[str, Any]]:
        with contextlib.suppress(exception.RoostError):
            return list(self._arena.client.servers())
        return []

    def _look(self) -> Inspection:
        found = health.look(self._arena.plan, self._arena.supervisor)
        return Inspection(
            listed=self._servers(),
            report=self._audit(),
            guests=self._arena.guests(),
            queued=self._queued(),
            silent=[one.name for one in found if not one.well],
        )

    def _left(self) -> list[str]:
        left = [f"{one['id']} is {one['status']}" for one in self._servers()]
        for host, guests in self._arena.guests().items():
            left += [f"{uuid} has a guest on {host}" for uuid in guests]
        report = self._audit()
        return left + [f"{found.subject} {found.detail}" for found in report.findings]

    def _audit(self) -> Report:
        deployment = Deployment([self._arena.plan.config_file("manage")], [])
        try:
            return audit(collector(deployment), settle=SETTLE)
        except Exception as error:  # a run ends with its report, whatever happens
            LOG.warning("the audit failed", exc_info=error)
            return Report([], [f"the audit failed: {error!r}"])
        finally:
            deployment.close()

    def _queued(self) -> dict[str, int]:
        """Return messages that wait for somebody.

        Those for a process that is dead, answers and messages to all, expire with its queue.
        """
        plan, broker = self._arena.plan, self._arena.broker
        return {
            f"{level}/{queue.name}": queue.messages
            for level in plan.bus_levels
            for queue in broker.list_queues(plan.bus_name(level))
            if queue.messages and not _is_of_dead(queue)
        }


def _is_of_dead(queue: Queue) -> bool:
    own = queue.name.startswith(_REPLIES) or _TO_ALL in queue.name
    return own and not queue.consumers


def _count(database: Database, whose: str) -> dict[str, int]:
    with database.read() as session:
        tables: Sequence[str] = sa.inspect(session).get_table_names()
        return {
            f"{whose}.{table}": session.execute(
                sa.select(sa.func.count()).select_from(sa.table(table))
            ).scalar_one()
            for table in sorted(tables)
        }


@contextlib.contextmanager
def _opened(url: str) -> Iterator[Database]:
    database = Database(url, connections=2)
    try:
        yield database
    finally:
        database.close()
