"""Pages of servers, merged over all cells and the wishes not yet placed."""

import heapq
import itertools
from collections.abc import Sequence
from typing import Any

from roost import exception, states
from roost.api.call import Call
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.views.servers import Shown
from roost.api.views.services import host_status
from roost.api.whereabouts import Whereabouts
from roost.cells import Cell
from roost.db import ordering
from roost.db.api import build_request_lists
from roost.db.cell import faults, instance_lists
from roost.db.cell import services as service_rows
from roost.db.instance_query import Found, Wanted, values_of
from roost.objects import Instance, Service

Page = Sequence[tuple[Cell | None, Instance]]


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
        """Return the wanted instances with their cells (None: not placed yet), in order.

        :raises roost.exception.Invalid: when there is no server as the query's marker says
        """
        after = self._after(call, wanted)
        with self._parts.api_database.read() as session:
            wishes = build_request_lists.list_page(session, wanted, after=after, limit=limit)
        sources = self._gatherer.from_each(
            self._parts.cells.all(), lambda cell: _from_cell(cell, wanted, after, limit)
        )
        placed = {found.uuid for _, page in sources for found in page}
        waiting = [found for found in wishes if found.uuid not in placed]
        pages: list[list[tuple[Cell | None, Found]]] = [[(None, found) for found in waiting]]
        pages += [[(cell, found) for found in page] for cell, page in sources]
        merged = heapq.merge(*pages, key=lambda pair: ordering.rank(pair[1].values, wanted.order))
        return [(cell, found.load()) for cell, found in itertools.islice(merged, limit)]

    def with_details(self, page: Page, *, host_status: bool, pinned_zones: bool) -> list[Shown]:
        """Add what is known elsewhere: faults, the state of hosts, the zones asked for."""
        by_cell: dict[Cell, list[Instance]] = {}
        for cell, instance in page:
            if cell is not None:
                by_cell.setdefault(cell, []).append(instance)
        known: dict[str, dict[str, Any]] = {instance.uuid: {} for _, instance in page}
        answers = self._gatherer.from_each(
            [cell for cell, held in by_cell.items() if host_status or any(map(_may_fault, held))],
            lambda cell: self._details(cell, by_cell[cell], host_status=host_status),
        )
        for _, details in answers:
            known.update(details)
        zones = self._pinned_zones(known) if pinned_zones and known else {}
        return [
            Shown(instance=instance, pinned_zone=zones.get(instance.uuid), **known[instance.uuid])
            for _, instance in page
        ]

    def _details(
        self, cell: Cell, held: Sequence[Instance], *, host_status: bool
    ) -> dict[str, dict[str, Any]]:
        failed = [instance.uuid for instance in held if _may_fault(instance)]
        serving: dict[str, Service] = {}
        with cell.database.read() as session:
            why = faults.latest(session, failed)
            if host_status:
                found = service_rows.list_services(session, binary="roost-compute")
                serving = {service.host: service for service in found}
        return {
            instance.uuid: {
                "fault": why.get(instance.uuid),
                "host_status": self._host_status(instance, serving) if host_status else "",
            }
            for instance in held
        }

    def _host_status(self, instance: Instance, serving: dict[str, Service]) -> str:
        if instance.host is None:
            return ""
        return host_status(
            serving.get(instance.host),
            now=self._parts.now(),
            down_time=self._parts.options.service_down_time,
        )

    def _pinned_zones(self, uuids: dict[str, Any]) -> dict[str, str | None]:
        with self._parts.api_database.read() as session:
            return build_request_lists.zones_asked_for(session, list(uuids))

    def _after(self, call: Call, wanted: Wanted) -> Sequence[Any] | None:
        marker = call.query.one("marker")
        if not marker:
            return None
        try:
            found = self._whereabouts.find(call, marker, deleted=True)
        except exception.NotFound as error:
            raise exception.Invalid(f"marker [{marker}] not found") from error
        return values_of(found.instance, wanted.order)


def _from_cell(cell: Cell, wanted: Wanted, after: Sequence[Any] | None, limit: int) -> list[Found]:
    with cell.database.read() as session:
        return instance_lists.list_page(session, wanted, after=after, limit=limit)


def _may_fault(instance: Instance) -> bool:
    return instance.vm_state in (states.ERROR, states.DELETED)
