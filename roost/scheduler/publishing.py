"""Sends committed changes: to the memory of other schedulers, and to listeners outside Roost."""

import uuid

from roost.context import admin_context
from roost.db.engine import Database
from roost.db.scheduler import changes as change_rows
from roost.db.scheduler.ranges import in_parts
from roost.objects import HostChangesPayload
from roost.rpc.notifications import Notifier
from roost.rpc.scheduler import SchedulerFeed
from roost.scheduler.changes import HostChanges, Peers
from roost.scheduler.client import CHANGED


class SchedulerFeeder:
    """Sends changes to the memory of all other schedulers, while there are any."""

    def __init__(self, feed: SchedulerFeed, peers: Peers) -> None:
        self._feed = feed.everywhere()
        self._peers = peers

    def send(self, changes: HostChanges) -> None:
        """Send changes.

        :raises roost.exception.Unavailable: when the bus does not accept them
        """
        if self._peers.are_there:
            self._cast(changes)

    def greet(self) -> None:
        """Have the others know that this scheduler is there. Call it periodically."""
        self._cast(HostChanges())

    def _cast(self, changes: HostChanges) -> None:
        message = changes.to_message()
        self._feed.hosts_changed(admin_context(), sender=self._peers.name, **message)


class ChangeNotifications:
    """Notifies listeners outside Roost of hosts whose generation grew, and of removed ones.

    The numbers of a process's notifications have no gaps, so a listener sees that it missed one.
    """

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database = database
        self._notifier = notifier
        self._stream = str(uuid.uuid4())
        self._number = 0

    def send(self, changes: HostChanges) -> None:
        """Send changes, each with its host as it is now.

        :raises roost.exception.Unavailable: when the database cannot be read
        """
        kinds = changes.kinds()
        for ids in in_parts(sorted(kinds)):
            self._number += 1
            with self._database.read() as session:
                found = change_rows.read(session, {each: kinds[each] for each in ids})
            payload = HostChangesPayload.of(stream=self._stream, number=self._number, changes=found)
            self._notifier.info(admin_context(), CHANGED, payload)
