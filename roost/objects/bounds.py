"""Bounds of values that one sends and all read, so that what one sends stops no other.

Amounts have those of OpenStack's Placement: from 0 to 2147483647.
"""

import datetime
import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from roost.objects import base

MOST: Final = 2**31 - 1
"""The largest amount of anything."""
LONGEST: Final = 255
"""The characters of a name, a label and so on."""
ITEMS: Final = 100_000
"""The items of a list."""
CPUS: Final = 2**16
"""The numbers of CPUs, and those of devices, are below it."""


def wrong_value(value: Any, *, longest: int = LONGEST) -> str | None:
    """Return what is wrong with a value, or with anything in it; None: nothing.

    Whole numbers are from -:data:`MOST` to :data:`MOST`, others are finite; texts have at most
    ``longest`` characters, all of them printable; lists and mappings have at most :data:`ITEMS`
    items; objects have all their fields.
    """
    for kind, check in _CHECKS:
        if isinstance(value, kind):
            return check(value, longest)
    return f"it cannot be of the type {type(value).__name__}"


def is_name(value: Any) -> bool:
    """Return whether a value is a text that may name something."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable()


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def is_amount(value: Any, *, least: int = 0) -> bool:
    """Return whether a value is a whole number from ``least`` to :data:`MOST`."""
    return isinstance(value, int) and least <= value <= MOST


def _wrong_text(text: str, longest: int) -> str | None:
    if len(text) > longest:
        return f"{text[:20]!r}... is longer than {longest} characters"
    return None if text.isprintable() else f"{text!r} has characters that cannot be printed"


def _wrong_integer(number: int, _: int) -> str | None:
    return None if -MOST <= number <= MOST else f"a number is beyond {MOST}"


def _wrong_float(number: float, _: int) -> str | None:
    return None if math.isfinite(number) else f"{number} is no number"


def _wrong_object(one: base.RoostObject, longest: int) -> str | None:
    missing = sorted(one.fields.keys() - one.values().keys())
    if missing:
        return f"{one.obj_name()} lacks {', '.join(missing)}"
    return _wrong_named(one.values(), longest)


def _wrong_mapping(values: Mapping[str, Any], longest: int) -> str | None:
    return _wrong_items(values, longest) or _wrong_named(values, longest)


def _wrong_items(items: Collection[Any], longest: int) -> str | None:
    if len(items) > ITEMS:
        return f"there are more than {ITEMS}"
    found = (wrong_value(one, longest=longest) for one in items)
    return next((text for text in found if text is not None), None)


def _wrong_named(values: Mapping[str, Any], longest: int) -> str | None:
    for name, value in values.items():
        if (wrong := wrong_value(value, longest=longest)) is not None:
            return f"{name}: {wrong}"
    return None


_CHECKS: Final[Sequence[tuple[Any, Callable[[Any, int], str | None]]]] = (
    (str, _wrong_text),
    (int, _wrong_integer),
    (float, _wrong_float),
    (dict, _wrong_mapping),
    ((list, tuple), _wrong_items),
    (base.RoostObject, _wrong_object),
    ((datetime.datetime, type(None)), lambda _, __: None),
)
