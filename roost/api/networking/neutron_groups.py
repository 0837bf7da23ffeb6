"""Security groups, which users name by name or id."""

from collections.abc import Sequence
from typing import Any, Final

from roost import exception
from roost.outside.networking import told_apart

_DEFAULT: Final = "default"


def groups_of(network: Any, project: str, names: Sequence[str]) -> list[str]:
    """Return the ids of a project's groups; none for the default one, which ports get anyway.

    :raises roost.exception.Invalid: for a group that is not there
    :raises roost.exception.Conflict: for a name that several have
    """
    if all(name == _DEFAULT for name in names):
        return []
    with told_apart():
        known = list(network.security_groups(project_id=project))
    return list(dict.fromkeys(_find(known, name) for name in names))


def _find(known: Sequence[Any], name: str) -> str:
    found = [one.id for one in known if name == one.id] or [
        one.id for one in known if name == one.name
    ]
    if not found:
        raise exception.Invalid(f"Security group {name} not found.")
    if len(found) > 1:
        raise exception.Conflict(
            f"Multiple security groups found matching '{name}'. Use an ID to be more specific."
        )
    return str(found[0])
