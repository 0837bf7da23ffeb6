"""What all parts of a deployment say at one moment, of all instances or of some.

``Snapshot`` is what ``findings.py`` compares and ``collector.py`` fills. A ``Ledger`` in it is what
the schedulers say: claims, those that were reserved for too long, and nodes that count other
amounts as in use than their claims hold.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from roost.context import RequestContext
from roost.db.spans import UuidRange
from roost.external.neutron_ports import ServerPort

RESOURCES: Final = ("vcpus", "pcpus", "memory_mb", "disk_gb", "instances")
GRACE: Final = datetime.timedelta(minutes=1)  # schedulers look for old reservations now and then

Node = tuple[str, str]  # a host and its node
Amounts = tuple[int, ...]  # so much of each of RESOURCES
Claim = Mapping[str, Any]


class ClaimLister(Protocol):
    """What an audit needs of the schedulers' client."""

    def check(self, context: RequestContext) -> None: ...

    def all_claims(
        self, context: RequestContext, *, host: str | None = None
    ) -> Iterator[dict[str, Any]]: ...

    def list_claims(
        self, context: RequestContext, *, instance_uuids: list[str]
    ) -> list[dict[str, Any]]: ...

    def list_miscounted(self, context: RequestContext) -> list[dict[str, Any]]: ...


@dataclasses.dataclass
class Ledger:
    """Claims and what is made of them.

    ``hosts`` has the host of each instance's claim; ``overdue`` those claims that no host has
    confirmed for too long, with their time; ``miscounted`` the nodes of which another amount is in
    use than their claims hold: used, claimed.
    """

    hosts: dict[str, str] = dataclasses.field(default_factory=dict)
    overdue: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    miscounted: dict[Node, tuple[Amounts, Amounts]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, claims: Sequence[Claim], *, lifetime: datetime.timedelta | None = None) -> "Ledger":
        """Return what claims say.

        :param lifetime: claims that are still reserved must be younger; None: not looked at
        """
        return cls(
            hosts={claim["instance_uuid"]: claim["host"] for claim in claims},
            overdue=_overdue(claims, lifetime) if lifetime else {},
        )


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
    schedulers: ClaimLister, context: RequestContext
) -> dict[Node, tuple[Amounts, Amounts]]:
    """Return the nodes that do not count as in use what their claims hold: used, claimed."""
    return {
        (row["host"], row["node"]): (_amounts(row["used"]), _amounts(row["claimed"]))
        for row in schedulers.list_miscounted(context)
    }


def _amounts(by_name: Mapping[str, int]) -> Amounts:
    return tuple(by_name[name] for name in RESOURCES)


def _overdue(claims: Iterable[Claim], lifetime: datetime.timedelta) -> dict[str, datetime.datetime]:
    longest = (lifetime + GRACE).total_seconds()
    return {
        claim["instance_uuid"]: datetime.datetime.fromisoformat(claim["created_at"])
        for claim in claims
        if claim["state"] == "reserved" and claim["age"] > longest
    }


_LONG_AGO: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class MappedInstance(Protocol):
    """Where an instance is said to be; None: nowhere yet.

    ``put_away``: its user has deleted it and can restore it; ``unheard``: its cell may not know.
    ``turns``: how often that has changed.
    """

    @property
    def cell_uuid(self) -> str | None: ...

    @property
    def queued_for_delete(self) -> bool: ...

    @property
    def put_away(self) -> bool: ...

    @property
    def unheard(self) -> bool: ...

    @property
    def turns(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class LiveInstance:
    """An instance that is not buried, as its cell knows it.

    ``turns``: the latest of which it has heard, of those in which it is put away and restored.
    """

    uuid: str
    cell_uuid: str
    host: str | None
    vm_state: str
    task_state: str | None
    turns: int = 0


@dataclasses.dataclass
class Snapshot:
    """What everybody says.

    ``wishes`` are build requests, with the time they were made, and ``now`` is when the API
    database was read, by the same clock, its own; ``guests`` uuids by (cell uuid, host); ``claims``
    hosts by instance (None: the schedulers could not be asked), and ``ledger`` what else they say
    of claims. ``outside_ports`` are Neutron's by id, and ``buried`` those of their instances that a
    cell knows to be no more. ``deleted`` are those of the instances that their users have deleted,
    by the API database, and ``held`` says of instances whose tasks wait for an operator, how. Of
    ``unknown_cells`` the database could not be read, so that nothing can be said about them.
    """

    instances: list[LiveInstance] = dataclasses.field(default_factory=list)
    mappings: dict[str, MappedInstance] = dataclasses.field(default_factory=dict)
    wishes: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    now: datetime.datetime = _LONG_AGO
    claims: dict[str, str] | None = None
    ledger: Ledger = dataclasses.field(default_factory=Ledger)
    guests: dict[tuple[str, str], set[str]] = dataclasses.field(default_factory=dict)
    orphaned_ports: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    outside_ports: dict[str, ServerPort] = dataclasses.field(default_factory=dict)
    buried: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)
    held: dict[str, str] = dataclasses.field(default_factory=dict)
    quota_used: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    quota_counted: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    unknown_cells: set[str] = dataclasses.field(default_factory=set)
    unchecked: list[str] = dataclasses.field(default_factory=list)
