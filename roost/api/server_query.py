"""What the query of a server list asks for, in the words of the databases."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from roost import exception, states
from roost.api import moments, policies
from roost.api.call import Call, truth
from roost.api.schemas.server_tags import MOST, TAGGED
from roost.api.schemas.servers import (
    ADDRESSES,
    FILTERS,
    FOR_ALL,
    FOR_ALL_LATER,
    FOR_ALL_SINCE,
    IGNORED_SORT_KEYS,
    IP6_SINCE,
    LOCKED_SINCE,
    MOMENTS,
    PATTERNS,
    SORT_KEYS,
)
from roost.api.validation import is_uuid
from roost.api.views.servers import KNOWN_STATUSES, STATUSES
from roost.db.instance_query import Wanted
from roost.db.ordering import Sort
from roost.db.patterns import Pattern

_DISK: Final = "auto_disk_config"
_BAD_STATUS_SINCE: Final = 38
_OF_PROJECTS: Final = ("project_id", "tenant_id")
_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "auto_disk_config": lambda value: "AUTO" if truth(value, name=_DISK) else "MANUAL",
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
    equal = {**_columns(call), **_projects(call), **_locked(call), **_progress(call)}
    if in_states == [] or not all(equal.values()) or _asks_for_kernels(call):
        return None
    changes = moments.changes(call)
    return Wanted(
        equal=equal,
        like=_patterns(call),
        between=_moments(call),
        addresses=_addresses(call),
        states=in_states,
        deleted=_deleted(call),
        put_away=_put_away(call),
        changed_since=changes.since,
        changed_before=changes.before,
        tags=[*_each(call, "tags"), *_together(call, "tags-any")],
        not_tags=[*_together(call, "not-tags"), *_each(call, "not-tags-any")],
        order=_order(call),
    )


def _is_asked(call: Call, name: str) -> bool:
    """Tell whether the query has a filter that this caller may use; others are ignored."""
    if name not in call.query:
        return False
    if name == "ip6" and call.version < IP6_SINCE:
        return False
    known = FOR_ALL_LATER if call.version >= FOR_ALL_SINCE else FOR_ALL
    return name in known or call.allows(policies.servers.ALL_FILTERS)


def _columns(call: Call) -> dict[str, Sequence[Any]]:
    found: dict[str, Sequence[Any]] = {}
    for name, column in FILTERS.items():
        if name in _OF_PROJECTS or not _is_asked(call, name):
            continue
        values = [_READERS.get(name, str)(value) for value in call.query.all(name)]
        if name == "uuid":
            values = [value for value in values if is_uuid(value)]
        found[column] = values
    return found


def _progress(call: Call) -> dict[str, Sequence[str]]:
    """Return the states of servers that show this progress: all of it, or none."""
    if not _is_asked(call, "progress"):
        return {}
    asked = {int(value) for value in call.query.all("progress")}
    done = [states.ACTIVE] if 100 in asked else []  # noqa: PLR2004 - per cent
    vm_states = {state.vm for state in states.MOVES} - {states.ACTIVE}
    shown = [*done, *(sorted(vm_states) if 0 in asked else [])]
    also = call.query.all("vm_state")
    return {"vm_state": [vm for vm in shown if not also or vm in also]}


def _asks_for_kernels(call: Call) -> bool:
    """Tell whether only servers with kernels of their own will do: there are none."""
    return any(_is_asked(call, n) and call.query.one(n) for n in ("kernel_id", "ramdisk_id"))


def _moments(call: Call) -> dict[str, moments.Span]:
    return {
        column: moments.span(str(call.query.one(name)))
        for name, column in MOMENTS.items()
        if _is_asked(call, name)
    }


def _addresses(call: Call) -> dict[int, Pattern]:
    """Return the patterns of addresses, which match from the beginning as OpenStack's do."""
    return {
        version: _pattern(name, str(call.query.one(name)), from_start=True)
        for name, version in ADDRESSES.items()
        if _is_asked(call, name)
    }


def _locked(call: Call) -> dict[str, Sequence[bool]]:
    """Return whether locked servers are asked for, or others; before its time it means nothing."""
    if call.version < LOCKED_SINCE or "locked" not in call.query:
        return {}
    return {"locked": [truth(value, name="locked") for value in call.query.all("locked")]}


