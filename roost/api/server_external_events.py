"""What neighbours tell of servers: their ports and volumes, say. Handed to the servers' hosts.

An event is a hint. It is not kept: a server on no host gets none, and whoever waits for one looks
for itself now and then.
"""

import collections
import dataclasses
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.call import Answer, Call
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.views import server_external_events as views
from roost.cells import Cell
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.objects import ExternalEvent
from roost.objects import external_event as names

LOG = logging.getLogger(__name__)
ACCEPTED: Final = 200
NO_TAG: Final = 400
UNKNOWN: Final = 404
NOT_READY: Final = 422
_PARTLY: Final = 207
_POWER: Final = ("POWER_ON", "POWER_OFF")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a server is; no host: on none, or its cell cannot be reached now."""

    cell: Cell | None = None
    host: str | None = None


class ServerExternalEvents:
    """Handler of ``/os-server-external-events``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._gatherer = Gatherer(parts.executor, timeout=parts.options.cell_timeout)

    def create(self, call: Call) -> Answer:
        """Hand events to hosts, and tell of each whether that was done.

        :raises roost.exception.NotFound: when it was done with none
        """
        events = [_event(asked) for asked in call.body["events"]]
        places = self._places({str(event.instance_uuid) for event in events})
        codes = [_judge(event, places) for event in events]
        codes = _deliver(call, events, codes, places)
        if ACCEPTED not in codes:
            raise exception.NotFound("No instances found for any event")
        told = [_told(event, code) for event, code in zip(events, codes, strict=True)]
        done = all(code == ACCEPTED for code in codes)
        return Answer({"events": told}, status=ACCEPTED if done else _PARTLY)

    def _places(self, uuids: set[str]) -> dict[str, Place]:
        """Return where servers are; who is not named is nowhere."""
        with self._parts.api_database.read() as session:
            cells = instance_mappings.cells_of(session, uuids)
        places = {server: Place() for server, cell_uuid in cells.items() if cell_uuid is None}
        by_cell: dict[str, list[str]] = collections.defaultdict(list)
        for server, cell_uuid in cells.items():
            if cell_uuid is not None:
                by_cell[cell_uuid].append(server)
        asked = [self._parts.cells.get(cell_uuid) for cell_uuid in by_cell]
        found = self._gatherer.from_each(asked, lambda cell: _hosts(cell, by_cell[cell.uuid]))
        for cell in found.away:
            places |= dict.fromkeys(by_cell[cell.uuid], Place())
        for cell, hosts in found.answers:
            places |= {server: Place(cell, host) for server, host in hosts.items()}
        return places


def _hosts(cell: Cell, uuids: Sequence[str]) -> dict[str, str | None]:
    with cell.database.read() as session:
        return instances.hosts_of(session, uuids)


def _event(asked: Mapping[str, Any]) -> ExternalEvent:
    return ExternalEvent.of(
        name=asked["name"],
        instance_uuid=str(uuid.UUID(asked["server_uuid"])),
        status=asked.get("status", names.COMPLETED),
        tag=asked.get("tag"),
    )


def _judge(event: ExternalEvent, places: Mapping[str, Place]) -> int:
    place = places.get(str(event.instance_uuid))
    if place is None:
        return UNKNOWN
    if place.host is None:
        return NOT_READY
    if event.name in (names.VOLUME_EXTENDED, names.VOLUME_REIMAGED) and not event.tag:
        return NO_TAG
    if event.name == names.POWER_UPDATE and event.tag not in _POWER:
        return NO_TAG
    return ACCEPTED


def _deliver(
    call: Call, events: Sequence[ExternalEvent], codes: list[int], places: Mapping[str, Place]
) -> list[int]:
    """Tell each host of its events in one message; return the codes as they are then."""
    by_host: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    for at, event in enumerate(events):
        place = places.get(str(event.instance_uuid), Place())
        if codes[at] == ACCEPTED and place.cell is not None:
            by_host[place.cell.uuid, str(place.host)].append(at)
    for (_, host), all_at in by_host.items():
        cell = places[str(events[all_at[0]].instance_uuid)].cell
        if cell is not None and not _tell(call, cell, host, [events[at] for at in all_at]):
            codes = [NOT_READY if at in all_at else code for at, code in enumerate(codes)]
    return codes


def _tell(call: Call, cell: Cell, host: str, events: Iterable[ExternalEvent]) -> bool:
    try:
        cell.compute.on(host).external_instance_events(call.context, events=list(events))
    except exception.Unavailable as error:
        LOG.warning("host %s was not told of events: %s", host, error)
        return False
    return True


def _told(event: ExternalEvent, code: int) -> dict[str, Any]:
    if code != ACCEPTED:
        event.status = names.FAILED
    return views.told(event, code=code)
