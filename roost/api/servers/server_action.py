"""A row of the tables of actions on servers: name, handler, rule, arguments and microversions.

``POST /servers/{id}/action`` is one route; the key in its body names the action.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import Rule
from roost.api.request import Answer, Call
from roost.api.validation import EVER, Document, Schema, always

Act = Callable[[Call, ServerRef], Answer]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerAction:
    """An action, and all that must hold before its handler is called.

    ``make`` makes the handler, once. ``rule`` is checked with the server's project; ``checks`` are
    rules that the handler checks for some arguments. ``arguments`` is the schema of the value in
    the body; for actions without arguments clients send null or {}. ``since`` and ``until`` are
    minor microversions. An action ``despite_lock`` is not refused on a locked server.
    """

    name: str
    make: Callable[[Dependencies], Act]
    rule: Rule
    checks: tuple[Rule, ...] = ()
    arguments: Schema
    since: int = 1
    until: int = EVER
    despite_lock: bool = False


def action(
    name: str,
    make: Callable[[Dependencies], Act],
    rule: Rule,
    arguments: Schema | Document | None = None,
    **more: Any,
) -> ServerAction:
    """Make a row; the arguments are a schema, one document for all microversions, or none."""
    schema = arguments if isinstance(arguments, Schema) else always(arguments or {})
    return ServerAction(name=name, make=make, rule=rule, arguments=schema, **more)


def plain(act: Act) -> Callable[[Dependencies], Act]:
    """Return what makes a handler that has no dependencies."""
    return lambda _dependencies: act


def body_of(actions: Iterable[ServerAction]) -> Schema:
    """Return the schema of a body with one action. The handler refuses unknown actions."""
    rows = list(actions)
    begins = {
        minor for row in rows for minor in (*row.arguments.documents, row.since, row.until + 1)
    }
    return Schema({minor: _one_of(rows, minor) for minor in begins})


def _one_of(rows: list[ServerAction], minor: int) -> Document:
    offered = {
        row.name: row.arguments.document(minor) for row in rows if row.since <= minor <= row.until
    }
    return {"type": "object", "properties": offered, "minProperties": 1, "maxProperties": 1}
