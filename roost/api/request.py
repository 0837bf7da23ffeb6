"""Requests as handlers receive them, and the answers that they return; free of HTTP libraries."""

import dataclasses
import ipaddress
from collections.abc import Mapping
from typing import Any, BinaryIO

from roost import exception
from roost.api.policy import Policy
from roost.context import RequestContext


class Query:
    """The query of a request: names to lists of strings, already validated."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self.values = values

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def all(self, name: str) -> list[str]:
        """Return the values given, without duplicates."""
        return list(dict.fromkeys(self.in_turn(name)))

    def in_turn(self, name: str) -> list[str]:
        """Return the values in the order given, with duplicates."""
        return self.values.get(name, [])

    def one(self, name: str) -> str | None:
        """Return the last value given, as OpenStack does when a name is repeated."""
        return self.values[name][-1] if name in self.values else None

    def number(self, name: str) -> int | None:
        """Return a whole number; None for a name left out or empty."""
        value = self.one(name)
        return int(value) if value else None

    def flag(self, name: str) -> bool | None:
        """Return a boolean as OpenStack's clients write it.

        :raises roost.exception.Invalid: when the value is not a boolean
        """
        value = self.one(name)
        if value is None:
            return None
        return truth(value, name=name)


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer of a handler; ``body`` None: no body; ``status`` None: that of its route.

    ``data`` is sent instead of a body, ``length`` bytes, and closed in the end.
    """

    body: Any = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    status: int | None = None
    data: BinaryIO | None = None
    length: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """A request that passed all checks: authenticated, allowed, valid query and body.

    ``body`` is the request's: JSON, or the data of an upload. ``base_url`` is the base of links,
    without trailing slash. ``rule`` is the policy rule that the caller passed, checked with their
    own project; see :meth:`may_touch`.
    """

    context: RequestContext
    version: int
    path: str
    params: Mapping[str, str]
    query: Query
    body: Any
    base_url: str
    policy: Policy
    rule: str

    @property
    def project_id(self) -> str:
        """The caller's project, for resources that belong to one.

        :raises roost.exception.Forbidden: when the token has no project
        """
        if self.context.project_id is None:
            raise exception.Forbidden("This needs a token for a project; this one is for none.")
        return str(self.context.project_id)

    @property
    def visible_project(self) -> str | None:
        """The only project whose resources the call's rule lets the caller see; None: all."""
        everybody = self.allows(self.rule, project_id="")
        return None if everybody else self.project_id

    def allows(self, rule: str, *, project_id: str | None = None) -> bool:
        """Return whether the caller passes another rule, by default for their own project."""
        return self.policy.allows(self.context, rule, project_id=project_id)

    def require(self, rule: str) -> None:
        """Raise :class:`roost.exception.Forbidden` unless the caller passes another rule."""
        self.policy.require(self.context, rule)

    def require_for(self, project_id: str) -> None:
        """Check the call's own rule again, with a project that the request itself names.

        :raises roost.exception.Forbidden: that there is such a project is no secret
        """
        if not self.allows(self.rule, project_id=project_id):
            raise exception.Forbidden(f"Policy doesn't allow {self.rule} to be performed.")

    def may_touch(self, project_id: str, *, name: str) -> None:
        """Check the call's own rule again, with the project that owns the resource.

        :raises roost.exception.NotFound: naming the resource, as if it did not exist
        """
        if not self.allows(self.rule, project_id=project_id):
            raise exception.NotFound(f"{name} could not be found.")

    def may_act_for(self, user_id: str) -> None:
        """Check the call's own rule again, with the user who owns the resources.

        :raises roost.exception.Forbidden: when the caller may not do this for that user
        """
        self.policy.require(self.context, self.rule, user_id=user_id)


def truth(value: str, *, name: str) -> bool:
    """Read a boolean.

    :raises roost.exception.Invalid: when it is not one
    """
    text = value.strip().lower()
    if text in ("1", "t", "true", "on", "y", "yes"):
        return True
    if text in ("0", "f", "false", "off", "n", "no", ""):
        return False
    raise exception.Invalid(f"Invalid value for {name}: {value!r} is no boolean.")


def short_ip(text: str | None) -> str | None:
    """Return the shortest form of an address, which is stored; None for None or ""."""
    return str(ipaddress.ip_address(text)) if text else None
