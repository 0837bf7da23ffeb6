"""Filter by the hint ``query``: a JSON query such as ``[">=", "$free_ram_mb", 4096]``.

A query is a list: an operator, then its operands. ``and`` and ``or`` take queries, ``not`` one;
``= < > <= >=`` take values and compare the first with each of the others; ``in`` is true if the
first is among the others. A value is a number, a text, or ``$`` and a name of
:mod:`roost.scheduler.host_values`; ``$capabilities.X`` is the capability X that the host reports.
"""

import functools
import json
import operator
from collections.abc import Callable, Hashable
from typing import Any, Final

import numpy as np

from roost.objects import report_parts
from roost.scheduler import host_values
from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Filter, Refusal
from roost.scheduler.request import Request

_HINT: Final = "query"
_LONGEST: Final = 8192  # characters; more than any query written by hand
_DEEPEST: Final = 16
_CAPABILITIES: Final = "capabilities."
_VALUES: Final = {**host_values.NUMBERS, **host_values.TEXTS}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "in": operator.eq,
}


class JsonFilter(Filter):
    """Allows only hosts that meet the query. A malformed query refuses all."""

    name = "json"
    hints = (_HINT,)
    by_usage = True
    reads = (report_parts.CAPABILITIES,)

    def applies_to(self, request: Request) -> bool:
        return _HINT in request.spec.hints

    def key(self, request: Request) -> Hashable:
        return tuple(request.hint(_HINT))

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        every: Mask = np.ones(len(hosts), dtype=np.bool_)
        try:
            queries = [parse(text) for text in request.hint(_HINT)]
        except ValueError as error:
            return [Refusal(f"the query cannot be read: {error}", every)]
        return [Refusal("does not meet the query", ~_evaluate(query, hosts)) for query in queries]


def parse(text: str) -> list[Any]:
    """Return a query that can be evaluated.

    :raises ValueError: when it is malformed; the message is for users
    """
    if len(text) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST} characters")
    try:
        query = json.loads(text, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    _check(query, depth=1)
    found: list[Any] = query
    return found


def _check(query: Any, *, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deep")
    if not isinstance(query, list) or not query:
        raise ValueError(f"{json.dumps(query)} is not a list that begins with an operator")
    sign, *others = query
    if sign in ("and", "or", "not"):
        if not others or (sign == "not" and len(others) > 1):
            raise ValueError(f"{sign} needs {'one query' if sign == 'not' else 'queries'}")
        for each in others:
            _check(each, depth=depth + 1)
    elif isinstance(sign, str) and sign in _COMPARISONS:
        if len(others) < 2:  # noqa: PLR2004 - one to compare with another
            raise ValueError(f"{sign} needs two values")
        for each in others:
            _check_value(each)
    else:
        raise ValueError(f"{json.dumps(sign)} is no operator")


def _check_value(value: Any) -> None:
    if not isinstance(value, float | str):
        raise ValueError(f"{json.dumps(value)} is neither a number nor a text")  # noqa: TRY004
    if isinstance(value, str) and value.startswith("$"):
        name = value[1:]
        if name not in _VALUES and not name.startswith(_CAPABILITIES):
            raise ValueError(f"hosts have no value named {name}")


def _evaluate(query: list[Any], hosts: Columns) -> Mask:
    sign, *others = query
    if sign == "not":
        return ~_evaluate(others[0], hosts)
    if sign in ("and", "or"):
        both = np.logical_and if sign == "and" else np.logical_or
        answers = [_evaluate(each, hosts) for each in others]
    else:
        both = np.logical_or if sign == "in" else np.logical_and
        first, *rest = (_values(each, hosts) for each in others)
        answers = [_compare(_COMPARISONS[sign], first, each) for each in rest]
    every: Mask = functools.reduce(both, answers)
    return every


def _values(value: float | str, hosts: Columns) -> host_values.Values:
    """Return a value per host."""
    if not isinstance(value, str) or not value.startswith("$"):
        return np.full(len(hosts), value)
    name = value[1:]
    if name in _VALUES:
        return _VALUES[name](hosts)
    capability = name.removeprefix(_CAPABILITIES)
    return host_values.by_profile(hosts, lambda one: one.capabilities.get(capability, ""))


def _compare(
    compare: Callable[[Any, Any], Any], first: host_values.Values, second: host_values.Values
) -> Mask:
    """Compare values by host: between a number and a text every comparison is false."""
    if (first.dtype.kind == "U") is not (second.dtype.kind == "U"):
        return np.zeros(len(first), dtype=np.bool_)
    found: Mask = compare(first, second)
    return found
