"""Pages of servers, merged over all cells and the wishes not yet placed."""

import dataclasses
import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from roost import exception, states
from roost.api.call import Call
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.views import unreachable as unreachable_views
from roost.api.views.servers import Shown
from roost.api.views.services import COMPUTE, host_status
from roost.api.whereabouts import Whereabouts
from roost.cells import Cell
from roost.db import ordering
from roost.db.api import build_request_lists, instance_mappings
from roost.db.cell import faults, instance_lists
from roost.db.cell import services as service_rows
from roost.db.instance_query import NEWEST_FIRST, Found, Wanted, values_of
from roost.objects import Instance, InstanceMapping

# Filters that the mappings can answer; any other leaves out what is in cells that are away.
_KNOWN_WITHOUT_CELL: Final = {"all_tenants", "project_id", "tenant_id", "deleted"}


@dataclasses.dataclass(frozen=True)
class Listed:
    """An instance and its cell (None: not placed yet), or the mapping of one whose cell is away."""

    cell: Cell | None
    found: Instance | InstanceMapping

    @property
    def uuid(self) -> str:
        found = self.found
        return str(found.instance_uuid if isinstance(found, InstanceMapping) else found.uuid)


Page = Sequence[Listed]


class ServerLists:
    """Reads one page from each source, and merges them in order.

    Wishes are read before the cells: one that is placed in between is met again in its cell, and
    none is missed.
    """

    def __init__(self, parts: Parts, gatherer: Gatherer, whereabouts: Whereabouts) -> None:
        self._parts = parts
        self._gatherer = gatherer
        self._whereabouts = whereabouts

    def page(self, call: Call, wanted: Wanted, *, limit: int) -> Page:
        """Return the wanted instances, in order.

        :raises roost.exception.Invalid: when there is no server as the query's marker says
        :raises roost.exception.Unavailable: when some may be missing, and the options forbid that
        """
        after = self._after(call, wanted)
        with self._parts.api_database.read() as session:
            wishes = build_request_lists.list_page(session, wanted, after=after, limit=limit)
        gathered = self._gatherer.from_each(
            self._parts.cells.all(), lambda cell: _from_cell(cell, wanted, after, limit)
        )
        unreachable = self._unreachable(call, wanted, gathered.away, limit)
        placed = {found.uuid for _, page in gathered.answers for found in page}
        waiting = [found for found in wishes if found.uuid not in placed | unreachable.keys()]
        pages: list[list[tuple[Cell | None, Found]]] = [[(None, found) for found in waiting]]
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
        """Add what is known elsewhere: faults, the state of hosts, the zones asked for."""
        by_cell: dict[Cell, list[Instance]] = {}
        known: dict[str, dict[str, Any]] = {}
        for listed in page:
            if isinstance(listed.found, Instance):
                known[listed.uuid] = {}
                if listed.cell is not None:
                    by_cell.setdefault(listed.cell, []).append(listed.found)
        gathered = self._gatherer.from_each(
            [cell for cell, held in by_cell.items() if host_status or any(map(_may_fault, held))],
            lambda cell: self._details(cell, by_cell[cell], host_status=host_status),
        )
        for _, details in gathered.answers:
            known.update(details)
        told = self._asked(known) if asked and known else {}
        return [
            Shown(instance=found, asked=told.get(found.uuid), **known[found.uuid])
            if isinstance(found, Instance)
            else found
            for found in (listed.found for listed in page)
        ]

    def _unreachable(
        self, call: Call, wanted: Wanted, away: Sequence[Cell], limit: int
    ) -> dict[str, InstanceMapping]:
        """Return what cells that are away have of a list, by uuid, as far as that can be told.

        Which of their instances pass filters, and where in an order or after a marker they belong,
        only the cells know.
        """
        if not away:
            return {}
        plain = _KNOWN_WITHOUT_CELL.issuperset(call.query.values) and wanted.deleted is False
        if not plain or call.version < unreachable_views.SINCE:
            if self._parts.options.skip_cells_away:
                return {}
            raise exception.Unavailable("not all cells tell which servers they have")
        with self._parts.api_database.read() as session:
            mappings = instance_mappings.list_in_cells(
                session,
                [cell.uuid for cell in away],
                project_ids=wanted.equal.get("project_id"),
                limit=limit,
            )
        return {mapping.instance_uuid: mapping for mapping in mappings}

    def _details(
        self, cell: Cell, held: Sequence[Instance], *, host_status: bool
    ) -> dict[str, dict[str, Any]]:
        failed = [instance.uuid for instance in held if _may_fault(instance)]
        with cell.database.read() as session:
            why = faults.latest(session, failed)
            hosts = {instance.host for instance in held if instance.host} if host_status else ()
            roll = service_rows.call_roll(session, hosts=hosts, binary=COMPUTE) if hosts else None
        status_of = self._host_statuses(cell, roll) if roll else lambda _host: ""
        return {
            instance.uuid: {
                "fault": why.get(instance.uuid),
                "host_status": status_of(instance.host) if instance.host else "",
            }
            for instance in held
        }

    def _host_statuses(self, cell: Cell, roll: service_rows.RollCall) -> Callable[[str], str]:
        """Return what tells the status of a host of this cell."""
        group = self._parts.service_group
        up = group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
        statuses = {
            service.host: host_status(service, up=service.uuid in up) for service in roll.services
        }
        return lambda host: statuses.get(host, host_status(None, up=False))

    def _asked(self, uuids: dict[str, Any]) -> dict[str, build_request_lists.Asked]:
        with self._parts.api_database.read() as session:
            return build_request_lists.asked_for(session, list(uuids))

    def _after(self, call: Call, wanted: Wanted) -> Sequence[Any] | None:
        marker = call.query.one("marker")
        if not marker:
            return None
        try:
            found = self._whereabouts.find(call, marker, deleted=True)
        except exception.NotFound as error:
            raise exception.Invalid(f"marker [{marker}] not found") from error
        except exception.Unavailable:
            if tuple(wanted.order) != NEWEST_FIRST:
                raise
            mapping, _ = self._whereabouts.find_mapping(call, marker, deleted=True)
            return _as_found(mapping).values
        return values_of(found.instance, wanted.order)


def _as_found(mapping: InstanceMapping) -> Found:
    """Return the place of an instance among the newest; all else of it is out of reach."""

    def load() -> Instance:
        raise exception.Internal("an instance in a cell that is away")

    return Found(mapping.instance_uuid, [mapping.created_at, mapping.instance_uuid], load)


def _from_cell(cell: Cell, wanted: Wanted, after: Sequence[Any] | None, limit: int) -> list[Found]:
    with cell.database.read() as session:
        return instance_lists.list_page(session, wanted, after=after, limit=limit)


def _may_fault(instance: Instance) -> bool:
    return instance.vm_state in (states.ERROR, states.DELETED)
