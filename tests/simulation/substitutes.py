"""What stands in for threads, clocks and chance in all modules of Roost, while a world is on.

They are put in place once per process, and act as the real ones wherever no world is on.
"""

import collections
import datetime as real_datetime
import functools
import inspect
import random as real_random
import secrets as real_secrets
import sys
import threading as real_threading
import time as real_time
import types
import uuid as real_uuid
from collections.abc import Callable
from concurrent import futures as real_futures
from typing import Any

from tests.simulation.loop import Loop, Stuck, Task, current

_real_uuid4 = real_uuid.uuid4


class Lock:
    def __init__(self) -> None:
        self._held = False
        self._waiting: collections.deque[tuple[Task, object]] = collections.deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        while self._held:
            if not blocking:
                return False
            if not _wait_in(self._waiting, timeout if timeout >= 0 else None):
                return False
        self._held = True
        return True

    def release(self) -> None:
        self._held = False
        _wake_one(self._waiting)

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_details: object) -> None:
        self.release()


class RLock(Lock):
    def __init__(self) -> None:
        super().__init__()
        self._owner: Task | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = _loop().task
        if self._held and self._owner is me:
            self._depth += 1
            return True
        if super().acquire(blocking, timeout):
            self._owner, self._depth = me, 1
            return True
        return False

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            super().release()


class Condition:
    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiting: collections.deque[tuple[Task, object]] = collections.deque()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_details: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        self._lock.release()
        try:
            return _wait_in(self._waiting, timeout)
        finally:
            self._lock.acquire()

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        until = None if timeout is None else _loop().now + timeout
        while not (result := predicate()):
            left = None if until is None else until - _loop().now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self, n: int = 1) -> None:
        for _ in range(n):
            _wake_one(self._waiting)

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class Event:
    def __init__(self) -> None:
        self._set = False
        self._waiting: collections.deque[tuple[Task, object]] = collections.deque()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        while self._waiting:
            _wake_one(self._waiting)

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            _wait_in(self._waiting, timeout)
        return self._set


class Semaphore:
    def __init__(self, value: int = 1) -> None:
        self._value = value
        self._waiting: collections.deque[tuple[Task, object]] = collections.deque()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        while not self._value:
            if not blocking or not _wait_in(self._waiting, timeout):
                return False
        self._value -= 1
        return True

    def release(self) -> None:
        self._value += 1
        _wake_one(self._waiting)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_details: object) -> None:
        self.release()


class Thread:
    """A task of the process that starts it."""

    def __init__(
        self,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        daemon: bool | None = None,
    ) -> None:
        self.name = name or "thread"
        self._work = functools.partial(target, *args, **(kwargs or {}))
        self._over = Event()

    def start(self) -> None:
        loop = _loop()
        assert loop.task is not None
        loop.spawn(loop.task.owner, self._run, self.name)

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._over.set()

    def join(self, timeout: float | None = None) -> None:
        self._over.wait(timeout)

    def is_alive(self) -> bool:
        return not self._over.is_set()


class Future(real_futures.Future):
    def __init__(self) -> None:
        super().__init__()
        self._condition = Condition()


