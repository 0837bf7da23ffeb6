"""Whole numbers for real ones: what the engine counts, made of what traces and inventories say.

Everything is counted in thousandths of the unit of the files. What a VM takes is rounded up, what a
host has is rounded down: what fits here fits in earnest.
"""

import decimal
import functools
from typing import Final

SCALE: Final = 1000
MOST_IN_ALL: Final = 2**62
"""More than that cannot be added up."""

_MOST: Final = 10**12  # of a file's units


@functools.lru_cache(maxsize=65536)
def demand(text: str) -> int:
    """Return what a VM takes.

    :raises ValueError: when the text is no number, or one that no VM takes
    """
    return _thousandths(text, decimal.ROUND_CEILING)


def supply(number: float) -> int:
    """Return what a host has.

    :raises ValueError: when it is not a number that a host may have
    """
    return _thousandths(str(number), decimal.ROUND_FLOOR)


def _thousandths(text: str, rounding: str) -> int:
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation as error:
        raise ValueError(f"{text!r} is not a number") from error
    if not number.is_finite():
        raise ValueError(f"{text!r} is not a finite number")
    if not 0 <= number <= _MOST:
        raise ValueError(f"{text!r} is not between 0 and {_MOST:,}")
    return int((number * SCALE).to_integral_value(rounding))
