"""Tasks that take turns in one thread, and a clock that jumps to whatever is due next."""

import heapq
import itertools
import random
import threading
from collections.abc import Callable
from typing import Any, Self

import greenlet

BEGINNING = 1_900_000_000.0  # when worlds begin, in seconds since 1970
_active: list["Loop"] = []


class Killed(BaseException):
    """The daemon of this task is dead: nothing it does has an effect any more."""


class Stuck(AssertionError):
    """Somebody would have to wait who cannot."""


def current() -> "Loop | None":
    """Return the loop whose time it is, if this is its thread."""
    if _active and _active[0].thread == threading.get_ident():
        return _active[0]
    return None


class Task:
    """One thread of a daemon. ``owner`` is the daemon's process, which may die."""

    def __init__(self, loop: "Loop", owner: Any, work: Callable[[], object], name: str) -> None:
        self.loop, self.owner, self.name = loop, owner, name
        self.waiting: object = None
        self.within: str | None = None  # the database in whose transaction it is
        self.done = False
        self._work = work
        self.greenlet = greenlet.greenlet(self._run, parent=loop.hub)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.owner.name}>"

    def _run(self, *_ignored: object) -> None:
        try:
            self._work()
        except Killed:
            pass
        except Exception as error:  # noqa: BLE001 - told at the end of the world
            self.loop.accidents.append((self, error))
        finally:
            self.done = True
            self.owner.tasks.pop(self, None)

    def end(self) -> None:
        """Let the task unwind, now; its owner is dead, so whatever it still tries ends at once."""
        assert greenlet.getcurrent() is self.loop.hub, "it returns to the hub"
        begun, self.waiting = bool(self.greenlet), None
        if begun and not self.done:
            self.loop.task = self
            self.greenlet.throw(Killed)
            self.loop.task = None
        self.done = True


class Loop:
    """Virtual time and what happens in it. ``with loop:`` makes it the time of this thread.

    :param seed: decides who goes first where several could
    """

    def __init__(self, seed: object, now: float = 0.0) -> None:
        self.now = now
        self.thread = threading.get_ident()
        self.random = random.Random(f"{seed} order")
        self.ids = random.Random(f"{seed} names")
        self.hub = greenlet.getcurrent()
        self.accidents: list[tuple[Task, Exception]] = []
        self.task: Task | None = None
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()

    def wall_clock(self) -> float:
        """Return the seconds since 1970 by the clock of the daemon whose turn it is."""
        return BEGINNING + self.now + (self.task.owner.ahead if self.task else 0.0)

    def own_clock(self, owner: Any = None) -> float:
        """Return the seconds since a daemon's machine was started; its, whose turn it is."""
        owner = owner or (self.task.owner if self.task else None)
        return 1000.0 + self.now + (owner.up if owner else 0.0)

    def __enter__(self) -> Self:
        assert not _active, "one world at a time"
        _active.append(self)
        return self

    def __exit__(self, *_details: object) -> None:
        _active.remove(self)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Let something happen later, outside of all tasks."""
        heapq.heappush(self._queue, (self.now + max(0.0, seconds), next(self._numbers), act))

    def spawn(self, owner: Any, work: Callable[[], object], name: str, delay: float = 0.0) -> Task:
        """Start a task of a process, ``delay`` seconds and a moment from now."""
        task = Task(self, owner, work, name)
        owner.tasks[task] = None
        self.after(delay + self.moment(), lambda: self._go_on(task, None))
        return task

    def moment(self) -> float:
        """Return the seconds that next to nothing takes; so what is due together takes turns."""
        return self.random.random() * 0.001

    def run(self, until: float) -> None:
        """Let everything happen that is due before a time."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _number, act = heapq.heappop(self._queue)
            act()
        self.now = max(self.now, until)

    def sleep(self, seconds: float) -> None:
        self.park(object(), timeout=seconds)

    def park(self, token: object, timeout: float | None = None) -> bool:
        """Let the others have their turn until ``wake`` is called with the token.

        :returns: False when time ran out
        """
        task = self.task
        if task is None:
            raise Stuck("only tasks can wait")
        if task.owner.dead:
            raise Killed
        task.waiting = token
        if timeout is not None:
            self.after(timeout, lambda: self._resume(task, token, in_time=False))
        woken = self.hub.switch()
        if task.owner.dead:
            raise Killed
        return bool(woken)

    def wake(self, task: Task, token: object) -> None:
        """Let a task go on in a moment, if that is what it still waits for."""
        self.after(self.moment(), lambda: self._resume(task, token, in_time=True))

    def forbidden(self, what: str) -> Stuck:
        """Note that a daemon does what none may, even if it goes on; return what to raise."""
        assert self.task is not None
        self.accidents.append((self.task, Stuck(what)))
        return Stuck(what)

    def _resume(self, task: Task, token: object, *, in_time: bool) -> None:
        if task.waiting is token:
            task.waiting = None
            self._go_on(task, in_time)

    def _go_on(self, task: Task, value: object) -> None:
        if task.done or task.owner.dead:
            return
        before, self.task = self.task, task
        try:
            task.greenlet.switch(value)
        finally:
            self.task = before
