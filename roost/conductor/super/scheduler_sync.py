"""Sends all aggregates and server groups to the schedulers again, periodically.

The API sends each change to the schedulers at once; this replaces messages that were lost.

Each kind of objects has revision numbers (``db/api/revisions.py``), and a change holds its kind's
number until it is committed. A snapshot takes a number too, before it reads its first page. So all
changes with a lower number are committed and will be read; and changes made while the pages are
read have a higher number, by which the schedulers know not to undo them: they keep an aggregate
that was created meanwhile, and ignore pages that are older than a change or delete. Changes wait
only while the snapshot takes its number, not for the pages.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from roost.context import admin_context
from roost.db.api import aggregates, revisions, server_groups
from roost.db.engine import Database
from roost.objects import Aggregate, ServerGroup, SnapshotRange
from roost.scheduler.client import SchedulerClient

PAGE: Final = 100  # objects in a message; each may name thousands of hosts or servers
_FIRST_PAUSE: Final = 1.0  # seconds
_LONGEST_PAUSE: Final = 60.0
T = TypeVar("T", bound=Aggregate | ServerGroup)


class Snapshots:
    """Sends all objects, in pages. Several processes may send them at once, late or twice.

    :param page: number of objects in a message
    """

    def __init__(self, database: Database, scheduler: SchedulerClient, *, page: int = PAGE) -> None:
        self._database = database
        self._scheduler = scheduler
        self._page = page
        self._pause = _FIRST_PAUSE

    def pause(self) -> float:
        """Return the seconds until the next time: few at first, then a minute.

        The first snapshots may be cast before any scheduler listens.
        """
        return self._pause

    def send(self) -> None:
        """Send all objects to the schedulers.

        :raises roost.exception.Unavailable: when database or bus cannot be reached; the rest is
            sent the next time
        """
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._send(revisions.AGGREGATES, aggregates.list_page, self._send_aggregates)
        self._send(revisions.SERVER_GROUPS, server_groups.list_page, self._send_groups)

    def _send_aggregates(self, found: Sequence[Aggregate], snapshot: SnapshotRange) -> None:
        self._scheduler.update_aggregates(
            admin_context(), aggregates=list(found), snapshot=snapshot
        )

    def _send_groups(self, found: Sequence[ServerGroup], snapshot: SnapshotRange) -> None:
        self._scheduler.update_groups(admin_context(), groups=list(found), snapshot=snapshot)

    def _send(
        self,
        kind: str,
        read: Callable[..., Sequence[T]],
        send: Callable[[Sequence[T], SnapshotRange], None],
    ) -> None:
        """Send one kind of objects: ``read`` takes a session, ``after`` (a uuid) and ``limit``."""
        version = self._database.write(revisions.advance, kind)
        after = None
        while True:
            with self._database.read() as session:
                found = read(session, after=after, limit=self._page)
            until = str(found[-1].uuid) if len(found) == self._page else None
            send(found, SnapshotRange.of(version=version, after=after, until=until))
            if until is None:
                return
            after = until
