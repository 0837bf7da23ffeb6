"""Requests that change claims: each decides in memory, and one transaction writes many of them."""

import logging
from collections.abc import Mapping, Sequence

from roost import exception
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler.claims import CONFIRMED, Claim
from roost.objects import RequestSpec, Selection
from roost.scheduler import engine, explain
from roost.scheduler.claim_transaction import ClaimChange, ClaimTransaction, selection
from roost.scheduler.engine import Placement
from roost.scheduler.request import hinted_instances, rules_out
from roost.scheduler.topology import HeldTopology

LOG = logging.getLogger(__name__)


class StaleRead(exception.Conflict):
    """The request would fail, but by cached data that may be stale."""


class ClaimRequest:
    """One caller's request. ``done`` is set when it is finished, ``error`` when it failed.

    :param cell_uuid: the cell to which the caller is confined; None: any
    """

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        spec: RequestSpec | None = None,
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
            claim = transaction.held.get(uuid)
            if claim is not None:
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
    """A host for each instance, all or none; ``answer`` has them."""

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        spec: RequestSpec,
        alternates: int,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__(instance_uuids, spec=spec, cell_uuid=cell_uuid)
        self._asked = tuple(instance_uuids)
        self._spec = spec
        self._alternates = alternates
        self._kept: dict[str, int] = {}
        self._others: Mapping[str, Sequence[int]] = {}
        self.answer: list[list[Selection]] = []

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        self._kept = self._find_kept(transaction)
        uuids = self.instance_uuids
        placed = [self._kept.get(uuid) for uuid in uuids]
        request = transaction.request(self._spec, uuids, placed=placed, alternates=self._alternates)
        decision = transaction.driver.decide(request, transaction.hosts)
        if len(decision.chosen) < len(uuids):
            if not transaction.fresh:
                raise StaleRead("other schedulers may have released claims")
            raise explain.no_valid_host(request, decision, hosts=transaction.hosts)
        self._others = dict(zip(uuids, decision.alternates, strict=True))
        chosen = dict(zip(uuids, decision.chosen, strict=True))
        gained = {uuid: place for uuid, place in chosen.items() if uuid not in self._kept}
        lost = [transaction.held[uuid] for uuid in gained if uuid in transaction.held]
        return ClaimChange(request, gained, lost=lost)

    def committed(self, transaction: ClaimTransaction) -> None:
        found = {uuid: self._selections(transaction, uuid) for uuid in self.instance_uuids}
        self.answer = [found[uuid] for uuid in self._asked]

    def _find_kept(self, transaction: ClaimTransaction) -> dict[str, int]:
        """Return the rows of hosts on which instances hold claims that they keep."""
        kept = {}
        for uuid in self.instance_uuids:
            claim = transaction.held.get(uuid)
            row = transaction.table.row(claim.host_id) if claim else None
            if claim and row is None and not transaction.fresh:
                raise StaleRead("a claim is on a host not seen yet")
            if row is not None:
                one = transaction.hosts.one(row)
                if not rules_out(self._spec, host=one.host, node=one.node):
                    kept[uuid] = row
        return kept

    def _selections(self, transaction: ClaimTransaction, uuid: str) -> list[Selection]:
        place = self.change.gained.get(uuid) or _held_place(transaction, uuid, self._kept)
        others = [selection(transaction.hosts, row) for row in self._others[uuid]]
        return [selection(transaction.hosts, place.row, claimed=place), *others]


class Move(ClaimRequest):
    """A claim on ``to`` instead of the instance's current one, if any; ``answer`` has it."""

    def __init__(
        self,
        instance_uuid: str,
        *,
        spec: RequestSpec,
        to: Selection,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__([instance_uuid], spec=spec, cell_uuid=cell_uuid)
        self._spec = spec
        self._to = to
        self._kept: dict[str, int] = {}
        self.answer = to

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        (uuid,) = self.instance_uuids
        row = transaction.table.row_of(self._to.host, self._to.node)
        if row is None:
            raise self._no(transaction, "the host is not known")
        self._check_row(transaction, row, self._to.host)
        claim = transaction.held.get(uuid)
        if claim and claim.host_id == transaction.hosts.ids[row]:
            self._kept = {uuid: row}
            return ClaimChange()
        request = transaction.request(self._spec, [uuid], placed=[None])
        reason = transaction.driver.why_not(request, transaction.hosts, row)
        if reason is not None:
            raise self._no(transaction, reason)
        place = engine.take(request, transaction.hosts, row)
        return ClaimChange(request, {uuid: place}, lost=[claim] if claim else [])

    def committed(self, transaction: ClaimTransaction) -> None:
        (uuid,) = self.instance_uuids
        place = self.change.gained.get(uuid) or _held_place(transaction, uuid, self._kept)
        self.answer = selection(transaction.hosts, place.row, claimed=place)

    def _no(self, transaction: ClaimTransaction, reason: str) -> exception.RoostError:
        if not transaction.fresh:
            return StaleRead(reason)
        (uuid,) = self.instance_uuids
        return exception.NoCapacity(f"{self._to.host} cannot take {uuid}: {reason}")


class Release(ClaimRequest):
    """Deletes the claims of these instances (on ``host``, if one is named)."""

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        host: str | None = None,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__(instance_uuids, cell_uuid=cell_uuid)
        self._host = host

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        held = [transaction.held[uuid] for uuid in self.instance_uuids if uuid in transaction.held]
        if self._host is not None:
            there = set(host_rows.ids_of(transaction.session, self._host))
            held = [claim for claim in held if claim.host_id in there]
        return ClaimChange(lost=held)


class Drop(ClaimRequest):
    """Deletes claims that have not changed since they were read."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        super().__init__([claim.instance_uuid for claim in claims])
        self._claims = claims

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        same = [
            claim for claim in self._claims if transaction.held.get(claim.instance_uuid) == claim
        ]
        return ClaimChange(lost=same)


class Restore(ClaimRequest):
    """Creates claims for instances on a host that have none, whether they fit or not.

    :param holdings: sizes by instance, as in a HostReport
    :param details: NUMA cells and devices of an instance, as JSON, if it has any
    """

    def __init__(
        self,
        holdings: Mapping[str, Sequence[int]],
        *,
        host_id: int,
        details: Mapping[str, str],
    ) -> None:
        super().__init__(list(holdings))
        self._holdings = holdings
        self._host_id = host_id
        self._details = details

    def decide(self, transaction: ClaimTransaction) -> ClaimChange:
        missing = [uuid for uuid in self.instance_uuids if uuid not in transaction.held]
        return ClaimChange(restored=[self._claim(uuid) for uuid in missing])

    def _claim(self, uuid: str) -> Claim:
        sizes = (*self._holdings[uuid], 1)
        details = self._details.get(uuid)
        return Claim(uuid, self._host_id, sizes, state=CONFIRMED, details=details)


def _held_place(transaction: ClaimTransaction, uuid: str, rows: Mapping[str, int]) -> Placement:
    details = transaction.held[uuid].details
    return Placement(rows[uuid], HeldTopology.from_json(details) if details else None)
