"""A row of the table of routes: method, path, handler, policy, schemas and microversions."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Final

from oslo_policy import policy as oslo_policy

from roost.api import microversions
from roost.api.middleware import COMPUTE
from roost.api.policy import Rule
from roost.api.request import Answer, Call
from roost.api.validation import ANY_QUERY, Schema

JSON: Final = "application/json"
DATA: Final = "application/octet-stream"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Route:
    """A method of a path, and all that must hold before its handler is called.

    ``noun`` is the class of the method ``handler``, created once, with the dependencies.
    ``policy`` is the rule that the caller must pass; ``checks`` are rules that the handler checks
    for some requests or parts of the answer. ``body`` None: a body is ignored. ``takes`` are the
    accepted content types of a body; an upload (``DATA``) is not read before its handler reads it.
    ``gives`` is the content type of the answer. ``also`` is another status of success, which an
    answer sets itself. ``since`` and ``until`` are minor microversions. Unless ``slash``, the path
    with a trailing slash is not found.
    """

    method: str
    path: str
    noun: type[Any]
    handler: Callable[[Any, Call], Answer]
    policy: Rule
    checks: tuple[Rule, ...] = ()
    query: Schema
    body: Schema | None = None
    takes: tuple[str, ...] = (JSON,)
    gives: str = JSON
    status: int = 200
    also: int | None = None
    since: int = microversions.MINIMUM
    until: int = microversions.MAXIMUM
    slash: bool = True


def row(operation: str, handler: tuple[type[Any], Any], policy: Rule, **more: Any) -> Route:
    """Make a row; ``operation`` is method and path. Without a query schema it accepts any query."""
    method, path = operation.split(" ")
    noun, function = handler
    return Route(
        method=method,
        path=path,
        noun=noun,
        handler=function,
        policy=policy,
        **{"query": ANY_QUERY, **more},
    )


def list_rules(routes: Iterable[Route]) -> list[oslo_policy.DocumentedRuleDefault]:
    """Return the rules that rows name, each with its operations; those of Compute without /v2.1."""
    found: dict[Rule, dict[str, None]] = {}
    for route in routes:
        operation = f"{route.method} {route.path.replace(f'{COMPUTE}/', '/')}"
        for rule in (route.policy, *route.checks):
            found.setdefault(rule, {})[operation] = None
    return [rule.default([*operations, *rule.also]) for rule, operations in found.items()]
