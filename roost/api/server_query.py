"""What the query of a server list asks for, in the words of the databases."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from roost import exception, states
from roost.api import policies
from roost.api.call import Call, truth
from roost.api.schemas.servers import FILTERS, SORT_KEYS
from roost.api.validation import is_uuid, timestamp
from roost.api.views.servers import STATUSES
from roost.db.instance_query import Wanted
from roost.db.ordering import Sort

_OF_ADMINS: Final = ("host", "node", "deleted")
_OF_PROJECTS: Final = ("project_id", "tenant_id")
_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "config_drive": lambda value: truth(value, name="config_drive"),
    "launch_index": int,
    "power_state": int,
}


def wanted(call: Call) -> Wanted | None:
    """Return the filters and the order of a list; None: nothing can match.

    Filters that only administrators may use are ignored for others, as OpenStack does.

    :raises roost.exception.Forbidden: for lists of all projects or of the deleted, without leave
    :raises roost.exception.Invalid: for what contradicts itself
    """
    in_states = _states(call)
    equal = {**_columns(call), **_projects(call)}
    if in_states == [] or not all(equal.values()):
        return None
    since, before = _time(call, "changes-since"), _time(call, "changes-before")
    if since is not None and before is not None and since > before:
        raise exception.Invalid("The value of changes-since must be less than changes-before.")
    return Wanted(
        equal=equal,
        like=_patterns(call),
        states=in_states,
        deleted=_deleted(call),
        changed_since=since,
        changed_before=before,
        tags=[*_each(call, "tags"), *_together(call, "tags-any")],
        not_tags=[*_together(call, "not-tags"), *_each(call, "not-tags-any")],
        order=_order(call),
    )


def like(pattern: str) -> str:
    """Turn a user's pattern into one of SQL's LIKE.

    OpenStack documents regular expressions here and clients send ``^name$`` and ``web.*``. Those
    parts have a meaning (``^``, ``$``, ``.``, ``.*``, a backslash before any other character); the
    rest is taken as it stands, because a database's regular expressions can be made to run for
    ever.
    """
    begins, ends = pattern.startswith("^"), re.search(r"(?<!\\)(\\\\)*\$\Z", pattern) is not None
    inner = pattern[begins : len(pattern) - ends]
    parts = re.findall(r"\\.|\.\*|.", inner, re.DOTALL)
    middle = "".join(map(_like_part, parts))
    return f"{'' if begins else '%'}{middle}{'' if ends else '%'}"


def _like_part(part: str) -> str:
    if part == ".*":
        return "%"
    if part == ".":
        return "_"
    letter = part[-1]
    return f"\\{letter}" if letter in "%_\\" else letter


def _columns(call: Call) -> dict[str, Sequence[Any]]:
    may_all = call.allows(policies.servers.ALL_FILTERS)
    found: dict[str, Sequence[Any]] = {}
    for name, column in FILTERS.items():
        if name in _OF_PROJECTS or (name in _OF_ADMINS and not may_all):
            continue
        values = [_READERS.get(name, str)(value) for value in call.query.all(name)]
        if name == "uuid":
            values = [value for value in values if is_uuid(value)]
        if name in call.query:
            found[column] = values
    return found


def _projects(call: Call) -> dict[str, Sequence[str]]:
    """Keep to the caller's project, unless an administrator asks for others."""
    others = [value for name in _OF_PROJECTS for value in call.query.all(name)]
    if _all_projects(call):
        call.require(policies.servers.ALL_PROJECTS)
        return {"project_id": others} if others else {}
    if others and call.allows(policies.servers.ALL_PROJECTS):
        return {"project_id": others}
    return {"project_id": [str(call.context.project_id)]}


def _all_projects(call: Call) -> bool:
    """Tell whether the list is of all projects; ``all_tenants`` alone says so, too."""
    value = call.query.one("all_tenants")
    return value is not None and (value == "" or truth(value, name="all_tenants"))


def _patterns(call: Call) -> dict[str, str]:
    named = {"name": "display_name", "description": "display_description"}
    return {
        column: like(value) for name, column in named.items() if (value := call.query.one(name))
    }


def _states(call: Call) -> list[tuple[str, str | None]] | None:
    if "status" not in call.query:
        return None
    asked = [status.upper() for status in call.query.all("status")]
    return [STATUSES[status] for status in asked if status in STATUSES]


def _deleted(call: Call) -> bool | None:
    """Return whether buried instances are asked for; None: both kinds.

    Who follows changes wants to learn of deletions, too.
    """
    asked = _states(call) or []
    if STATUSES["DELETED"] in asked:
        call.require(policies.servers.ALL_FILTERS)
        return None if any(vm != states.DELETED for vm, _ in asked) else True
    if "deleted" in call.query and call.allows(policies.servers.ALL_FILTERS):
        return call.query.flag("deleted")
    if "changes-since" in call.query or "changes-before" in call.query:
        return None
    return False


def _time(call: Call, name: str) -> Any:
    value = call.query.one(name)
    return None if value is None else timestamp(value)


def _each(call: Call, name: str) -> list[list[str]]:
    return [[tag] for tag in _tags(call, name)]


def _together(call: Call, name: str) -> list[list[str]]:
    tags = _tags(call, name)
    return [tags] if tags else []


def _tags(call: Call, name: str) -> list[str]:
    return [tag for value in call.query.all(name) for tag in value.split(",") if tag]


def _order(call: Call) -> list[Sort]:
    """Return the keys asked for, made unambiguous by age and uuid."""
    names = [SORT_KEYS[name] for name in call.query.all("sort_key")]
    directions = call.query.all("sort_dir")
    if len(directions) > max(len(names), 1):
        raise exception.Invalid("Sort direction size exceeds sort key size")
    if {"host", "node"}.intersection(names):
        call.require(policies.servers.ALL_FILTERS)
    usual = directions[0] if directions else "desc"
    names += [name for name in ("created_at", "uuid") if name not in names]
    directions = directions + [usual] * (len(names) - len(directions))
    pairs = dict(zip(reversed(names), reversed(directions), strict=True))
    return [Sort(name, pairs[name] == "desc") for name in dict.fromkeys(names)]
