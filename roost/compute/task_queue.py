"""What is done to servers of a host: so many at once, and of one server one thing after another.

The threads that take messages hand it in here and take the next message: a guest that ignores that
it is to stop, or an image that takes an hour, is nobody else's trouble.
"""

import collections
import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent import futures

from roost import exception
from roost.compute.leases import Lease

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Executors:
    """What works, for each kind of work: what takes long does not hold up what does not.

    :param builds: builds of servers
    :param ends: deletes, and looks at what became of ports
    :param power: stops, starts and the like, which guests may let wait
    :param tasks: images, rebuilds and all other tasks
    """

    builds: futures.Executor
    ends: futures.Executor
    power: futures.Executor
    tasks: futures.Executor


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    do: Callable[[], object]
    executor: futures.Executor
    key: Hashable
    lease: Lease | None


class TaskQueue:
    """Takes work in, and lets executors do it. The first of a server's waits for its executor only.

    What is taken in is under its lease, so that nobody sends it again, until it is done or dropped.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._works: dict[str, collections.deque[_Work]] = {}
        self._running: set[str] = set()
        self._draining = False

    def open(self) -> None:
        """Take work again, after a drain."""
        self._draining = False

    def put(
        self,
        instance_uuid: str,
        do: Callable[[], object],
        *,
        executor: futures.Executor,
        key: Hashable,
        lease: Lease | None = None,
        ahead: bool = False,
    ) -> None:
        """Take in what is to be done for an instance.

        :param key: what tells it from all else for this instance: what waits already is not taken
            in again
        :param ahead: before all that waits for this instance, and for other executors
        """
        work = _Work(do, executor, key, lease)
        with self._changed:
            if self._draining:
                LOG.info("instance %s: the host is stopping, others will ask again", instance_uuid)
                return
            works = self._works.setdefault(instance_uuid, collections.deque())
            if any(each.key == key for each in self._waiting(instance_uuid)):
                LOG.info("instance %s: that waits for its turn already", instance_uuid)
                return
            if ahead:
                works.insert(1 if instance_uuid in self._running else 0, work)
            else:
                works.append(work)
            if lease is not None:
                lease.keeper.enter(lease)
            first = works[0] is work
        if first:
            executor.submit(self._run, instance_uuid, work)

    def drain(self) -> None:
        """Drop what is not begun, and take nothing in: rows say what is to be done, as before."""
        with self._changed:
            self._draining = True
            for instance_uuid in list(self._works):
                for work in self._waiting(instance_uuid):
                    self._forget(instance_uuid, work)

    def wait(self, seconds: float) -> bool:
        """Wait until all is done; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._works, timeout=seconds)

    def __len__(self) -> int:
        return sum(len(works) for works in self._works.values())

    def _run(self, instance_uuid: str, work: _Work) -> None:
        with self._changed:
            works = self._works.get(instance_uuid)
            if not works or works[0] is not work or instance_uuid in self._running:
                return  # dropped, or not its turn: the one before hands it in then
            self._running.add(instance_uuid)
        if work.lease is not None:
            work.lease.resume()
        try:
            work.do()
        except exception.RoostError as error:
            LOG.warning("instance %s: %s: %s", instance_uuid, error.code, error.message)
        except Exception:
            LOG.exception("instance %s: an accident", instance_uuid)
        finally:
            with self._changed:
                self._running.discard(instance_uuid)
                self._forget(instance_uuid, work)
                following = self._waiting(instance_uuid)
            if following:
                following[0].executor.submit(self._run, instance_uuid, following[0])

    def _waiting(self, instance_uuid: str) -> list[_Work]:
        works = list(self._works.get(instance_uuid, ()))
        return works[1:] if instance_uuid in self._running else works

    def _forget(self, instance_uuid: str, work: _Work) -> None:
        with contextlib.suppress(ValueError):
            self._works[instance_uuid].remove(work)
        if not self._works[instance_uuid]:
            del self._works[instance_uuid]
        if work.lease is not None:
            work.lease.keeper.leave(work.lease)
        self._changed.notify_all()
