"""The builds of a host: so many at once, the others wait for their turn."""

import dataclasses
import logging
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Final

from roost.compute.build import Build
from roost.compute.locks import Locks

LOG = logging.getLogger(__name__)
LAST_SECONDS: Final = 10.0  # for builds that were told to end, to undo and give back
STOPPING: Final = "The host is stopping."


@dataclasses.dataclass
class _Entry:
    build: Build
    running: bool = False
    withdrawn: bool = False


class BuildQueue:
    """Runs each attempt at most once at a time, and no two things at once on one instance.

    :param executor: its size is the number of builds at once
    :param locks: held, by instance uuid, while a build runs
    :param run: carries out a build; must not raise
    :param give_back: called with a build that was not begun, and why
    :param entered: called with a build when it is taken in
    :param left: called with it when it has ended, was dropped or is given back
    """

    def __init__(
        self,
        executor: futures.Executor,
        *,
        locks: Locks,
        run: Callable[[Build], None],
        give_back: Callable[[Build, str], None],
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
        """Take builds again, after a drain."""
        self._draining = False

    def put(self, build: Build) -> None:
        """Take a build in; one that is here already is left alone."""
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
        """Drop the builds of an instance, and let those under way end before their next step."""
        with self._changed:
            for entry in self._of(instance_uuid):
                entry.build.stop(wanted=False)
                if not entry.running:
                    self._forget(entry.build)

    def drain(self, timeout: float) -> bool:
        """End all builds, and tell whether that worked.

        Those that wait are given back at once. Those under way have ``timeout`` seconds to finish;
        then they are told to end, too.
        """
        for build in self._withdraw():
            self._give_back(build, STOPPING)
            with self._changed:
                self._forget(build)
        if self._wait_until_empty(timeout):
            return True
        with self._changed:
            for entry in self._entries.values():
                entry.build.stop(wanted=True)
        return self._wait_until_empty(LAST_SECONDS)

    def has(self, instance_uuid: str) -> bool:
        """Tell whether a build of an instance is under way, or waits for its turn."""
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
        with self._locks.hold(build.uuid):
            if not self._take_up(build):
                return
            try:
                self._run(build)
            except Exception:
                LOG.exception("%s ended in an accident", build)
            finally:
                with self._changed:
                    self._forget(build)

    def _take_up(self, build: Build) -> bool:
        """Mark the build as running, unless it was dropped while it waited."""
        with self._changed:
            entry = self._entries.get(build.key)
            if entry is None or entry.build is not build or entry.withdrawn:
                return False
            entry.running = True
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
