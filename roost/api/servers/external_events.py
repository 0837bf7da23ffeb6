"""External events of servers, such as of their ports and volumes: sent to the servers' hosts.

An event is a hint and is not stored: one for a server that is on no host is not delivered, and the
hosts that wait for an event also poll.
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
from roost.api.policy import SERVICE, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import TEXT, UUID, Schema, of
from roost.cells import Cell
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.objects import ExternalEvent, network

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
MOST: Final = 1000  # in one request


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
    """Return an event as it was sent, with the code of its delivery."""
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
    """The cell and host of a server; no host: it has none, or its cell is unreachable."""

    cell: Cell | None = None
    host: str | None = None


class ServerExternalEvents:
    """Handler of ``/os-server-external-events``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)

    def create(self, call: Call) -> Answer:
        """Send events to the hosts, and return the code of each.

        :raises roost.exception.NotFound: when no event was delivered
        """
        events = [_event(asked) for asked in call.body["events"]]
        locations = self._find_all({str(event.instance_uuid) for event in events})
        codes = [_judge(event, locations) for event in events]
        codes = _deliver(call, events, codes, locations)
        if ACCEPTED not in codes:
            raise exception.NotFound("No instances found for any event")
        shown = [_result_of(event, code) for event, code in zip(events, codes, strict=True)]
        done = all(code == ACCEPTED for code in codes)
        return Answer({"events": shown}, status=ACCEPTED if done else _PARTLY)

    def _find_all(self, uuids: set[str]) -> dict[str, ServerLocation]:
        """Return the locations of servers, without those that do not exist."""
        cells = self._dependencies.api_database.query(instance_mappings.cells_of, uuids)
        locations = {
            server: ServerLocation() for server, cell_uuid in cells.items() if cell_uuid is None
        }
        by_cell: dict[str, list[str]] = collections.defaultdict(list)
        for server, cell_uuid in cells.items():
            if cell_uuid is not None:
                by_cell[cell_uuid].append(server)
        asked = [self._dependencies.cells.get(cell_uuid) for cell_uuid in by_cell]
        found = self._gatherer.from_each(
            asked, lambda cell: cell.database.query(instances.hosts_of, by_cell[cell.uuid])
        )
        for cell in found.unavailable:
            locations |= dict.fromkeys(by_cell[cell.uuid], ServerLocation())
        for cell, hosts in found.answers:
            locations |= {server: ServerLocation(cell, host) for server, host in hosts.items()}
        return locations


def _event(asked: Mapping[str, Any]) -> ExternalEvent:
    return ExternalEvent.of(
        name=asked["name"],
        instance_uuid=str(uuid.UUID(asked["server_uuid"])),
        status=asked.get("status", network.COMPLETED),
        tag=asked.get("tag"),
    )


def _judge(event: ExternalEvent, locations: Mapping[str, ServerLocation]) -> int:
    location = locations.get(str(event.instance_uuid))
    if location is None:
        return UNKNOWN
    if location.host is None:
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
    locations: Mapping[str, ServerLocation],
) -> list[int]:
    """Send each host its events in one message; return the updated codes."""
    by_host: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    for at, event in enumerate(events):
        location = locations.get(str(event.instance_uuid), ServerLocation())
        if codes[at] == ACCEPTED and location.cell is not None:
            by_host[location.cell.uuid, str(location.host)].append(at)
    for (_, host), all_at in by_host.items():
        cell = locations[str(events[all_at[0]].instance_uuid)].cell
        if cell is not None and not _cast_events(call, cell, host, [events[at] for at in all_at]):
            codes = [NOT_READY if at in all_at else code for at, code in enumerate(codes)]
    return codes


def _cast_events(call: Call, cell: Cell, host: str, events: Iterable[ExternalEvent]) -> bool:
    try:
        cell.compute.on(host).external_instance_events(call.context, events=list(events))
    except exception.Unavailable as error:
        LOG.warning("events were not sent to host %s: %s", host, error)
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
        Rule(
            "os_compute_api:os-server-external-events:create",
            SERVICE,
            "Send external events of servers: of their ports and volumes, for instance.",
        ),
        body=CREATE,
        also=207,
    ),
)
