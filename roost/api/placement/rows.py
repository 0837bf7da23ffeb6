"""Rows of Placement's routes: their microversions, and queries that refuse unknown parameters."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.api import route
from roost.api.placement.microversions import MAXIMUM, MINIMUM, ROOT
from roost.api.policy import SERVICE, Rule
from roost.api.route import Route
from roost.api.validation import Document, Schema, query


def strict_query(
    parameters: Mapping[str, tuple[int, Document]], *, required: Sequence[str] = ()
) -> Schema:
    """Return the schema of a query that takes no other parameters.

    :param parameters: the minor version that brought each, and its form
    """

    def document(minor: int) -> Document:
        known = {name: form for name, (since, form) in parameters.items() if since <= minor}
        return {**query(known, strict=True), "required": list(required)}

    changes = {MINIMUM, *(since for since, _ in parameters.values())}
    return Schema({minor: document(minor) for minor in changes})


_NOTHING: Final = strict_query({})


def rule(name: str, description: str) -> Rule:
    """Return a rule by Placement's name; administrators and services pass it."""
    return Rule(f"placement:{name}", SERVICE, description)


def row(path: str, handler: tuple[type[Any], Any], policy: Rule, **more: Any) -> Route:
    """Make a row of a GET; ``path`` is below ``/placement``, without ``query`` none is taken."""
    values = {"query": _NOTHING, "since": MINIMUM, "until": MAXIMUM, **more}
    return route.row(f"GET {ROOT}{path}", handler, policy, **values)
