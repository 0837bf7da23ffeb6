"""One row of the table of routes."""

import dataclasses
from collections.abc import Callable
from typing import Any

from roost.api import microversions
from roost.api.call import Answer, Call
from roost.api.validation import Schema


@dataclasses.dataclass(frozen=True, kw_only=True)
class Route:
    """A method of a path, and all that must hold before its handler is called.

    ``noun`` is the class that ``handler`` is a method of; it is made once, with the parts.
    ``policy`` is one rule's name. ``body`` None: what is sent is not looked at. ``since`` and
    ``until`` are minor microversions.
    """

    method: str
    path: str
    noun: type[Any]
    handler: Callable[[Any, Call], Answer]
    policy: str
    query: Schema
    body: Schema | None = None
    status: int = 200
    since: int = microversions.MINIMUM
    until: int = microversions.MAXIMUM
