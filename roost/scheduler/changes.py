"""Committed changes of hosts: merged by host, and sent to others in the background.

No commit waits for a listener: a ``ChangeQueue`` merges what its thread has not sent yet, so it
never holds more than one entry per host. What cannot be sent is dropped. Listeners read the rest
from the database: schedulers at their next update, others by ``changes_since``.
"""

import dataclasses
import logging
import math
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Final, Self

from roost.db.scheduler.hosts import Usage
from roost.objects.host_changes import CLAIMS, REMOVED

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(kw_only=True)
class HostChanges:
    """Changes of hosts, of one commit or of several.

    :param usages: hosts whose usage changed, by id, as committed; not the time of their reports
    :param stale: hosts of which more changed, and what
    :param removed: ids of hosts that are gone
    :param heard: time of the last report of hosts that reported nothing new, since the epoch
    :param cells: time of the last liveness report of cells, by uuid, since the epoch
    :param aggregates: whether aggregates changed
    """

    usages: dict[int, Usage] = dataclasses.field(default_factory=dict)
    stale: dict[int, set[str]] = dataclasses.field(default_factory=dict)
    removed: set[int] = dataclasses.field(default_factory=set)
    heard: dict[int, float] = dataclasses.field(default_factory=dict)
    cells: dict[str, float] = dataclasses.field(default_factory=dict)
    aggregates: bool = False

    @classmethod
    def of(cls, kind: str, host_ids: Iterable[int]) -> Self:
        """Return changes of one kind, of which only the hosts are known."""
        return cls(stale={host_id: {kind} for host_id in host_ids})

    @classmethod
    def from_message(
        cls,
        *,
        usages: Iterable[list[Any]],
        stale: Iterable[int],
        removed: Iterable[int],
        heard: Iterable[list[Any]],
        cells: dict[str, float],
        aggregates: bool,
    ) -> Self:
        """Return changes as received; which kinds are stale is not sent."""
        return cls(
            usages={
                id_: Usage(id_, generation, described, 0.0, instances, used)
                for id_, generation, described, instances, used in usages
            },
            stale={host_id: set() for host_id in stale},
            removed=set(removed),
            heard={host_id: at for host_id, at in heard},  # noqa: C416 - lists, on the wire
            cells=cells,
            aggregates=aggregates,
        )

    def to_message(self) -> dict[str, Any]:
        return {
            "usages": [
                [usage.id, usage.generation, usage.described, usage.instances, usage.used]
                for usage in self.usages.values()
            ],
            "stale": list(self.stale),
            "removed": list(self.removed),
            "heard": [list(each) for each in self.heard.items()],
            "cells": self.cells,
            "aggregates": self.aggregates,
        }

    def __bool__(self) -> bool:
        return self.is_urgent or bool(self.heard or self.cells)

    @property
    def is_urgent(self) -> bool:
        """Whether it is more than reports without news."""
        return bool(self.usages or self.stale or self.removed or self.aggregates)

    def add(self, later: "HostChanges") -> None:
        """Merge changes of another commit; of two usages of a host the newer one stays."""
        for host_id, usage in later.usages.items():
            known = self.usages.get(host_id)
            if known is None or known.generation < usage.generation:
                self.usages[host_id] = usage
        for host_id, kinds in later.stale.items():
            self.stale.setdefault(host_id, set()).update(kinds)
        self.removed |= later.removed
        self.heard |= later.heard
        self.cells |= later.cells
        self.aggregates |= later.aggregates

    def kinds(self) -> dict[int, set[str]]:
        """Return what changed of each host whose generation grew, or that is gone."""
        found = {host_id: set(kinds) for host_id, kinds in self.stale.items()}
        for host_ids, kind in ((self.usages, CLAIMS), (self.removed, REMOVED)):
            for host_id in host_ids:
                found.setdefault(host_id, set()).add(kind)
        return found


GREETING_INTERVAL: Final = 5.0  # seconds
_FORGOTTEN: Final = 4 * GREETING_INTERVAL


class Peers:
    """The other scheduler processes that this one has heard of lately.

    Each greets the others every ``GREETING_INTERVAL`` seconds, so that one alone need not send what
    nobody receives. ``name`` is that of this process.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = str(uuid.uuid4())
        self._clock = clock
        self._heard_at = -math.inf

    def note(self, sender: str) -> bool:
        """Note a message; return whether another process has sent it."""
        is_other = sender != self.name
        if is_other:
            self._heard_at = self._clock()
        return is_other

    @property
    def are_there(self) -> bool:
        return self._clock() - self._heard_at < _FORGOTTEN


LINGER: Final = 1.0  # seconds that reports without news may wait for others


class ChangeQueue:
    """Holds changes until they are sent: one entry per host, however long that takes.

    :param send: sends changes; what it raises is logged once, until it succeeds again
    :param name: to whom they are sent, for the log
    """

    def __init__(
        self, send: Callable[[HostChanges], object], *, name: str, linger: float = LINGER
    ) -> None:
        self.name = name
        self._send = send
        self._linger = linger
        self._pending = HostChanges()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._failing = False
        self._closed = False

    def put(self, changes: HostChanges) -> None:
        """Add changes that are committed. Never waits."""
        with self._lock:
            self._pending.add(changes)
        if changes.is_urgent:
            self._wake.set()

    def send_next(self) -> None:
        """Wait for changes, ``linger`` seconds at most, and send them. For one thread."""
        self._wake.wait(self._linger)
        self._wake.clear()
        with self._lock:
            changes, self._pending = self._pending, HostChanges()
        if changes and not self._closed:
            self._try(changes)

    def close(self, _grace: float) -> None:
        """Send no more: while the process ends, nobody may be left to receive it."""
        self._closed = True
        self._wake.set()

    def _try(self, changes: HostChanges) -> None:
        try:
            self._send(changes)
        except Exception as error:  # noqa: BLE001 - whatever it is, listeners find the rest
            if not self._failing:
                LOG.warning("changes of hosts are not sent to %s: %s", self.name, error)
            self._failing = True
        else:
            if self._failing:
                LOG.info("changes of hosts are sent to %s again", self.name)
            self._failing = False
