"""Limits of concurrency: in total, and per holder, so that a few holders never have all slots."""

import enum
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

H = TypeVar("H", bound=Hashable)


class Refused(enum.Enum):
    """Why there is no slot."""

    SHARE = "the holder has its share"
    FULL = "all slots are in use"


class ConcurrencyLimit(Generic[H]):
    """Slots, each taken by a holder: a project, a host. Callers may wait for a free one.

    :param most: slots in total
    :param share: how many a holder may have, given the number not used by others
    """

    def __init__(self, most: int, share: Callable[[int, H], int]) -> None:
        self._most = most
        self._share = share
        self._change = threading.Condition()
        self._of: dict[H, int] = {}
        self.taken = 0

    def take(self, holder: H, *, within: float = 0.0) -> Refused | None:
        """Take a slot as soon as there is one, or return why there is none.

        :param within: seconds to wait for one
        """
        with self._change:
            self._change.wait_for(lambda: self._refusal(holder) is None, within)
            refused = self._refusal(holder)
            if refused is None:
                self._of[holder] = self._of.get(holder, 0) + 1
                self.taken += 1
            return refused

    def give_back(self, holder: H) -> None:
        with self._change:
            self.taken -= 1
            left = self._of.pop(holder) - 1
            if left:
                self._of[holder] = left
            self._change.notify_all()

    def _refusal(self, holder: H) -> Refused | None:
        has = self._of.get(holder, 0)
        if has >= self._share(self._most - (self.taken - has), holder):
            return Refused.SHARE
        return Refused.FULL if self.taken >= self._most else None
