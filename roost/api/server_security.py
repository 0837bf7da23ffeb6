"""The security groups of servers: with local networks there is one, and it is every server's."""

from collections.abc import Mapping
from typing import Any, Final

from roost import exception

DEFAULT: Final = "default"


def groups_of(asked: Mapping[str, Any]) -> list[str]:
    """Return the groups that a new server is in.

    :raises roost.exception.Invalid: for one that does not exist
    """
    names = [group["name"] for group in asked.get("security_groups") or []]
    for name in names:
        if name != DEFAULT:
            raise exception.Invalid(
                f"Unable to find security_group with name or id '{name}':"
                f" this cloud has only {DEFAULT!r}."
            )
    return [DEFAULT]
