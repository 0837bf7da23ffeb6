"""External events of servers, of their ports and volumes say: handed to the servers' hosts.

An event is a hint and is not kept: one for a server that is on no host is not delivered, and
whoever waits for an event looks for itself now and then.
"""

import collections
import dataclasses
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.policy import SERVICE, rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import TEXT, UUID, Schema, of
from roost.cells import Cell
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.objects import ExternalEvent, network

CREATE_POLICY = "os_compute_api:os-server-external-events:create"

RULES = [
    rule(
        CREATE_POLICY,
        SERVICE,
        "Tell what happened to servers elsewhere: to their ports and volumes, for instance.",
        "POST /os-server-external-events",
    ),
]


_ALWAYS: Final = (
    network.VIF_PLUGGED,
    network.VIF_UNPLUGGED,
    network.VIF_DELETED,
    network.NETWORK_CHANGED,
)
_SINCE: Final = {
    51: network.VOLUME_EXTENDED,
    76: network.POWER_UPDATE,
    82: network.ACCELERATOR_BOUND,
    93: network.VOLUME_REIMAGED,
}
MOST: Final = 1000  # of one request


def _document(minor: int) -> dict[str, Any]:
    names = [*_ALWAYS, *(name for since, name in _SINCE.items() if since <= minor)]
    statuses = [network.COMPLETED, network.FAILED, network.IN_PROGRESS]
    event = {
        "name": {"type": "string", "enum": names},
        "server_uuid": UUID,
        "status": {"type": "string", "enum": statuses},
        "tag": TEXT,
    }
    listed = of(event, required=["name", "server_uuid"])
    return dict(
        of(
            {"events": {"type": "array", "minItems": 1, "maxItems": MOST, "items": listed}},
            required=["events"],
        )
    )


CREATE: Final = Schema({minor: _document(minor) for minor in (1, *_SINCE)})


def shown_event(event: ExternalEvent, *, code: int) -> dict[str, Any]:
    """Return an event as it was sent, and whether somebody takes care of it."""
    shown = {
        "name": event.name,
        "server_uuid": event.instance_uuid,
        "status": event.status,
        "code": code,
    }
    return shown if event.tag is None else {**shown, "tag": event.tag}


LOG = logging.getLogger(__name__)
ACCEPTED: Final = 200
NO_TAG: Final = 400
UNKNOWN: Final = 404
NOT_READY: Final = 422
_PARTLY: Final = 207
_POWER: Final = ("POWER_ON", "POWER_OFF")


@dataclasses.dataclass(frozen=True)
class ServerLocation:
    """Where a server is; no host: on none, or its cell cannot be reached now."""

    cell: Cell | None = None
    host: str | None = None


class ServerExternalEvents:
    """Handler of ``/os-server-external-events``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)

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
        told = [_result_of(event, code) for event, code in zip(events, codes, strict=True)]
        done = all(code == ACCEPTED for code in codes)
        return Answer({"events": told}, status=ACCEPTED if done else _PARTLY)

    def _places(self, uuids: set[str]) -> dict[str, ServerLocation]:
        """Return where servers are; who is not named is nowhere."""
        with self._dependencies.api_database.read() as session:
            cells = instance_mappings.cells_of(session, uuids)
        places = {
            server: ServerLocation() for server, cell_uuid in cells.items() if cell_uuid is None
        }
        by_cell: dict[str, list[str]] = collections.defaultdict(list)
        for server, cell_uuid in cells.items():
            if cell_uuid is not None:
                by_cell[cell_uuid].append(server)
        asked = [self._dependencies.cells.get(cell_uuid) for cell_uuid in by_cell]
        found = self._gatherer.from_each(asked, lambda cell: _hosts(cell, by_cell[cell.uuid]))
        for cell in found.away:
            places |= dict.fromkeys(by_cell[cell.uuid], ServerLocation())
        for cell, hosts in found.answers:
            places |= {server: ServerLocation(cell, host) for server, host in hosts.items()}
        return places


def _hosts(cell: Cell, uuids: Sequence[str]) -> dict[str, str | None]:
    with cell.database.read() as session:
        return instances.hosts_of(session, uuids)


def _event(asked: Mapping[str, Any]) -> ExternalEvent:
    return ExternalEvent.of(
        name=asked["name"],
        instance_uuid=str(uuid.UUID(asked["server_uuid"])),
        status=asked.get("status", network.COMPLETED),
        tag=asked.get("tag"),
    )


def _judge(event: ExternalEvent, places: Mapping[str, ServerLocation]) -> int:
    place = places.get(str(event.instance_uuid))
    if place is None:
        return UNKNOWN
    if place.host is None:
        return NOT_READY
    if event.name in (network.VOLUME_EXTENDED, network.VOLUME_REIMAGED) and not event.tag:
        return NO_TAG
    if event.name == network.POWER_UPDATE and event.tag not in _POWER:
        return NO_TAG
    return ACCEPTED


def _deliver(
    call: Call,
    events: Sequence[ExternalEvent],
    codes: list[int],
    places: Mapping[str, ServerLocation],
) -> list[int]:
    """Tell each host of its events in one message; return the codes as they are then."""
    by_host: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    for at, event in enumerate(events):
        place = places.get(str(event.instance_uuid), ServerLocation())
        if codes[at] == ACCEPTED and place.cell is not None:
            by_host[place.cell.uuid, str(place.host)].append(at)
    for (_, host), all_at in by_host.items():
        cell = places[str(events[all_at[0]].instance_uuid)].cell
        if cell is not None and not _cast_events(call, cell, host, [events[at] for at in all_at]):
            codes = [NOT_READY if at in all_at else code for at, code in enumerate(codes)]
    return codes


def _cast_events(call: Call, cell: Cell, host: str, events: Iterable[ExternalEvent]) -> bool:
    try:
        cell.compute.on(host).external_instance_events(call.context, events=list(events))
    except exception.Unavailable as error:
        LOG.warning("host %s was not told of events: %s", host, error)
        return False
    return True


def _result_of(event: ExternalEvent, code: int) -> dict[str, Any]:
    if code != ACCEPTED:
        event.status = network.FAILED
    return shown_event(event, code=code)


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "POST /v2.1/os-server-external-events",
        (ServerExternalEvents, ServerExternalEvents.create),
        CREATE_POLICY,
        body=CREATE,
        also=207,
    ),
)
