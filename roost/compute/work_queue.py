"""The work queue of a host: what it does for its servers waits here for its turn.

The concurrency of each sort of work is limited, and work of one lane, such as a server, is done
one after the other. RPC threads queue the work and take the next message: a guest that ignores a
shutdown request, or an image that takes an hour, does not delay other servers.
"""

import collections
import dataclasses
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent import futures
from typing import Final

from roost import exception
from roost.compute.leases import Lease
from roost.context import carried

LOG = logging.getLogger(__name__)
LAST_SECONDS: Final = 10.0  # for stopped work to undo its steps and be handed back
STOPPING: Final = "The host is stopping."


def _nothing() -> None:
    """Do nothing when work is queued or ends."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """Something to do, in its turn.

    :ivar executor: its size limits how much of this sort is done at once
    :ivar key: identifies the work among that of its lane: it does not wait there twice
    :ivar once: it does not wait while the same is being done, either
    :ivar lease: held until the work is done or dropped, so that the cell does not resend it
    :ivar stop: ends it before its next step; ``wanted``: whether another host is to go on. None: it
        cannot be ended
    :ivar hand_back: tells a conductor that it will not be begun, and why; returns whether one has
        heard. None: the cell resends it
    :ivar entered: called when it is queued
    :ivar left: called when it is done, or dropped
    """

    do: Callable[[], object]
    executor: futures.Executor
    key: Hashable
    once: bool = False
    lease: Lease | None = None
    stop: Callable[..., None] | None = None
    hand_back: Callable[[str], bool] | None = None
    entered: Callable[[], None] = _nothing
    left: Callable[[], None] = _nothing


class WorkQueue:
    """Queues work by lane for executors. The first of a lane only waits for its executor."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lanes: dict[str, collections.deque[Work]] = {}
        self._running: set[str] = set()
        self._draining = False

    def open(self) -> None:
        """Accept work again, after a drain."""
        self._draining = False

    def put(self, lane: str, work: Work, *, ahead: bool = False) -> None:
        """Queue work.

        :param ahead: before all other queued work of its lane
        """
        work = dataclasses.replace(work, do=carried(work.do))
        with self._changed:
            draining = self._draining
            first = not draining and self._enter(lane, work, ahead=ahead)
        if first:
            work.executor.submit(self._run, lane, work)
        elif draining and work.hand_back is not None:
            work.hand_back(STOPPING)
        elif draining:
            LOG.info("[instance: %s] host is stopping, the sweeper resends the task", lane)

    def cancel(self, lane: str) -> None:
        """Drop the queued work of a lane, and end what is being done before its next step."""
        with self._changed:
            dropped = [work for work in self._waiting(lane) if self._forget(lane, work)]
            for work in self._lanes.get(lane, ()):
                if work.stop is not None:
                    work.stop(wanted=False)
        for work in dropped:
            work.left()

    def drain(self, timeout: float) -> bool:
        """Accept no more work, end all, and return whether all has ended.

        What is queued is dropped, or handed back, at once. What is being done has ``timeout``
        seconds to finish; then it is stopped, if it can be.
        """
        with self._changed:
            self._draining = True  # nothing begins from now on
            dropped = [(lane, work) for lane in self._lanes for work in self._waiting(lane)]
        heard = True
        for lane, work in dropped:
            if work.hand_back is not None:
                heard = heard and work.hand_back(STOPPING)  # else none would hear of the others
            with self._changed:
                is_dropped = self._forget(lane, work)
            if is_dropped:
                work.left()
        if self._wait_until_empty(timeout):
            return True
        stopped = self._stop_all()
        return stopped and self._wait_until_empty(LAST_SECONDS)

    def has(self, lane: str) -> bool:
        """Return whether work of a lane is queued or being done."""
        with self._changed:
            return lane in self._lanes

    def __len__(self) -> int:
        return sum(len(works) for works in self._lanes.values())

    def _enter(self, lane: str, work: Work, *, ahead: bool) -> bool:
        """Add work to its lane, unless it waits there; return whether it is the first."""
        works = self._lanes.get(lane, ())
        if any(each.key == work.key for each in (works if work.once else self._waiting(lane))):
            LOG.info("[instance: %s] task is queued already", lane)
            return False
        lined_up = self._lanes.setdefault(lane, collections.deque())
        if ahead:
            lined_up.insert(1 if lane in self._running else 0, work)
        else:
            lined_up.append(work)
        if work.lease is not None:
            work.lease.keeper.enter(work.lease)
        work.entered()
        return lined_up[0] is work

    def _run(self, lane: str, work: Work) -> None:
        with self._changed:
            works = self._lanes.get(lane)
            if not works or works[0] is not work or lane in self._running or self._draining:
                return  # dropped, or not the first: the work before it submits it
            self._running.add(lane)
        if work.lease is not None:
            work.lease.resume()
        try:
            work.do()
        except exception.RoostError as error:
            LOG.warning("[instance: %s] task failed: %s: %s", lane, error.code, error.message)
        except Exception:
            LOG.exception("[instance: %s] task failed", lane)
        finally:
            with self._changed:
                self._running.discard(lane)
                self._forget(lane, work)
                following = self._waiting(lane)
            work.left()
            if following:
                following[0].executor.submit(self._run, lane, following[0])

    def _waiting(self, lane: str) -> list[Work]:
        works = list(self._lanes.get(lane, ()))
        return works[1:] if lane in self._running else works

    def _forget(self, lane: str, work: Work) -> bool:
        """Remove work from its lane; return False when it was removed before."""
        works = self._lanes.get(lane, collections.deque())
        if work not in works:
            return False
        works.remove(work)
        if not works:
            del self._lanes[lane]
        if work.lease is not None:
            work.lease.keeper.leave(work.lease)
        self._changed.notify_all()
        return True

    def _stop_all(self) -> bool:
        """Stop what can be stopped; return whether there is such work."""
        with self._changed:
            found = [work.stop for works in self._lanes.values() for work in works if work.stop]
            for stop in found:
                stop(wanted=True)
        return bool(found)

    def _wait_until_empty(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._lanes, timeout=seconds)
