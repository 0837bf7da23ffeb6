"""Rows of Placement's routes: their microversions, and queries that refuse unknown parameters."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api import route
from roost.api.placement.microversions import MAXIMUM, MINIMUM, ROOT
from roost.api.policy import SERVICE, Rule
from roost.api.route import Route
from roost.api.validation import Document, Schema, query


class QuerySchema(Schema):
    """The schema of a query; what is wrong is said in Placement's words."""

    def check(self, value: Any, *, minor: int, what: str) -> None:
        """Raise :class:`roost.exception.Invalid`, naming the parameter, unless it is valid."""
        try:
            super().check(value, minor=minor, what=what)
        except exception.Invalid as error:
            reason = error.message.removeprefix(f"Invalid {what}: ")
            raise exception.Invalid(f"Invalid query string parameters: {reason}") from None


_NEVER: Final[Mapping[int, Any]] = {}


def _at(values: Mapping[int, Any], minor: int, otherwise: Any) -> Any:
    """Return the value at a minor version: that of the last change before it."""
    before = [since for since in values if since <= minor]
    return values[max(before)] if before else otherwise


def strict_query(
    parameters: Mapping[str, tuple[int, Document]],
    *,
    required: Mapping[int, Sequence[str]] = _NEVER,
    patterns: Mapping[int, Mapping[str, Document]] = _NEVER,
) -> QuerySchema:
    """Return the schema of a query that takes no other parameters.

    :param parameters: the minor version that brought each, and its form
    :param required: those that are, by the minor version since which it is so
    :param patterns: forms of parameters whose names match, likewise
    """

    def document(minor: int) -> Document:
        known = {name: form for name, (since, form) in parameters.items() if since <= minor}
        found = {**query(known, strict=True), "required": list(_at(required, minor, []))}
        if matching := _at(patterns, minor, {}):
            found["patternProperties"] = query(matching)["properties"]
        return found

    changes = {MINIMUM, *required, *patterns, *(since for since, _ in parameters.values())}
    return QuerySchema({minor: document(minor) for minor in changes})


_NOTHING: Final = strict_query({})


def rule(name: str, description: str, check: str = SERVICE) -> Rule:
    """Return a rule by Placement's name; by default administrators and services pass it."""
    return Rule(f"placement:{name}", check, description)


def row(path: str, handler: tuple[type[Any], Any], policy: Rule, **more: Any) -> Route:
    """Make a row of a GET; ``path`` is below ``/placement``, without ``query`` none is taken."""
    values = {"query": _NOTHING, "since": MINIMUM, "until": MAXIMUM, **more}
    return route.row(f"GET {ROOT}{path}", handler, policy, **values)
