"""A lock per key, kept only while somebody holds it or waits for it."""

import contextlib
import threading
from collections.abc import Iterator


class Locks:
    """Lets one thread at a time work on whatever a key names: an instance, an image."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._interested: dict[str, int] = {}

    @contextlib.contextmanager
    def hold(self, key: str) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
            self._interested[key] = self._interested.get(key, 0) + 1
        try:
            with lock:
                yield
        finally:
            self._leave(key)

    @contextlib.contextmanager
    def hold_if_free(self, key: str) -> Iterator[bool]:
        """Hold it, unless somebody does or waits for it; tell whether it is held now."""
        with self._guard:
            free = key not in self._locks
            if free:
                lock = self._locks[key] = threading.Lock()
                self._interested[key] = 1
                lock.acquire()
        if not free:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
            self._leave(key)

    def _leave(self, key: str) -> None:
        with self._guard:
            self._interested[key] -= 1
            if not self._interested[key]:
                del self._interested[key], self._locks[key]

    def is_held(self, key: str) -> bool:
        """Tell whether somebody works on what the key names, or waits for it."""
        with self._guard:
            return key in self._locks

    def __len__(self) -> int:
        return len(self._locks)
