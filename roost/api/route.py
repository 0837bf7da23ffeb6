"""A row of the table of routes: method, path, handler, policy, schemas and microversions."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from roost.api import microversions
from roost.api.request import Answer, Call
from roost.api.validation import ANY_QUERY, Schema

JSON: Final = "application/json"
DATA: Final = "application/octet-stream"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Route:
    """A method of a path, and all that must hold before its handler is called.

    ``noun`` is the class that ``handler`` is a method of; it is made once, with the parts.
    ``policy`` is one rule's name. ``body`` None: what is sent is not looked at. ``takes`` are the
    content types of a body; that of an upload (``DATA``) is not read before its handler reads it.
    ``gives`` is that of the answer. ``also`` is another status of success, which an answer names
    itself. ``since`` and ``until`` are minor microversions. Not ``slash``: with one at its end the
    path names a thing without a name, and there is none.
    """

    method: str
    path: str
    noun: type[Any]
    handler: Callable[[Any, Call], Answer]
    policy: str
    query: Schema
    body: Schema | None = None
    takes: tuple[str, ...] = (JSON,)
    gives: str = JSON
    status: int = 200
    also: int | None = None
    since: int = microversions.MINIMUM
    until: int = microversions.MAXIMUM
    slash: bool = True


def row(operation: str, handler: tuple[type[Any], Any], policy: str, **more: Any) -> Route:
    """Make a row; ``operation`` is method and path. Without a query of its own it takes any."""
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
