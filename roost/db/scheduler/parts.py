"""Many values, for statements that each name some of them."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
_AT_ONCE: Final = 1000  # databases have limits


def in_parts(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield so many values as one statement takes."""
    listed = list(values)
    return (listed[start : start + _AT_ONCE] for start in range(0, len(listed), _AT_ONCE))
