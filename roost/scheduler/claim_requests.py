"""What may be done to claims. An order decides in memory; a transaction writes for many at once."""

import logging
from collections.abc import Mapping, Sequence

from roost import exception
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler.claims import CONFIRMED, Claim
from roost.objects import RequestSpec, Selection
from roost.scheduler import engine, explain
from roost.scheduler.claim_transaction import Books, Change, selection
from roost.scheduler.engine import Placement
from roost.scheduler.request import hinted_instances, rules_out
from roost.scheduler.topology import Held

LOG = logging.getLogger(__name__)


class LookAgain(exception.Conflict):
    """The answer would be no, but what is remembered may be old."""


class Order:
    """One caller's wish. ``error`` is set when it cannot be had, ``done`` when nothing is to do.

    :param cell_uuid: the cell that the caller is confined to; None: it is not
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
        self.change = Change()
        self.tries = 0
        self.done = False
        self.error: Exception | None = None

    def sees(self) -> list[str]:
        """Return the instances whose claims it must see."""
        return [*self.instance_uuids, *(hinted_instances(self.spec) if self.spec else ())]

    def check_cell(self, books: Books) -> None:
        """See to it that a caller who is confined to a cell concerns no claim in another.

        :raises LookAgain: when a fresh look may tell
        :raises roost.exception.Forbidden: when it does
        """
        if self._cell_uuid is None:
            return
        for uuid in self.instance_uuids:
            claim = books.held.get(uuid)
            if claim is not None:
                self._check_row(books, books.table.row(claim.host_id), uuid)

    def _check_row(self, books: Books, row: int | None, what: str) -> None:
        if self._cell_uuid is None:
            return
        if row is None and not books.fresh:
            raise LookAgain("a claim is on a host not seen yet")
        if row is None or books.hosts.one(row).cell_uuid != self._cell_uuid:
            raise exception.Forbidden(f"{what} is of another cell than {self._cell_uuid}")

    def decide(self, books: Books) -> Change:
        """Decide what changes; memory then has what hosts give.

        :raises LookAgain: when a fresh look may help
        :raises roost.exception.RoostError: when it cannot be had
        """
        raise NotImplementedError

    def committed(self, books: Books) -> None:
        """Take note that it is written."""


class Select(Order):
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

    def decide(self, books: Books) -> Change:
        self._kept = self._find_kept(books)
        uuids = self.instance_uuids
        placed = [self._kept.get(uuid) for uuid in uuids]
        request = books.request(self._spec, uuids, placed=placed, alternates=self._alternates)
        decision = books.driver.decide(request, books.hosts)
        if len(decision.chosen) < len(uuids):
            if not books.fresh:
                raise LookAgain("other schedulers may have made room")
            raise explain.no_valid_host(request, decision, hosts=books.hosts)
        self._others = dict(zip(uuids, decision.alternates, strict=True))
        chosen = dict(zip(uuids, decision.chosen, strict=True))
        gained = {uuid: place for uuid, place in chosen.items() if uuid not in self._kept}
        lost = [books.held[uuid] for uuid in gained if uuid in books.held]
        return Change(request, gained, lost=lost)

    def committed(self, books: Books) -> None:
        found = {uuid: self._selections(books, uuid) for uuid in self.instance_uuids}
        self.answer = [found[uuid] for uuid in self._asked]
        for uuid in self.change.gained:
            LOG.info(
                "%s: placed on %s for request %s",
                uuid,
                found[uuid][0].host,
                self._spec.request_uuid,
            )

    def _find_kept(self, books: Books) -> dict[str, int]:
        """Return the rows of the hosts that instances hold claims on and keep."""
        kept = {}
        for uuid in self.instance_uuids:
            claim = books.held.get(uuid)
            row = books.table.row(claim.host_id) if claim else None
            if claim and row is None and not books.fresh:
                raise LookAgain("a claim is on a host not seen yet")
            if row is not None:
                one = books.hosts.one(row)
                if not rules_out(self._spec, host=one.host, node=one.node):
                    kept[uuid] = row
        return kept

    def _selections(self, books: Books, uuid: str) -> list[Selection]:
        place = self.change.gained.get(uuid) or _held_place(books, uuid, self._kept)
        others = [selection(books.hosts, row) for row in self._others[uuid]]
        return [selection(books.hosts, place.row, claimed=place), *others]


class Move(Order):
    """A claim on ``to`` instead of the one the instance has, if it has one; see ``answer``."""

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

    def decide(self, books: Books) -> Change:
        (uuid,) = self.instance_uuids
        row = books.table.row_of(self._to.host, self._to.node)
        if row is None:
            raise self._no(books, "it is not known")
        self._check_row(books, row, self._to.host)
        claim = books.held.get(uuid)
        if claim and claim.host_id == books.hosts.ids[row]:
            self._kept = {uuid: row}
            return Change()
        request = books.request(self._spec, [uuid], placed=[None])
        reason = books.driver.why_not(request, books.hosts, row)
        if reason is not None:
            raise self._no(books, reason)
        place = engine.take(request, books.hosts, row)
        return Change(request, {uuid: place}, lost=[claim] if claim else [])

    def committed(self, books: Books) -> None:
        (uuid,) = self.instance_uuids
        place = self.change.gained.get(uuid) or _held_place(books, uuid, self._kept)
        self.answer = selection(books.hosts, place.row, claimed=place)

    def _no(self, books: Books, reason: str) -> exception.RoostError:
        if not books.fresh:
            return LookAgain(reason)
        (uuid,) = self.instance_uuids
        return exception.NoCapacity(f"{self._to.host} cannot take {uuid}: {reason}")


class Release(Order):
    """Away with the claims of these instances (on ``host``, if one is named)."""

    def __init__(
        self,
        instance_uuids: Sequence[str],
        *,
        host: str | None = None,
        cell_uuid: str | None = None,
    ) -> None:
        super().__init__(instance_uuids, cell_uuid=cell_uuid)
        self._host = host

    def decide(self, books: Books) -> Change:
        held = [books.held[uuid] for uuid in self.instance_uuids if uuid in books.held]
        if self._host is not None:
            there = set(host_rows.ids_of(books.session, self._host))
            held = [claim for claim in held if claim.host_id in there]
        return Change(lost=held)


class Drop(Order):
    """Away with claims that are still exactly as they were seen."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        super().__init__([claim.instance_uuid for claim in claims])
        self._claims = claims

    def decide(self, books: Books) -> Change:
        same = [claim for claim in self._claims if books.held.get(claim.instance_uuid) == claim]
        return Change(lost=same)


class Restore(Order):
    """Claims for what instances have on a host that hold none, whether it fits or not.

    :param holdings: sizes by instance, as in a HostReport
    :param details: what the claim of an instance holds of NUMA cells and devices, if anything
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

    def decide(self, books: Books) -> Change:
        missing = [uuid for uuid in self.instance_uuids if uuid not in books.held]
        return Change(restored=[self._claim(uuid) for uuid in missing])

    def _claim(self, uuid: str) -> Claim:
        sizes = (*self._holdings[uuid], 1)
        details = self._details.get(uuid)
        return Claim(uuid, self._host_id, sizes, state=CONFIRMED, details=details)


def _held_place(books: Books, uuid: str, rows: Mapping[str, int]) -> Placement:
    details = books.held[uuid].details
    return Placement(rows[uuid], Held.from_json(details) if details else None)
