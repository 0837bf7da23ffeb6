"""Lists of servers: filters and order for the databases, pages merged over all cells.

Build requests are read before the cells, so that none is missed that is placed meanwhile. Servers
in unavailable cells are shown with what the API database has of them, since 2.69 and if no filter
needs the cell; otherwise they are left out or the list fails (``ApiOptions.skip_cells_away``).
"""

import contextlib
import dataclasses
import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from roost import exception, states
from roost.api import validation
from roost.api.compute.service_views import COMPUTE, host_status
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.locator import ServerLocator, ServerRef
from roost.api.request import Call, truth
from roost.api.servers import policies, views
from roost.api.servers.schemas import (
    ADDRESSES,
    FILTERS,
    FOR_ALL,
    FOR_ALL_LATER,
    FOR_ALL_SINCE,
    IP6_SINCE,
    LOCKED_SINCE,
    MOMENTS,
    PATTERNS,
    SORT_KEYS,
)
from roost.api.servers.tags import MOST, TAGGED
from roost.api.servers.views import KNOWN_STATUSES, STATUSES, Shown
from roost.api.validation import is_uuid
from roost.cells import Cell
from roost.db import ordering
from roost.db.api import build_requests, instance_mappings, server_groups
from roost.db.cell import faults, instance_lists, migrations
from roost.db.cell import services as service_rows
from roost.db.instance_query import NEWEST_FIRST, ListedInstance, NamedInstance, Wanted, values_of
from roost.db.ordering import Sort
from roost.db.patterns import Pattern
from roost.objects import Instance, InstanceMapping
from roost.operations.transitions import TRANSITIONS

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

    Filters that only administrators may use are ignored for others, as in Nova.

    :raises roost.exception.Forbidden: for all projects or deleted servers, if policy forbids it
    :raises roost.exception.Invalid: for contradictory arguments
    """
    in_states = _states(call)
    equal = {**_columns(call), **_projects(call), **_locked(call), **_progress(call)}
    if in_states == [] or not all(equal.values()) or _asks_for_kernels(call):
        return None
    changes = validation.changes(call)
    return Wanted(
        equal=equal,
        like=_patterns(call),
        between=_moments(call),
        addresses=_addresses(call),
        states=in_states,
        deleted=_deleted(call),
        put_away=_soft_deleted(call),
        changed_since=changes.since,
        changed_before=changes.before,
        tags=[*_each(call, "tags"), *_together(call, "tags-any")],
        not_tags=[*_together(call, "not-tags"), *_each(call, "not-tags-any")],
        order=_order(call),
    )


def _is_asked(call: Call, name: str) -> bool:
    """Return whether the query has a filter that this caller may use; others are ignored."""
    if name not in call.query:
        return False
    if name == "ip6" and call.version < IP6_SINCE:
        return False
    known = FOR_ALL_LATER if call.version >= FOR_ALL_SINCE else FOR_ALL
    return name in known or call.allows(policies.ALL_FILTERS)


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
    """Return the states of servers with this progress: 0 or 100, unless they move."""
    if not _is_asked(call, "progress"):
        return {}
    asked = {int(value) for value in call.query.all("progress")}
    done = [states.ACTIVE] if 100 in asked else []  # noqa: PLR2004 - per cent
    vm_states = {state.vm for state in TRANSITIONS} - {states.ACTIVE}
    shown = [*done, *(sorted(vm_states) if 0 in asked else [])]
    also = call.query.all("vm_state")
    return {"vm_state": [vm for vm in shown if not also or vm in also]}


def _asks_for_kernels(call: Call) -> bool:
    """Return whether the query filters by kernel or ramdisk id, which no server has."""
    return any(_is_asked(call, n) and call.query.one(n) for n in ("kernel_id", "ramdisk_id"))


def _moments(call: Call) -> dict[str, validation.TimeSpan]:
    return {
        column: validation.span(str(call.query.one(name)))
        for name, column in MOMENTS.items()
        if _is_asked(call, name)
    }


def _addresses(call: Call) -> dict[int, Pattern]:
    """Return the patterns of addresses, which match from the beginning as Nova's do."""
    return {
        version: _pattern(name, str(call.query.one(name)), from_start=True)
        for name, version in ADDRESSES.items()
        if _is_asked(call, name)
    }


