"""Converts amounts of traces and inventories into the integers that the engine counts.

They are in thousandths of the unit of the files. Demands of VMs are rounded up, capacities of hosts
down: VMs that fit here fit in reality.
"""

import decimal
import functools
from typing import Final

SCALE: Final = 1000
MOST_IN_ALL: Final = 2**62
"""A greater sum could overflow."""

_MOST: Final = 10**12  # in units of the file


@functools.lru_cache(maxsize=65536)
def demand(text: str) -> int:
    """Return the demand of a VM, in thousandths.

    :raises ValueError: when the text is no number, or out of range
    """
    return _thousandths(text, decimal.ROUND_CEILING)


def supply(number: float) -> int:
    """Return the capacity of a host, in thousandths.

    :raises ValueError: when the number is out of range
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