def _projects(call: Call) -> dict[str, Sequence[str]]:
    """Keep to the caller's project, unless an administrator asks for all, or some of all."""
    if not all_projects(call):
        return {"project_id": [call.project_id]}
    call.require(policies.servers.ALL_PROJECTS)
    others = [value for name in _OF_PROJECTS for value in call.query.all(name)]
    return {"project_id": others} if others else {}


def all_projects(call: Call) -> bool:
    """Tell whether the list is of all projects; ``all_tenants`` alone says so, too."""
    value = call.query.one("all_tenants")
    return value is not None and (value == "" or truth(value, name="all_tenants"))


def _patterns(call: Call) -> dict[str, Pattern]:
    return {
        column: _pattern(name, value)
        for name, column in PATTERNS.items()
        if _is_asked(call, name) and (value := call.query.one(name))
    }


def _pattern(name: str, said: str, *, from_start: bool = False) -> Pattern:
    try:
        return Pattern.of(said, from_start=from_start)
    except exception.Invalid as error:
        raise exception.Invalid(f"{name}: {error.message}") from error


def _states(call: Call) -> list[tuple[str, str | None]] | None:
    if "status" not in call.query:
        return None
    asked = [status.upper() for status in call.query.all("status")]
    unknown = KNOWN_STATUSES.union(asked) - KNOWN_STATUSES
    if unknown and call.version >= _BAD_STATUS_SINCE:
        raise exception.Invalid(f"Invalid status value: {min(unknown)}")
    return [state for status in asked for state in STATUSES.get(status, ())]


def _deleted(call: Call) -> bool | None:
    """Return whether buried instances are asked for; None: both kinds.

    Who follows changes wants to learn of deletions, too.
    """
    asked = _states(call) or []
    if states.State(states.DELETED) in asked:
        call.require(policies.servers.ALL_FILTERS)
        return None if any(vm != states.DELETED for vm, _ in asked) else True
    if "deleted" in call.query and call.allows(policies.servers.ALL_FILTERS):
        return call.query.flag("deleted")
    return None if moments.changes(call).are_asked else False


def _put_away(call: Call) -> bool | None:
    """Return whether those are asked for that can still be restored; None: both kinds.

    Who names their state or follows changes means them, too.
    """
    if "soft_deleted" in call.query and call.allows(policies.servers.ALL_FILTERS):
        return call.query.flag("soft_deleted")
    named = states.SOFT_DELETED in call.query.all("vm_state")
    if named or _names_put_away(call) or _deleted(call) is not False:
        return None
    return False


def _names_put_away(call: Call) -> bool:
    return any(vm == states.SOFT_DELETED for vm, _ in _states(call) or [])


def _each(call: Call, name: str) -> list[list[str]]:
    return [[tag] for tag in _tags(call, name)]


def _together(call: Call, name: str) -> list[list[str]]:
    tags = _tags(call, name)
    return [tags] if tags else []


def _tags(call: Call, name: str) -> list[str]:
    if call.version < TAGGED:
        return []
    found = {tag: None for value in call.query.all(name) for tag in value.split(",") if tag}
    if len(found) > MOST:
        raise exception.Invalid(f"{name}: {len(found)} tags are more than a server has, {MOST}.")
    return list(found)


def _order(call: Call) -> list[Sort]:
    """Return the keys asked for, made unambiguous by age and uuid."""
    asked = call.query.in_turn("sort_key")
    directions = call.query.in_turn("sort_dir")
    if len(directions) > max(len(asked), 1):
        raise exception.Invalid("Sort direction size exceeds sort key size")
    usual = directions[0] if directions else "desc"
    directions = directions + [usual] * (len(asked) - len(directions))
    kept = [at for at, name in enumerate(asked) if name not in IGNORED_SORT_KEYS]
    names = [SORT_KEYS.get(asked[at], asked[at]) for at in kept]
    directions = [directions[at] for at in kept]
    if {"host", "node"}.intersection(names):
        call.require(policies.servers.ALL_FILTERS)
    names += [name for name in ("created_at", "uuid") if name not in names]
    directions = directions + [usual] * (len(names) - len(directions))
    pairs = dict(zip(reversed(names), reversed(directions), strict=True))
    return [Sort(name, pairs[name] == "desc") for name in dict.fromkeys(names)]