def _locked(call: Call) -> dict[str, Sequence[bool]]:
    """Return the filter ``locked``; before 2.73 it is ignored."""
    if call.version < LOCKED_SINCE or "locked" not in call.query:
        return {}
    return {"locked": [truth(value, name="locked") for value in call.query.all("locked")]}


def _projects(call: Call) -> dict[str, Sequence[str]]:
    """Return the projects: the caller's, unless an administrator requests all, or some."""
    if not all_projects(call):
        return {"project_id": [call.project_id]}
    call.require(policies.ALL_PROJECTS)
    others = [value for name in _OF_PROJECTS for value in call.query.all(name)]
    return {"project_id": others} if others else {}


def all_projects(call: Call) -> bool:
    """Return whether the list is of all projects; ``all_tenants`` without a value means yes."""
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
    """Return whether deleted instances are requested; None: both kinds.

    Queries by time of change include deleted ones.
    """
    asked = _states(call) or []
    if states.State(states.DELETED) in asked:
        call.require(policies.ALL_FILTERS)
        return None if any(vm != states.DELETED for vm, _ in asked) else True
    if "deleted" in call.query and call.allows(policies.ALL_FILTERS):
        return call.query.flag("deleted")
    return None if validation.changes(call).are_asked else False


def _soft_deleted(call: Call) -> bool | None:
    """Return whether soft-deleted instances are requested; None: both kinds.

    Queries by this state or by time of change include them.
    """
    if "soft_deleted" in call.query and call.allows(policies.ALL_FILTERS):
        return call.query.flag("soft_deleted")
    named = {*call.query.all("vm_state"), *(vm for vm, _ in _states(call) or [])}
    if states.SOFT_DELETED in named or _deleted(call) is not False:
        return None
    return False


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
        raise exception.Invalid(f"{name}: {len(found)} tags, but a server has {MOST} at most.")
    return list(found)


def _order(call: Call) -> list[Sort]:
    """Return the requested sort keys, then age and uuid, so that the order is unambiguous."""
    asked = call.query.in_turn("sort_key")
    directions = call.query.in_turn("sort_dir")
    if len(directions) > max(len(asked), 1):
        raise exception.Invalid("Sort direction size exceeds sort key size")
    usual = directions[0] if directions else "desc"
    directions = directions + [usual] * (len(asked) - len(directions))
    known = {*SORT_KEYS, "locked"} if call.version >= LOCKED_SINCE else {*SORT_KEYS}
    kept = [at for at, name in enumerate(asked) if name in known]
    names = [SORT_KEYS.get(asked[at], asked[at]) for at in kept]
    directions = [directions[at] for at in kept]
    if {"host", "node"}.intersection(names):
        call.require(policies.ALL_FILTERS)
    names += [name for name in ("created_at", "uuid") if name not in names]
    directions = directions + [usual] * (len(names) - len(directions))
    pairs = dict(zip(reversed(names), reversed(directions), strict=True))
    return [Sort(name, pairs[name] == "desc") for name in dict.fromkeys(names)]


# Filters that the mappings support; any other leaves out servers in unavailable cells.
_KNOWN_WITHOUT_CELL: Final = {"all_tenants", "project_id", "tenant_id", "deleted"}


@dataclasses.dataclass(frozen=True)
class Listed:
    """An instance and its cell (None: not placed yet), or its mapping if that is unavailable.

    Of an instance in a cell a list may have asked for its name only.
    """

    cell: Cell | None
    found: Instance | NamedInstance | InstanceMapping

    @property
    def uuid(self) -> str:
        found = self.found
        return str(found.instance_uuid if isinstance(found, InstanceMapping) else found.uuid)


Page = Sequence[Listed]


