"""Requests that change claims: each decides in memory, and one transaction writes many of them."""

import dataclasses
import logging
from collections.abc import Mapping, Sequence

from roost import exception
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler.claims import ATTESTED, CONFIRMED, MOST, RESERVED, Claim
from roost.objects import ResourceRequest, Selection
from roost.objects.allocations import Allocations, of_host, plus, total
from roost.objects.inventory import handed_out
from roost.scheduler import engine, explain
from roost.scheduler.claim_transaction import (
    ClaimChange,
    ClaimTransaction,
    StaleRead,
    selection,
)
from roost.scheduler.columns import HostView
from roost.scheduler.engine import Placement
from roost.scheduler.request import Request, hinted_instances, rules_out
from roost.scheduler.topology import HeldTopology

LOG = logging.getLogger(__name__)


class ClaimRequest:
    """One caller's request. ``done`` is set when it is finished, ``error`` when it failed.

    :param cell_uuid: the cell to which the caller is confined; None: any
    """

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        spec: ResourceRequest | None = None,
        cell_uuid: str | None = None,
    ) -> None:
        self.instance_uuids = tuple(dict.fromkeys(instance_uuids))
        self.spec = spec
        self._cell_uuid = cell_uuid
        self.change = ClaimChange()
        self.tries = 0
        self.done = False
        self.error: Exception | None = None

    def sees(self) -> list[str]:
        """Return the instances whose claims it must see."""
        return [*self.instance_uuids, *(hinted_instances(self.spec) if self.spec else ())]

    def check_cell(self, transaction: ClaimTransaction) -> None:
        """Make sure that a caller confined to a cell changes no claim in another.

        :raises StaleRead: when only fresh data can show it
        :raises roost.exception.Forbidden: when a claim is in another cell
        """
        if self._cell_uuid is None:
            return
        for uuid in self.instance_uuids:
            for claim in transaction.held(uuid):
                self._check_row(transaction, transaction.table.row(claim.host_id), uuid)

    def _check_row(self, transaction: ClaimTransaction, row: int | None, what: str) -> None:
        if self._cell_uuid is None:
            return
        if row is None and not transaction.fresh:
            raise StaleRead("a claim is on a host not seen yet")
        if row is None or transaction.hosts.one(row).cell_uuid != self._cell_uuid:
            raise exception.Forbidden(f"{what} is in another cell than {self._cell_uuid}")

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        """Decide what changes; resources of chosen hosts are taken in memory.

        :raises StaleRead: when it may succeed with fresh data
        :raises roost.exception.RoostError: when it fails
        """
        raise NotImplementedError

    def committed(self, transaction: ClaimTransaction) -> None:
        """Set the result after the commit."""


