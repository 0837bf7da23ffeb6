"""The states of all parts of a deployment at one time, of all instances or of some.

``collector.py`` fills a ``Snapshot``, ``findings.py`` compares it. Its ``Ledger`` has the
schedulers' data: claims, those that were reserved for too long, and nodes whose usage differs from
the sum of their claims.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from roost.context import RequestContext
from roost.db.spans import UuidRange
from roost.external.neutron_ports import ServerPort
from roost.rpc.scheduler import RESERVATION_LIFETIME
from roost.scheduler.client import SchedulerClient

RESOURCES: Final = ("vcpus", "pcpus", "memory_mb", "disk_gb", "instances")
GRACE: Final = 60  # seconds: schedulers delete old reservations periodically

Node = tuple[str, str]  # a host and its node
Amounts = tuple[int, ...]  # amounts of RESOURCES, in that order
Claim = Mapping[str, Any]


@dataclasses.dataclass
class Ledger:
    """Claims and what follows from them.

    ``hosts`` has the hosts of each instance's claims; ``overdue`` the claims that no host has
    confirmed for too long, with their creation times; ``miscounted`` the nodes whose usage differs
    from the sum of their claims: used, claimed.
    """

    hosts: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    overdue: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    miscounted: dict[Node, tuple[Amounts, Amounts]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, claims: Sequence[Claim]) -> "Ledger":
        hosts: dict[str, list[str]] = {}
        for claim in claims:
            hosts.setdefault(claim["instance_uuid"], []).append(claim["host"])
        return cls(hosts=hosts, overdue=_overdue(claims))


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
        (row["host"], row["node"]): (_amounts(row["used"]), _amounts(row["claimed"]))
        for row in schedulers.list_miscounted(context)
    }


def _amounts(by_name: Mapping[str, int]) -> Amounts:
    return tuple(by_name[name] for name in RESOURCES)


def _overdue(claims: Iterable[Claim]) -> dict[str, datetime.datetime]:
    return {
        claim["instance_uuid"]: datetime.datetime.fromisoformat(claim["created_at"])
        for claim in claims
        if claim["state"] == "reserved" and claim["age"] > RESERVATION_LIFETIME + GRACE
    }


_LONG_AGO: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class MappedInstance(Protocol):
    """The mapping of an instance to its cell; None: not placed yet.

    ``put_away``: it is soft-deleted; ``unsynced``: its cell may not have that state.
    ``turns``: the generation of that state.
    """

    @property
    def cell_uuid(self) -> str | None: ...

    @property
    def queued_for_delete(self) -> bool: ...

    @property
    def put_away(self) -> bool: ...

    @property
    def unsynced(self) -> bool: ...

    @property
    def turns(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class LiveInstance:
    """An instance that is not deleted, by the row of its cell.

    ``turns``: the latest generation of its soft deletes and restores that the cell has.
    ``other_host``: it moves from or to that one, and has a claim and perhaps a guest there, too.
    """

    uuid: str
    cell_uuid: str
    host: str | None
    vm_state: str
    task_state: str | None
    turns: int = 0
    other_host: str | None = None


@dataclasses.dataclass
class Snapshot:
    """The states of all parts.

    ``build_requests`` has their creation times, and ``now`` the time when the API database was
    read, both by the clock of that database; ``guests`` uuids by (cell uuid, host); ``claims``
    hosts by instance (None: no scheduler has answered), and ``ledger`` further data of
    claims. ``outside_ports`` are Neutron's by id, and ``deleted_in_cell`` those of their instances
    that a cell has deleted. ``deleted`` are the instances that their users have deleted, by the API
    database.
    ``unknown_cells`` are cells whose database could not be read, so their instances are unknown.
    """

    instances: list[LiveInstance] = dataclasses.field(default_factory=list)
    mappings: dict[str, MappedInstance] = dataclasses.field(default_factory=dict)
    build_requests: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    now: datetime.datetime = _LONG_AGO
    claims: dict[str, list[str]] | None = None
    ledger: Ledger = dataclasses.field(default_factory=Ledger)
    guests: dict[tuple[str, str], set[str]] = dataclasses.field(default_factory=dict)
    orphaned_ports: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    outside_ports: dict[str, ServerPort] = dataclasses.field(default_factory=dict)
    deleted_in_cell: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)
    quota_used: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    quota_counted: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    unknown_cells: set[str] = dataclasses.field(default_factory=set)
    unchecked: list[str] = dataclasses.field(default_factory=list)
