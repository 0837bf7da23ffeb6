"""The work queues of a host: for builds, and for tasks of existing servers.

The concurrency of either is limited, and of one server only one task runs at a time. RPC threads
queue the work and take the next message: a guest that ignores a shutdown request, or an image
that takes an hour, does not delay other servers.
"""

import collections
import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent import futures
from typing import Final

from roost import exception
from roost.compute.build import Build
from roost.compute.leases import Lease
from roost.compute.locks import Locks
from roost.context import carried, current
from roost.operations.steps import DEVICE, Kind

LOG = logging.getLogger(__name__)
LAST_SECONDS: Final = 10.0  # for stopped builds to undo their steps and be handed back
STOPPING: Final = "The host is stopping."


@dataclasses.dataclass
class _Entry:
    build: Build
    running: bool = False
    withdrawn: bool = False


class BuildQueue:
    """Runs each attempt at most once at a time, and one operation at a time on one instance.

    :param executor: its size limits the number of concurrent builds
    :param locks: held, by instance uuid, while a build runs
    :param run: carries out a build; must not raise
    :param give_back: called with a build that was not begun, and the reason; returns whether a
        conductor has heard of it
    :param entered: called with a build when it is queued
    :param left: called with it when it has ended, was dropped or is handed back
    """

    def __init__(
        self,
        executor: futures.Executor,
        *,
        locks: Locks,
        run: Callable[[Build], None],
        give_back: Callable[[Build, str], bool],
        entered: Callable[[Build], None] = lambda _: None,
        left: Callable[[Build], None] = lambda _: None,
    ) -> None:
        self._executor = executor
        self._locks = locks
        self._run = run
        self._give_back = give_back
        self._entered = entered
        self._left = left
        self._changed = threading.Condition()
        self._entries: dict[tuple[str, int], _Entry] = {}
        self._draining = False

    def open(self) -> None:
        """Accept builds again, after a drain."""
        self._draining = False

    def put(self, build: Build) -> None:
        """Queue a build, unless it is queued or running already."""
        with self._changed:
            if build.key in self._entries:
                LOG.info("%s is under way already", build)
                return
            draining = self._draining
            if not draining:
                self._entries[build.key] = _Entry(build)
                self._entered(build)
        if draining:
            self._give_back(build, STOPPING)
        else:
            self._executor.submit(self._work, build)

    def cancel(self, instance_uuid: str) -> None:
        """Drop the queued builds of an instance, and end running ones before their next step."""
        with self._changed:
            for entry in self._of(instance_uuid):
                entry.build.stop(wanted=False)
                if not entry.running:
                    self._forget(entry.build)

    def drain(self, timeout: float) -> bool:
        """End all builds, and return whether all have ended.

        Queued builds are handed back at once. Running ones have ``timeout`` seconds to finish; then
        they are stopped.
        """
        heard = True
        for build in self._withdraw():
            heard = heard and self._give_back(build, STOPPING)  # else none would hear of the others
            with self._changed:
                self._forget(build)
        if self._wait_until_empty(timeout):
            return True
        with self._changed:
            for entry in self._entries.values():
                entry.build.stop(wanted=True)
        return self._wait_until_empty(LAST_SECONDS)

    def has(self, instance_uuid: str) -> bool:
        """Return whether a build of an instance is under way or queued."""
        with self._changed:
            return bool(self._of(instance_uuid))

    def __len__(self) -> int:
        return len(self._entries)

    def _withdraw(self) -> list[Build]:
        with self._changed:
            self._draining = True
            waiting = [entry for entry in self._entries.values() if not entry.running]
            for entry in waiting:
                entry.withdrawn = True
            return [entry.build for entry in waiting]

    def _work(self, build: Build) -> None:
        with current(build.context), self._locks.hold(build.uuid):
            if not self._take_up(build):
                return
            try:
                self._run(build)
            except Exception:
                LOG.exception("%s failed", build)
            finally:
                with self._changed:
                    self._forget(build)

    def _take_up(self, build: Build) -> bool:
        """Mark the build as running, unless it was dropped while it was queued."""
        with self._changed:
            entry = self._entries.get(build.key)
            if entry is None or entry.build is not build or entry.withdrawn:
                return False
            entry.running = True
            build.lease.resume()
            return True

    def _forget(self, build: Build) -> None:
        """Drop an entry, once."""
        entry = self._entries.get(build.key)
        if entry is not None and entry.build is build:
            del self._entries[build.key]
            self._left(build)
            self._changed.notify_all()

    def _of(self, instance_uuid: str) -> list[_Entry]:
        return [entry for entry in self._entries.values() if entry.build.uuid == instance_uuid]

    def _wait_until_empty(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._entries, timeout=seconds)


@dataclasses.dataclass(frozen=True)
class Executors:
    """The executors for each kind of work, so that slow work does not delay fast work.

    :param builds: builds of servers
    :param ends: deletes, and refreshes of ports
    :param power: stops, starts and the like, which guests may delay, and the short steps of moves
    :param images: rebuilds, images and the like, which read or write whole disks
    :param copies: the steps of moves that copy disks from host to host
    :param devices: attaching and detaching, which wait for other services
    """

    builds: futures.Executor
    ends: futures.Executor
    power: futures.Executor
    images: futures.Executor
    copies: futures.Executor
    devices: futures.Executor

    def of(self, kind: Kind, step: str) -> futures.Executor:
        """Return the executor for a step of an operation."""
        if kind.step(step).copies:
            return self.copies
        if kind.deletes:
            return self.ends
        if kind.lock == DEVICE:
            return self.devices
        return self.images if kind.uses_images else self.power


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    do: Callable[[], object]
    executor: futures.Executor
    key: Hashable
    lease: Lease | None


class TaskQueue:
    """Queues work per server for executors. The first of a server only waits for its executor.

    Queued work is under its lease until it is done or dropped, so that the cell does not resend it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._works: dict[str, collections.deque[_Work]] = {}
        self._running: set[str] = set()
        self._draining = False

    def open(self) -> None:
        """Accept work again, after a drain."""
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
        """Queue work for an instance.

        :param key: identifies the work among that of this instance: it is not queued twice
        :param ahead: before all other queued work of this instance
        """
        work = _Work(carried(do), executor, key, lease)
        with self._changed:
            if self._draining:
                LOG.info(
                    "[instance: %s] host is stopping, the sweeper resends the task", instance_uuid
                )
                return
            works = self._works.setdefault(instance_uuid, collections.deque())
            if any(each.key == key for each in self._waiting(instance_uuid)):
                LOG.info("[instance: %s] task is queued already", instance_uuid)
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
        """Drop queued work and accept no more: the rows still have the tasks."""
        with self._changed:
            self._draining = True
            for instance_uuid in list(self._works):
                for work in self._waiting(instance_uuid):
                    self._forget(instance_uuid, work)

    def wait(self, seconds: float) -> bool:
        """Wait until all work is done; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._works, timeout=seconds)

    def __len__(self) -> int:
        return sum(len(works) for works in self._works.values())

    def _run(self, instance_uuid: str, work: _Work) -> None:
        with self._changed:
            works = self._works.get(instance_uuid)
            if not works or works[0] is not work or instance_uuid in self._running:
                return  # dropped, or not the first: the work before it submits it
            self._running.add(instance_uuid)
        if work.lease is not None:
            work.lease.resume()
        try:
            work.do()
        except exception.RoostError as error:
            LOG.warning(
                "[instance: %s] task failed: %s: %s", instance_uuid, error.code, error.message
            )
        except Exception:
            LOG.exception("[instance: %s] task failed", instance_uuid)
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
