"""Numbers for things that many hosts share, so that a column of them compares as one of numbers."""

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=Hashable)
Codes = npt.NDArray[np.int32]
NOWHERE: Final = -1


class Words(Generic[T]):
    """Each thing's number, given when it is first met."""

    def __init__(self) -> None:
        self._codes: dict[T, int] = {}
        self._things: list[T] = []

    def __len__(self) -> int:
        return len(self._things)

    def code(self, thing: T) -> int:
        """Return the number of a thing, or one that no row has when it was never met."""
        return self._codes.get(thing, NOWHERE)

    def learn(self, thing: T) -> int:
        """Return the number of a thing, which gets one if it has none."""
        code = self._codes.setdefault(thing, len(self._things))
        if code == len(self._things):
            self._things.append(thing)
        return code

    def codes(self, things: Iterable[T]) -> Codes:
        return np.array([self.learn(thing) for thing in things], dtype=np.int32)

    def only(self, codes: Codes) -> Codes:
        """Forget all things but these, and return their new numbers."""
        kept = [self._things[code] for code in codes.tolist()]
        self._codes.clear()
        self._things.clear()
        return self.codes(kept)

    def __getitem__(self, code: int) -> T:
        return self._things[code]

    def tell(
        self, codes: Codes, answer: Callable[[T], float | bool], *, kind: type[np.generic]
    ) -> npt.NDArray[np.generic]:
        """Answer for every code; things are asked once each, however many rows have them."""
        if len(codes) < len(self._things):
            return np.array([answer(self._things[code]) for code in codes.tolist()], dtype=kind)
        return np.array([answer(thing) for thing in self._things], dtype=kind).take(codes)