class Executor(real_futures.Executor):
    """Works on so many things at once, in tasks of the process that hands them in."""

    def __init__(self, max_workers: int = 8, **_ignored: object) -> None:
        self._free = Semaphore(max_workers)

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        loop, future = _loop(), Future()
        assert loop.task is not None
        name = getattr(work, "__name__", "work")
        loop.spawn(loop.task.owner, lambda: self._run(future, work, args, kwargs), name)
        return future

    def _run(self, future: Future, work: Callable[..., Any], args: Any, kwargs: Any) -> None:
        with self._free:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: tasks end with their process."""


def _loop() -> Loop:
    loop = current()
    if loop is None:
        raise Stuck("this belongs to a world that is over")
    return loop


def _wait_in(
    waiting: "collections.deque[tuple[Task, object]]", timeout: float | None = None
) -> bool:
    loop, token = _loop(), object()
    if loop.task is None:
        raise Stuck("only tasks can wait")
    place = (loop.task, token)
    waiting.append(place)
    try:
        return loop.park(token, timeout)
    finally:
        if place in waiting:
            waiting.remove(place)


def _wake_one(waiting: "collections.deque[tuple[Task, object]]") -> None:
    if waiting and (loop := current()):
        loop.wake(*waiting.popleft())


class _Module:
    """A module some of whose contents are replaced."""

    def __init__(self, real: types.ModuleType, **replaced: Any) -> None:
        self._real = real
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _either(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Make what is real where no world is on, and ours within one."""

    @functools.wraps(real, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return (real if current() is None else ours)(*args, **kwargs)

    return call


class _AnyDateTime(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, real_datetime.datetime)


class DateTime(real_datetime.datetime, metaclass=_AnyDateTime):
    def __new__(cls, *args: Any, **kwargs: Any) -> real_datetime.datetime:
        return real_datetime.datetime(*args, **kwargs)  # noqa: DTZ001 - as the caller has it

    @classmethod
    def now(cls, tz: real_datetime.tzinfo | None = None) -> real_datetime.datetime:
        loop = current()
        if loop is None:
            return real_datetime.datetime.now(tz)
        return real_datetime.datetime.fromtimestamp(loop.wall_clock(), tz)


def _uuid4() -> real_uuid.UUID:
    return real_uuid.UUID(int=_loop().ids.getrandbits(128), version=4)


def _token(size: int | None = None) -> bytes:
    return _loop().ids.randbytes(size or 32)


TIME = _Module(
    real_time,
    time=_either(real_time.time, lambda: _loop().wall_clock()),
    monotonic=_either(real_time.monotonic, lambda: _loop().own_clock()),
    clock_gettime=_either(real_time.clock_gettime, lambda _clock: _loop().own_clock()),
    perf_counter=_either(real_time.perf_counter, lambda: _loop().own_clock()),
    sleep=_either(real_time.sleep, lambda seconds: _loop().sleep(seconds)),
)
THREADING = _Module(
    real_threading,
    Lock=_either(real_threading.Lock, Lock),
    RLock=_either(real_threading.RLock, RLock),
    Condition=_either(real_threading.Condition, Condition),
    Event=_either(real_threading.Event, Event),
    Semaphore=_either(real_threading.Semaphore, Semaphore),
    BoundedSemaphore=_either(real_threading.BoundedSemaphore, Semaphore),
    Thread=_either(real_threading.Thread, Thread),
)
FUTURES = _Module(
    real_futures,
    Future=_either(real_futures.Future, Future),
    ThreadPoolExecutor=_either(real_futures.ThreadPoolExecutor, Executor),
)


def _drawn(name: str) -> Callable[..., Any]:
    """Make what draws by the world's dice within a world."""

    def draw(*arguments: Any) -> Any:
        return getattr(_loop().ids, name)(*arguments)

    return draw


RANDOM = _Module(
    real_random,
    **{
        name: _either(getattr(real_random, name), _drawn(name))
        for name in ("random", "uniform", "choice", "randrange", "randint", "shuffle", "sample")
    },
    Random=_either(
        real_random.Random,
        lambda seed=None: real_random.Random(_loop().ids.random() if seed is None else seed),
    ),
)
SECRETS = _Module(
    real_secrets,
    randbelow=_either(real_secrets.randbelow, _drawn("randrange")),
    token_bytes=_either(real_secrets.token_bytes, _token),
    token_hex=_either(real_secrets.token_hex, lambda size=None: _token(size).hex()),
    token_urlsafe=_either(real_secrets.token_urlsafe, lambda size=None: _token(size).hex()),
)
DATETIME = _Module(real_datetime, datetime=DateTime)
_MODULES = {
    real_time: TIME,
    real_threading: THREADING,
    real_futures: FUTURES,
    real_random: RANDOM,
    real_secrets: SECRETS,
    real_datetime: DATETIME,
}
# What may have been taken out of its module when it was read: as a default, as a factory.
_TAKEN_OUT: dict[Any, Any] = {
    getattr(real, name): ours
    for real, module in _MODULES.items()
    for name, ours in vars(module).items()
    if name != "_real"
}
_seen: set[str] = set()


def install() -> None:
    """Put the substitutes into all modules of Roost that are loaded; may be called again."""
    real_uuid.uuid4 = _either(_real_uuid4, _uuid4)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "roost" and name not in _seen:
            _seen.add(name)
            _replace_in(module)


def _replace_in(module: types.ModuleType) -> None:
    for name, value in list(vars(module).items()):
        if isinstance(value, types.ModuleType) and value in _MODULES:
            setattr(module, name, _MODULES[value])
        elif getattr(value, "__module__", None) == module.__name__:
            for function in _functions_of(value):
                _replace_defaults(function)


def _functions_of(thing: Any) -> list[types.FunctionType]:
    if inspect.isfunction(thing):
        return [thing]
    if inspect.isclass(thing):
        return [value for value in vars(thing).values() if inspect.isfunction(value)]
    return []


def _replace_defaults(function: types.FunctionType) -> None:
    if function.__defaults__:
        function.__defaults__ = tuple(map(_replaced, function.__defaults__))
    for name, value in (function.__kwdefaults__ or {}).items():
        function.__kwdefaults__[name] = _replaced(value)
    for cell in function.__closure__ or ():  # where dataclasses keep their factories
        try:
            cell.cell_contents = _replaced(cell.cell_contents)
        except ValueError:
            continue  # empty


def _replaced(value: Any) -> Any:
    try:
        return _TAKEN_OUT.get(value, value)
    except TypeError:  # has no hash
        return value
