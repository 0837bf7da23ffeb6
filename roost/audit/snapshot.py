"""The states of all parts of a deployment at one time, of all instances or of some.

``collector.py`` fills a ``Snapshot``, ``findings.py`` compares it.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from roost.context import RequestContext
from roost.db.api.audits import MappingRow
from roost.db.spans import UuidRange
from roost.external.neutron_ports import ServerPort
from roost.rpc.scheduler import RESERVATION_LIFETIME
from roost.scheduler.client import SchedulerClient

GRACE: Final = 60  # seconds: schedulers delete old reservations periodically

Node = tuple[str, str]  # a host and its node
Amounts = Mapping[str, int]  # by resource
Claim = Mapping[str, Any]


class Stream:
    """Claims in order of instance uuid, taken a span of uuids at a time."""

    def __init__(self, claims: Iterator[Claim]) -> None:
        self._claims = claims
        self._next = next(claims, None)

    def take(self, span: UuidRange) -> list[Claim]:
        """Return the claims of a span; spans must be taken in order."""
        taken = []
        while self._next is not None and span.has(self._next["instance_uuid"]):
            taken.append(self._next)
            self._next = next(self._claims, None)
        return taken


def miscounted(
    schedulers: SchedulerClient, context: RequestContext
) -> dict[Node, tuple[Amounts, Amounts]]:
    """Return the nodes whose usage differs from the sum of their claims: used, claimed."""
    return {
        (row["host"], row["node"]): (row["used"], row["claimed"])
        for row in schedulers.list_miscounted(context)
    }


_LONG_AGO: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True)
class LiveInstance:
    """An instance that is not deleted, by the row of its cell.

    ``other_host``: it moves from or to that one, and has a claim and perhaps a guest there, too.
    """

    uuid: str
    cell_uuid: str
    host: str | None
    vm_state: str
    task_state: str | None
    other_host: str | None = None


@dataclasses.dataclass
class Snapshot:
    """The states of all parts.

    ``build_requests`` has their creation times, and ``now`` the time when the API database was
    read, both by the clock of that database; ``guests`` uuids by (cell uuid, host); ``claims``
    hosts by instance (None: no scheduler has answered); ``overdue`` the claims that no host has
    confirmed for too long, with their creation times; ``miscounted`` the nodes whose usage differs
    from the sum of their claims: used, claimed. ``outside_ports`` are Neutron's by id, and
    ``deleted_in_cell`` those of their instances that a cell has deleted. ``deleted`` are the
    instances that their users have deleted, by the API database.
    ``unknown_cells`` are cells whose database could not be read, so their instances are unknown.
    """

    instances: list[LiveInstance] = dataclasses.field(default_factory=list)
    mappings: dict[str, MappingRow] = dataclasses.field(default_factory=dict)
    build_requests: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    now: datetime.datetime = _LONG_AGO
    claims: dict[str, list[str]] | None = None
    overdue: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    miscounted: dict[Node, tuple[Amounts, Amounts]] = dataclasses.field(default_factory=dict)
    guests: dict[tuple[str, str], set[str]] = dataclasses.field(default_factory=dict)
    orphaned_ports: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    outside_ports: dict[str, ServerPort] = dataclasses.field(default_factory=dict)
    deleted_in_cell: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)
    quota_used: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    quota_counted: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    unknown_cells: set[str] = dataclasses.field(default_factory=set)
    unchecked: list[str] = dataclasses.field(default_factory=list)

    def note_claims(self, claims: Iterable[Claim]) -> None:
        """Set the hosts of claims, and those that are overdue."""
        self.claims = {}
        for claim in claims:
            uuid = claim["instance_uuid"]
            self.claims.setdefault(uuid, []).append(claim["host"])
            if claim["state"] == "reserved" and claim["age"] > RESERVATION_LIFETIME + GRACE:
                self.overdue[uuid] = datetime.datetime.fromisoformat(claim["created_at"])
