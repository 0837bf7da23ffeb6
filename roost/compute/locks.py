"""A lock per key, which exists only while a thread holds it or waits for it."""

import contextlib
import threading
from collections.abc import Iterator


class Locks:
    """Lets one thread at a time work on what a key names, such as an instance or an image."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._interested: dict[str, int] = {}

    @contextlib.contextmanager
    def hold(self, key: str, *, within: float | None = None) -> Iterator[bool]:
        """Acquire the lock of a key; yield whether it was acquired.

        :param within: seconds to wait for it; None: no limit
        """
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
            self._interested[key] = self._interested.get(key, 0) + 1
        held = lock.acquire(timeout=-1 if within is None else within)
        try:
            yield held
        finally:
            if held:
                lock.release()
            self._leave(key)

    def _leave(self, key: str) -> None:
        with self._guard:
            self._interested[key] -= 1
            if not self._interested[key]:
                del self._interested[key], self._locks[key]

    def is_held(self, key: str) -> bool:
        """Return whether a thread holds the lock of a key, or waits for it."""
        with self._guard:
            return key in self._locks

    def __len__(self) -> int:
        return len(self._locks)
