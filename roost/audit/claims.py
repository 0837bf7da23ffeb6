"""What the schedulers say of claims, and what is wrong with it as it stands."""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from roost.context import RequestContext
from roost.db.spans import Span

RESOURCES: Final = ("vcpus", "pcpus", "memory_mb", "disk_gb", "instances")
GRACE: Final = datetime.timedelta(minutes=1)  # schedulers look for old reservations now and then

Node = tuple[str, str]  # a host and its node
Amounts = tuple[int, ...]  # so much of each of RESOURCES
Claim = Mapping[str, Any]


class Schedulers(Protocol):
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

    def take(self, span: Span) -> list[Claim]:
        """Return the claims of a span; spans must be taken in order."""
        taken = []
        while self._next is not None and span.has(self._next["instance_uuid"]):
            taken.append(self._next)
            self._next = next(self._claims, None)
        return taken


def miscounted(
    schedulers: Schedulers, context: RequestContext
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
