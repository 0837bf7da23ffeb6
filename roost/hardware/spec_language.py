"""The requirement language of flavor extra specs, and their scopes.

A requirement is a plain text, which a value must equal, or an operator and its operand:

=================  =============================================================================
operator           the value
=================  =============================================================================
``=``              is a number, and at least as large
``==`` ``!=``      is a number, and (un)equal
``>=`` ``<=``      is a number, and at least or at most as large
``s==`` ``s!=``    is a text, and (un)equal
``s<`` and so on   comes before, after (``s>``), not after (``s<=``) or not before (``s>=``)
``<in>``           contains the text
``<all-in>``       contains each of the words
``<or> a <or> b``  equals one of the texts
=================  =============================================================================
"""

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.hardware.values import SCOPELESS

Test = Callable[[str], bool]
Items = tuple[tuple[str, str], ...]
"""Names and the requirement of each."""

_NUMBERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.ge,  # as in Nova
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_TEXTS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
    "<in>": operator.contains,
}


@functools.lru_cache(maxsize=4096)
def parse(requirement: str) -> Test:
    """Return the test of a requirement."""
    sign, _, rest = requirement.strip().partition(" ")
    rest = rest.strip()
    if sign in _NUMBERS:
        return functools.partial(_compare_numbers, _NUMBERS[sign], rest)
    if sign in _TEXTS:
        compare = _TEXTS[sign]
        return lambda value: compare(value, rest)
    if sign == "<all-in>":
        parts = rest.split()
        return lambda value: all(part in value for part in parts)
    if sign == "<or>":
        choices = frozenset(choice.strip() for choice in rest.split("<or>"))
        return choices.__contains__
    return requirement.__eq__


def scoped(extra_specs: Mapping[str, str], scope: str) -> Items:
    """Return names (without the scope) and requirements of one scope, in order of name."""
    return _scoped(tuple(extra_specs.items()), scope + ":") if extra_specs else ()


def unscoped(extra_specs: Mapping[str, str]) -> Items:
    """Return names without a scope and their requirements, in order of name."""
    return _unscoped(tuple(extra_specs.items())) if extra_specs else ()


# Every request needs these again, and most need the same.


@functools.lru_cache(maxsize=4096)
def _scoped(items: Items, prefix: str) -> Items:
    found = [
        (name.removeprefix(prefix), wanted) for name, wanted in items if name.startswith(prefix)
    ]
    return tuple(sorted(found))


@functools.lru_cache(maxsize=4096)
def _unscoped(items: Items) -> Items:
    return tuple(sorted(item for item in items if ":" not in item[0] and item[0] not in SCOPELESS))


def _compare_numbers(compare: Callable[[Any, Any], bool], wanted: str, value: str) -> bool:
    try:
        return compare(float(value), float(wanted))
    except ValueError:
        return False