class Select(ClaimRequest):
    """A host for each instance, all or none; ``answer`` has them.

    :param beside: a host on which the only instance keeps its claim; the new one is on another
        host, or it is the same one, grown to what the instance needs before and afterwards
    """

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        spec: ResourceRequest,
        alternates: int,
        beside: str | None = None,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__(instance_uuids, spec=spec, cell_uuid=cell_uuid)
        self.asked = tuple(instance_uuids)
        self._spec = spec
        self._alternates = alternates
        self._beside = beside
        self._kept: dict[str, int] = {}
        self._others: Mapping[str, Sequence[int]] = {}
        self.answer: list[list[Selection]] = []

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        if self._beside is None:
            return self._decide(transaction, self._spec)
        (uuid,) = self.instance_uuids
        own = [one for one in transaction.held(uuid) if transaction.is_on(one, self._beside)]
        if not own:
            raise exception.Conflict(f"{uuid} holds no claim on {self._beside}")
        claim = _attested(transaction, own[0])
        if not _is_plain(claim) or Request.of(self._spec).is_detailed:
            return self._decide(transaction, _elsewhere(self._spec, self._beside))
        # What the instance has on its host is free for itself while the hosts are compared.
        transaction.in_memory(claim, -1)
        try:
            change = self._decide(transaction, self._spec)
        finally:
            transaction.in_memory(claim, 1)
        place = change.gained.get(uuid)
        if place is None or place.row != transaction.row_of(claim):
            return change
        if change.request is not None:
            engine.undo(change.request, transaction.hosts, [place])
        return self._grown(claim, place.row)

    def committed(self, transaction: ClaimTransaction) -> None:
        found = {uuid: self._selections(transaction, uuid) for uuid in self.instance_uuids}
        self.answer = [found[uuid] for uuid in self.asked]

    def _decide(self, transaction: ClaimTransaction, spec: ResourceRequest) -> ClaimChange:
        self._kept = self._find_kept(transaction)
        uuids = self.instance_uuids
        placed = [self._kept.get(uuid) for uuid in uuids]
        request = transaction.request(spec, uuids, placed=placed, alternates=self._alternates)
        decision = transaction.driver.decide(request, transaction.hosts)
        if len(decision.chosen) < len(uuids):
            if not transaction.fresh:
                raise StaleRead("other schedulers may have released claims")
            raise explain.no_valid_host(request, decision, hosts=transaction.hosts)
        self._others = dict(zip(uuids, decision.alternates, strict=True))
        chosen = dict(zip(uuids, decision.chosen, strict=True))
        gained = {uuid: place for uuid, place in chosen.items() if uuid not in self._kept}
        lost = [
            claim
            for uuid in gained
            for claim in transaction.held(uuid)
            if self._beside is None or not transaction.is_on(claim, self._beside)
        ]
        return ClaimChange(request, gained, lost=lost)

    def _grown(self, own: Claim, row: int) -> ClaimChange:
        """Return the change by which the instance's claim grows, as its own host was chosen."""
        self._kept = {own.instance_uuid: row}
        has, asked = total(own.allocations.values()), Request.of(self._spec).total
        both = {name: max(has.get(name, 0), asked.get(name, 0)) for name in {**has, **asked}}
        if both == has:
            return ClaimChange()
        grown = dataclasses.replace(own, allocations=of_host(both))
        return ClaimChange(given=[grown], lost=[own], redoable=False)

    def _find_kept(self, transaction: ClaimTransaction) -> dict[str, int]:
        """Return the rows of hosts on which instances hold claims that they keep."""
        kept = {}
        for uuid in self.instance_uuids:
            for claim in transaction.held(uuid):
                row = transaction.row_of(claim)
                if row is not None and self._keeps(claim, transaction.hosts.one(row)):
                    kept[uuid] = row
        return kept

    def _keeps(self, claim: Claim, one: HostView) -> bool:
        """Return whether an instance keeps a claim; one that moves, only what it asks for now."""
        if rules_out(self._spec, host=one.host, node=one.node):
            return False
        if self._beside is None:
            return True
        is_asked = self._spec.requested_host in (None, one.host)
        return (
            one.host != self._beside
            and is_asked
            and total(claim.allocations.values()) == Request.of(self._spec).total
        )

    def _selections(self, transaction: ClaimTransaction, uuid: str) -> list[Selection]:
        place = self.change.gained.get(uuid) or _held_place(transaction, uuid, self._kept)
        others = [selection(transaction.hosts, row) for row in self._others[uuid]]
        return [selection(transaction.hosts, place.row, claimed=place), *others]


