"""How many may do something at once: altogether, and each holder, so that few never have all."""

import enum
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

H = TypeVar("H", bound=Hashable)


class Refused(enum.Enum):
    """Why there is no place."""

    SHARE = "the holder has its share"
    FULL = "all places are taken"


class ConcurrencyLimit(Generic[H]):
    """Places, each taken by a holder: a project, a host.

    :param most: places altogether
    :param share: how many a holder may have, given the number of those that others leave
    """

    def __init__(self, most: int, share: Callable[[int, H], int]) -> None:
        self._most = most
        self._share = share
        self._lock = threading.Lock()
        self._of: dict[H, int] = {}
        self.taken = 0

    def take(self, holder: H) -> Refused | None:
        """Take a place, or return why there is none."""
        with self._lock:
            has = self._of.get(holder, 0)
            if has >= self._share(self._most - (self.taken - has), holder):
                return Refused.SHARE
            if self.taken >= self._most:
                return Refused.FULL
            self._of[holder] = has + 1
            self.taken += 1
            return None

    def give_back(self, holder: H) -> None:
        with self._lock:
            self.taken -= 1
            left = self._of.pop(holder) - 1
            if left:
                self._of[holder] = left
