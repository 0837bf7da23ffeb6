"""Server groups as JSON."""

from typing import Any, Final

from roost.objects import ServerGroup

OWNER: Final = 13  # since 2.13 it is told whose a group is
RULES: Final = 64  # since 2.64 a group has one policy with rules, and no metadata


def full(group: ServerGroup, *, version: int) -> dict[str, Any]:
    """Return a group with its members."""
    shown: dict[str, Any] = {"id": group.uuid, "name": group.name, "members": list(group.members)}
    if version >= OWNER:
        shown |= {"project_id": group.project_id, "user_id": group.user_id}
    if version >= RULES:
        return {**shown, "policy": group.policy, "rules": _rules(group)}
    return {**shown, "policies": [group.policy], "metadata": {}}


def _rules(group: ServerGroup) -> dict[str, int]:
    most = group.max_server_per_host
    return {} if most is None else {"max_server_per_host": most}