class Move(ClaimRequest):
    """A claim on ``to``; ``answer`` has it.

    No other claim is deleted than that on ``leaving``, and that only when the one on ``to`` is made
    now: else this message may be an old one, and the instance have moved meanwhile.

    :param leaving: the host that the instance leaves, if any
    :param arrived: the instance is on ``to``: its claim there is confirmed
    """

    def __init__(
        self,
        instance_uuid: str,
        *,
        spec: ResourceRequest,
        to: Selection,
        leaving: str | None = None,
        arrived: bool = False,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__([instance_uuid], spec=spec, cell_uuid=cell_uuid)
        self._spec = spec
        self._to = to
        self._leaving = leaving
        self._arrived = arrived
        self._kept: dict[str, int] = {}
        self.answer = to

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        (uuid,) = self.instance_uuids
        row = transaction.table.row_of(self._to.host, self._to.node)
        if row is None:
            raise self._no(transaction, "the host is not known")
        self._check_row(transaction, row, self._to.host)
        self._kept, lost = {}, []
        for claim in transaction.held(uuid):
            if claim.host_id == transaction.hosts.ids[row]:
                self._kept = {uuid: row}
                if self._arrived:
                    _attested(transaction, claim)
            elif self._leaving is not None and transaction.is_on(claim, self._leaving):
                lost.append(claim)
        if self._kept:
            return self._kept_claim(transaction)
        transaction.free_number(uuid, lost)
        request = transaction.request(self._spec, [uuid], placed=[None])
        reason = transaction.driver.why_not(request, transaction.hosts, row)
        if reason is not None:
            raise self._no(transaction, reason)
        place = engine.take(request, transaction.hosts, row)
        return ClaimChange(request, {uuid: place}, lost=lost)

    def committed(self, transaction: ClaimTransaction) -> None:
        (uuid,) = self.instance_uuids
        place = self.change.gained.get(uuid) or _held_place(transaction, uuid, self._kept)
        self.answer = selection(transaction.hosts, place.row, claimed=place)

    def _kept_claim(self, transaction: ClaimTransaction) -> ClaimChange:
        """Return the change by which a claim that had grown is as requested again."""
        (uuid,) = self.instance_uuids
        kept = _held_claim(transaction, uuid, self._kept)
        has, asked = total(kept.allocations.values()), Request.of(self._spec).total
        had_grown = _is_plain(kept) and all(asked[name] <= has.get(name, 0) for name in asked)
        if asked == has or not had_grown:
            return ClaimChange()
        smaller = dataclasses.replace(kept, allocations=of_host(asked))
        return ClaimChange(given=[smaller], lost=[kept])

    def _no(self, transaction: ClaimTransaction, reason: str) -> exception.RoostError:
        if not transaction.fresh:
            return StaleRead(reason)
        (uuid,) = self.instance_uuids
        return exception.NoCapacity(f"{self._to.host} cannot take {uuid}: {reason}")


class Release(ClaimRequest):
    """Deletes the claims of these instances (on ``host``, if one is named; ``reserved`` ones)."""

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        host: str | None = None,
        reserved: bool = False,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__(instance_uuids, cell_uuid=cell_uuid)
        self._host, self._reserved = host, reserved

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        held = [claim for uuid in self.instance_uuids for claim in transaction.held(uuid)]
        if self._host is not None:
            there = set(host_rows.ids_of(transaction.session, self._host))
            held = [claim for claim in held if claim.host_id in there]
        if self._reserved:
            held = [claim for claim in held if claim.state == RESERVED]
        return ClaimChange(lost=held)


class Drop(ClaimRequest):
    """Deletes claims that have not changed since they were read."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        super().__init__([claim.instance_uuid for claim in claims])
        self._claims = claims

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        return ClaimChange(
            lost=[one for one in self._claims if one in transaction.held(one.instance_uuid)]
        )


class Restore(ClaimRequest):
    """Creates claims for instances on a host that have none there, whether they fit or not.

    An instance that has two on other hosts gets none.

    :param holdings: allocations by instance, as in a HostReport
    :param details: NUMA cells and devices of an instance, as JSON, if it has any
    """

    def __init__(
        self,
        holdings: Mapping[str, Allocations],
        *,
        host_id: int,
        details: Mapping[str, str],
    ) -> None:
        super().__init__(list(holdings))
        self._holdings = holdings
        self._host_id = host_id
        self._details = details

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        missing = [
            uuid
            for uuid in self.instance_uuids
            if len(held := transaction.held(uuid)) < MOST
            and all(claim.host_id != self._host_id for claim in held)
        ]
        return ClaimChange(given=[self._claim(transaction, uuid) for uuid in missing])

    def _claim(self, transaction: ClaimTransaction, uuid: str) -> Claim:
        allocations = plus({}, self._holdings[uuid])
        number, details = transaction.free_number(uuid, ()), self._details.get(uuid)
        return Claim(uuid, self._host_id, allocations, number, CONFIRMED, details=details)


def _attested(transaction: ClaimTransaction, own: Claim) -> Claim:
    """Attest the claim on the host that an instance is on, as who moves it says that it is there.

    While the instance has another one, no report would bring this one back, if it expired.
    """
    if own.state != RESERVED:
        return own
    claim_rows.confirm(transaction.session, own.host_id, [own.instance_uuid], state=ATTESTED)
    return dataclasses.replace(own, state=ATTESTED)


def _is_plain(claim: Claim) -> bool:
    """Return whether a claim has nothing but amounts that its host counts by itself."""
    return not claim.details and not handed_out(claim.allocations)


def _elsewhere(spec: ResourceRequest, host: str) -> ResourceRequest:
    found = spec.obj_clone()
    found.ignore_hosts = [*spec.ignore_hosts, host]
    return found


def _held_claim(transaction: ClaimTransaction, uuid: str, rows: Mapping[str, int]) -> Claim:
    host_id = transaction.hosts.ids[rows[uuid]]
    return next(claim for claim in transaction.held(uuid) if claim.host_id == host_id)


def _held_place(transaction: ClaimTransaction, uuid: str, rows: Mapping[str, int]) -> Placement:
    claim = _held_claim(transaction, uuid, rows)
    held = HeldTopology.from_json(claim.details) if claim.details else None
    return Placement(rows[uuid], claim.allocations, held)