class ServerLists:
    """Reads one page from each source, and merges them in order.

    Build requests are read before the cells: one that is placed in between is found again in its
    cell, and none is missed.
    """

    def __init__(
        self, dependencies: Dependencies, gatherer: Gatherer, locator: ServerLocator
    ) -> None:
        self._dependencies = dependencies
        self._gatherer = gatherer
        self._locator = locator

    def page(self, call: Call, wanted: Wanted, *, limit: int) -> Page:
        """Return the wanted instances, in order.

        Those that were withdrawn while they were placed are left out, and others take their place.

        :raises roost.exception.Invalid: when the query's marker is not found
        :raises roost.exception.Unavailable: when a cell is unavailable and may not be skipped
        """
        after, gone = self._after(call, wanted), set[str]()
        while True:
            page = self._read(call, wanted, after, limit + len(gone))
            found = self._withdrawn(page)
            if found <= gone:
                return [listed for listed in page if listed.uuid not in gone][:limit]
            gone |= found

    def _withdrawn(self, page: Page) -> set[str]:
        building = [
            listed.uuid
            for listed in page
            if listed.cell is not None
            and not isinstance(listed.found, InstanceMapping)
            and listed.found.vm_state == states.BUILDING
        ]
        if not building:
            return set()
        return self._dependencies.api_database.query(instance_mappings.withdrawn, building)

    def _read(
        self, call: Call, wanted: Wanted, after: Sequence[Any] | None, limit: int
    ) -> list[Listed]:
        requests = self._dependencies.api_database.query(
            build_requests.list_page, wanted, after=after, limit=limit
        )
        gathered = self._gatherer.from_each(
            self._dependencies.cells.all(),
            lambda cell: cell.database.query(
                instance_lists.list_page, wanted, after=after, limit=limit
            ),
        )
        unreachable = self._unreachable(call, wanted, gathered.unavailable, limit)
        placed = {found.uuid for _, page in gathered.answers for found in page}
        waiting = [found for found in requests if found.uuid not in placed | unreachable.keys()]
        pages: list[list[tuple[Cell | None, ListedInstance]]] = [
            [(None, found) for found in waiting]
        ]
        pages += [[(cell, found) for found in page] for cell, page in gathered.answers]
        pages.append([(None, _as_found(mapping)) for mapping in unreachable.values()])
        merged = heapq.merge(*pages, key=lambda pair: ordering.rank(pair[1].values, wanted.order))
        return [
            Listed(cell, unreachable.get(found.uuid) or found.load())
            for cell, found in itertools.islice(merged, limit)
        ]

    def with_details(
        self, page: Page, *, host_status: bool, asked: bool
    ) -> list[Shown | InstanceMapping]:
        """Add faults, progress, host statuses, and the requested zones and hints."""
        by_cell: dict[Cell, list[Instance]] = {}
        known: dict[str, dict[str, Any]] = {}
        for listed in page:
            if isinstance(listed.found, Instance):
                known[listed.uuid] = {}
                if listed.cell is not None:
                    by_cell.setdefault(listed.cell, []).append(listed.found)
        gathered = self._gatherer.from_each(
            [cell for cell, held in by_cell.items() if host_status or any(map(_has_more, held))],
            lambda cell: self._details(cell, by_cell[cell], host_status=host_status),
        )
        for _, details in gathered.answers:
            known.update(details)
        requested = {}
        if asked and known:
            requested = self._dependencies.api_database.query(build_requests.asked_for, list(known))
        return [
            Shown(instance=found, asked=requested.get(found.uuid), **known[found.uuid])
            if isinstance(found, Instance)
            else found
            for found in (listed.found for listed in page)
            if not isinstance(found, NamedInstance)
        ]

    def with_all_details(
        self, found: ServerRef, *, host_status: bool, asked: bool, groups: bool
    ) -> Shown:
        """Add to one server what lists add, and its groups."""
        instance, cell, known = found.instance, found.cell, {}
        if cell is not None and (host_status or _has_more(instance)):
            with contextlib.suppress(exception.Unavailable):
                known = self._details(cell, [instance], host_status=host_status)[instance.uuid]
        if asked or groups:
            with self._dependencies.api_database.read() as session:
                if asked:
                    requested = build_requests.asked_for(session, [instance.uuid])
                    known["asked"] = requested.get(instance.uuid)
                if groups:
                    known["groups"] = server_groups.list_of_instance(session, instance.uuid)
        return Shown(instance=instance, **known)

    def _unreachable(
        self, call: Call, wanted: Wanted, away: Sequence[Cell], limit: int
    ) -> dict[str, InstanceMapping]:
        """Return the mappings of a list's instances in unavailable cells, by uuid.

        Only the cells can apply other filters, orders and markers to these instances.
        """
        if not away:
            return {}
        plain = _KNOWN_WITHOUT_CELL.issuperset(call.query.values) and wanted.deleted is False
        if not plain or call.version < views.SINCE:
            if self._dependencies.options.skip_cells_away:
                return {}
            raise exception.Unavailable("not all cells can be reached for their servers")
        mappings = self._dependencies.api_database.query(
            instance_mappings.list_in_cells,
            [cell.uuid for cell in away],
            project_ids=wanted.equal.get("project_id"),
            limit=limit,
        )
        return {mapping.instance_uuid: mapping for mapping in mappings}

    def _details(
        self, cell: Cell, held: Sequence[Instance], *, host_status: bool
    ) -> dict[str, dict[str, Any]]:
        failed = [instance.uuid for instance in held if _may_fault(instance)]
        moving = [instance.uuid for instance in held if _is_copied(instance)]
        with cell.database.read() as session:
            why = faults.latest(session, failed)
            copied = migrations.progress(session, moving) if moving else {}
            hosts = {instance.host for instance in held if instance.host} if host_status else ()
            roll = service_rows.call_roll(session, hosts=hosts, binary=COMPUTE) if hosts else None
        status_of = self._host_statuses(cell, roll) if roll else lambda _host: ""
        return {
            instance.uuid: {
                "fault": why.get(instance.uuid),
                "copied": copied.get(instance.uuid, 0),
                "host_status": status_of(instance.host) if instance.host else "",
            }
            for instance in held
        }

    def _host_statuses(self, cell: Cell, roll: service_rows.RollCall) -> Callable[[str], str]:
        """Return a function that gives the status of a host of this cell."""
        group = self._dependencies.service_group
        up = group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
        statuses = {
            service.host: host_status(service, up=service.uuid in up) for service in roll.services
        }
        return lambda host: statuses.get(host, host_status(None, up=False))

    def _after(self, call: Call, wanted: Wanted) -> Sequence[Any] | None:
        marker = call.query.one("marker")
        if not marker:
            return None
        try:
            found = self._locator.find(call, marker, deleted=True)
        except exception.NotFound as error:
            raise exception.Invalid(f"marker [{marker}] not found") from error
        except exception.Unavailable:
            if tuple(wanted.order) != NEWEST_FIRST:
                raise
            mapping, _ = self._locator.find_mapping(call, marker, deleted=True)
            return _as_found(mapping).values
        return values_of(found.instance, wanted.order)


def _as_found(mapping: InstanceMapping) -> ListedInstance:
    """Return an instance in an unavailable cell: only its position in the order is known."""

    def load() -> Instance:
        raise exception.Internal("the instance is in an unavailable cell")

    return ListedInstance(mapping.instance_uuid, [mapping.created_at, mapping.instance_uuid], load)


def _may_fault(instance: Instance) -> bool:
    return instance.vm_state in (states.ERROR, states.DELETED)


def _is_copied(instance: Instance) -> bool:
    """Return whether the disks of a server go to another host now."""
    return instance.task_state == states.RESIZE_FINISH


def _has_more(instance: Instance) -> bool:
    """Return whether other tables have something of a server that is shown."""
    return _may_fault(instance) or _is_copied(instance)
