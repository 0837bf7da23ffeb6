"""The scheduling engine: makes a decision for a request, in memory.

Filters and weighers run on all hosts at once; per-host filters run last, on the best hosts, until
enough are found. Each instance of a request sees what those before it took. The same request and
hosts give the same decision, given the same seed. A ``Decision`` has a host for each instance, or
the reasons why there is none.
"""

import collections
import dataclasses
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple, Self

import numpy as np

from roost.objects.allocations import NOTHING, Allocations, of_host, plus
from roost.scheduler.columns import Columns, Floats, Mask
from roost.scheduler.filters import AnyFilter, Filter, HostFilter, Miss
from roost.scheduler.hosts import HostColumns
from roost.scheduler.ranking import REFUSED, PlugIns, Ranking, asked_of, refuse, weigh
from roost.scheduler.request import Request
from roost.scheduler.topology import Allocator, HeldTopology, fit
from roost.scheduler.weighers import Weighing

Refusals = dict[str, dict[str, int]]
"""The number of refused hosts by filter and reason; each host counts once."""


class Placement(NamedTuple):
    """The row of an instance's host, its allocations there, and its CPUs and devices, if any."""

    row: int
    allocations: Allocations = NOTHING
    held: HeldTopology | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one filter refused among the ``asked`` hosts that it checked, and the closest host."""

    filter: str
    asked: int
    reasons: dict[str, int]
    closest: Miss | None = None


@dataclasses.dataclass(frozen=True)
class Decision:
    """A placement per instance, in order, and alternates in its cell, the best first.

    When not all fit, ``chosen`` is empty, ``fitting`` is the number of the instances without a host
    that would fit, and ``verdicts`` say why the next one does not.
    """

    chosen: Sequence[Placement]
    alternates: Sequence[Sequence[int]]
    verdicts: Sequence[Verdict] = ()
    fitting: int = 0

    @property
    def refusals(self) -> Refusals:
        return {verdict.filter: verdict.reasons for verdict in self.verdicts if verdict.reasons}


_KINDS: Final = 64  # kinds of requests whose ranking is cached


class Engine:
    """Runs the configured plug-ins, and caches their results. For one thread at a time.

    :param best_of: choose at random among this many of the best; 1: the best
    """

    def __init__(
        self,
        filters: Sequence[AnyFilter],
        weighers: Sequence[Weighing],
        *,
        best_of: int = 1,
        seed: int | None = None,
    ) -> None:
        self._filters = filters
        self._weighers = weighers
        self._best_of = best_of
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311 - spreads load, hides nothing
        self._rankings: collections.OrderedDict[Hashable, Ranking] = collections.OrderedDict()
        self._ranked: HostColumns | None = None

    def twin(self) -> Self:
        """Return an engine with the same plug-ins that shares no state."""
        return type(self)(self._filters, self._weighers, best_of=self._best_of, seed=self._seed)

    @property
    def reads(self) -> set[str]:
        """The parts of hosts' reports that the plug-ins read."""
        weighers = [each.weigher for each in self._weighers if each.multiplier]
        plug_ins = (*self._filters, *weighers)
        return {part for each in plug_ins for part in getattr(each, "reads", ())}

    def reseed(self, seed: int) -> None:
        """Restart the random numbers, so that decisions are reproducible from here on."""
        self._seed = seed
        self._random = random.Random(seed)  # noqa: S311 - spreads load, hides nothing

    def decide(self, request: Request, hosts: HostColumns) -> Decision:
        """Choose a host for each instance without one, all or none.

        The instances' resources are taken from ``hosts`` (see :func:`undo`).
        """
        search = self.search(request, hosts)
        try:
            return self._decide(request, hosts, search)
        except BaseException:
            search.undo()
            raise

    def _decide(self, request: Request, hosts: HostColumns, search: "Search") -> Decision:
        chosen: list[Placement] = []
        for row in request.placed:
            placement = search.take_best() if row is None else Placement(row)
            if placement is None:
                verdicts = self.judge(request, hosts, barred=search.barred)
                fitting = len(search.taken)
                search.undo()
                return Decision([], [], verdicts, fitting=fitting)
            chosen.append(placement)
        return Decision(chosen, search.alternates(chosen), fitting=len(search.taken))

    def search(self, request: Request, hosts: HostColumns) -> "Search":
        """Begin a search for hosts."""
        plug_ins = PlugIns.of(request, filters=self._filters, weighers=self._weighers)
        ranking = self._ranking(plug_ins, hosts, request)
        return Search(request, hosts, plug_ins=plug_ins, ranking=ranking, choose=self._choose)

    def why_not(self, request: Request, hosts: HostColumns, row: int) -> str | None:
        """Return why one host cannot take an instance of the request now; None: it can."""
        alone = hosts.some(np.array([row], dtype=np.intp))
        for each in asked_of(request, self._filters):
            if isinstance(each, HostFilter):
                reason = each.why_not(request, hosts.one(row))
            else:
                refusals = each.refuse(request, alone)
                reason = next((text for text, refused in refusals if refused[0]), None)
            if reason is not None:
                return reason
        return None

    def judge(
        self,
        request: Request,
        hosts: HostColumns,
        *,
        barred: dict[int, tuple[str, str]] | None = None,
    ) -> list[Verdict]:
        """Return the verdict of each filter, in order: each checks the hosts that passed before.

        :param barred: filter and reason of rows that per-host filters have refused already; None:
            run them
        """
        passing = np.ones(len(hosts), dtype=np.bool_)
        filters = asked_of(request, self._filters)
        one_by_one = [each for each in filters if isinstance(each, HostFilter)]
        verdicts = [
            _verdict(each, request, hosts, passing) for each in filters if isinstance(each, Filter)
        ]
        if barred is None:
            barred = _barred(one_by_one, request, hosts, passing)
        for each in one_by_one:
            refused = {row: why for row, (name, why) in barred.items() if name == each.name}
            asked, reasons = np.count_nonzero(passing), collections.Counter(refused.values())
            closest = next((Miss(row, why) for row, why in refused.items()), None)
            verdicts.append(Verdict(each.name, int(asked), dict(reasons), closest))
            passing[list(refused)] = False
        return verdicts

    def passing(self, request: Request, hosts: Columns, *, among: Mask) -> Mask:
        """Return which of some hosts can take an instance of the request now."""
        plug_ins = PlugIns.of(request, filters=self._filters, weighers=())
        scores = np.where(among, 0.0, REFUSED)
        refuse(scores, request, hosts, [*plug_ins.kept_filters, *plug_ins.fresh_filters])
        passing: Mask = scores != REFUSED
        for row in np.flatnonzero(passing).tolist() if plug_ins.host_filters else ():
            passing[row] = _first_refusal(plug_ins.host_filters, request, hosts, row) is None
        return passing

    def weights(self, request: Request, hosts: Columns) -> Floats:
        """Return the current sum of all weights of each host."""
        plug_ins = PlugIns.of(request, filters=(), weighers=self._weighers)
        total = np.zeros(len(hosts))
        weigh(total, request, hosts, [*plug_ins.kept_weighers, *plug_ins.fresh_weighers])
        return total

    def scores(self, request: Request, hosts: HostColumns) -> tuple[Floats, dict[str, Floats]]:
        """Return every host's score, and each weigher's part of it, for explanations."""
        plug_ins = PlugIns.of(request, filters=self._filters, weighers=self._weighers)
        parts = {}
        for weighing in (*plug_ins.kept_weighers, *plug_ins.fresh_weighers):
            part = np.zeros(len(hosts))
            weigh(part, request, hosts, [weighing])
            parts[weighing.weigher.name] = part
        search = self.search(request, hosts)
        return search.scores().copy(), parts

    def _ranking(self, plug_ins: PlugIns, hosts: HostColumns, request: Request) -> Ranking:
        if self._ranked is not hosts:
            self._ranked = hosts
            self._rankings.clear()
        ranking = self._rankings.get(plug_ins.key)
        if ranking is None:
            ranking = self._rankings[plug_ins.key] = Ranking(plug_ins, hosts, request)
            if len(self._rankings) > _KINDS:
                self._rankings.popitem(last=False)
        else:
            self._rankings.move_to_end(plug_ins.key)
        return ranking

    def _choose(self, scores: Floats) -> int | None:
        """Return the best row, or one of the best at random; None: all are refused."""
        if not len(scores):
            return None
        if self._best_of == 1:
            best = int(scores.argmax())
            return None if scores[best] == REFUSED else best
        good = np.flatnonzero(scores != REFUSED)
        if len(good) > self._best_of:
            good = good[np.argpartition(-scores[good], self._best_of - 1)[: self._best_of]]
            good.sort()
        return int(good[self._random.randrange(len(good))]) if len(good) else None


class Search:
    """A search for the hosts of one request, for one instance after the other."""

    def __init__(
        self,
        request: Request,
        hosts: HostColumns,
        *,
        plug_ins: PlugIns,
        ranking: Ranking,
        choose: Callable[[Floats], int | None],
    ) -> None:
        self._request = request
        self._hosts = hosts
        self._plug_ins = plug_ins
        self._ranking = ranking
        self._choose = choose
        self.taken: list[Placement] = []
        self.barred: dict[int, tuple[str, str]] = {}

    def take_best(self) -> Placement | None:
        """Give an instance the best host, or None when none is left."""
        scores = self.scores()
        while True:
            row = self._choose(scores)
            if row is None:
                return None
            if self._passes(row):
                return self.take(row)
            scores = self.scores()

    def scores(self) -> Floats:
        """Return the current scores of all hosts; do not change them."""
        scores = self._ranking.refresh(self._request)
        plug_ins = self._plug_ins
        if not (plug_ins.fresh_filters or plug_ins.fresh_weighers or self.barred):
            return scores
        scores = scores.copy()
        weigh(scores, self._request, self._hosts, plug_ins.fresh_weighers)
        refuse(scores, self._request, self._hosts, plug_ins.fresh_filters)
        scores[list(self.barred)] = REFUSED
        return scores

    def alternates(self, chosen: Sequence[Placement]) -> list[list[int]]:
        """Return for each chosen host the best others of its cell that pass now."""
        wanted = self._request.alternates
        if not wanted:
            return [[] for _ in chosen]
        cells = self._hosts.cell
        ranked = {cell: self._best_of_cell(cell) for cell in {int(cells[p.row]) for p in chosen}}
        return [
            [row for row in ranked[int(cells[place.row])] if row != place.row][:wanted]
            for place in chosen
        ]

    def undo(self) -> None:
        """Release all resources that were taken; may be repeated."""
        taken, self.taken = self.taken, []
        undo(self._request, self._hosts, taken)

    def _best_of_cell(self, cell: int) -> list[int]:
        """Return the best rows of a cell, one more than the wanted alternates."""
        scores = np.where(self._hosts.cell == cell, self.scores(), REFUSED)
        found: list[int] = []
        while len(found) <= self._request.alternates:
            row = int(scores.argmax())
            if scores[row] == REFUSED:
                break
            scores[row] = REFUSED
            if self._passes(row):
                found.append(row)
        return found

    def _passes(self, row: int) -> bool:
        refused = _first_refusal(self._plug_ins.host_filters, self._request, self._hosts, row)
        if refused:
            self.barred[row] = refused
        return refused is None

    def take(self, row: int) -> Placement:
        """Give an instance this host, which must pass."""
        placement = take(self._request, self._hosts, row)
        self.taken.append(placement)
        return placement


def take(request: Request, hosts: HostColumns, row: int) -> Placement:
    """Take an instance's resources from a host that passed."""
    allocations, held = hold(request, hosts, row)
    hosts.take(row, allocations, held)
    if request.spec.group is not None:
        request.group_counts[row] = request.group_counts.get(row, 0) + 1
    return Placement(row, allocations, held)


def hold(request: Request, hosts: Columns, row: int) -> tuple[Allocations, HeldTopology | None]:
    """Return the allocations that an instance gets, and its CPUs and devices, if they fit."""
    held = None
    if request.wants_topology and hosts.topology[row] is not None:
        numa, pci = request.spec.numa_topology, request.spec.pci_requests
        found = fit(numa, pci, hosts.topology[row])
        held = None if isinstance(found, str) else found
    if not request.resources or not (request.resources.groups or hosts.has_parts[row]):
        return request.allocations, held
    others = Allocator(request.resources).find(hosts.providers(row))
    return plus(of_host(request.asked), NOTHING if isinstance(others, str) else others), held


def undo(request: Request, hosts: HostColumns, placements: Sequence[Placement]) -> None:
    """Undo :func:`take`."""
    for row, allocations, held in placements:
        hosts.take(row, allocations, held, sign=-1)
        if request.spec.group is not None:
            request.group_counts[row] -= 1


def _first_refusal(
    filters: Sequence[HostFilter], request: Request, hosts: Columns, row: int
) -> tuple[str, str] | None:
    for each in filters:
        reason = each.why_not(request, hosts.one(row))
        if reason is not None:
            return each.name, reason
    return None


def _barred(
    filters: Sequence[HostFilter], request: Request, hosts: HostColumns, passing: Mask
) -> dict[int, tuple[str, str]]:
    """Run per-host filters on all hosts that pass the others."""
    rows = np.flatnonzero(passing).tolist() if filters else []
    asked = ((row, _first_refusal(filters, request, hosts, row)) for row in rows)
    return {row: refused for row, refused in asked if refused is not None}


def _verdict(each: Filter, request: Request, hosts: HostColumns, passing: Mask) -> Verdict:
    """Run a filter, and remove the hosts that it refuses from ``passing``."""
    asked = int(np.count_nonzero(passing))
    reasons: dict[str, int] = {}
    lost = np.zeros(len(hosts), dtype=np.bool_)
    for reason, refused in each.refuse(request, hosts):
        new = passing & refused
        count = int(np.count_nonzero(new))
        if count:
            reasons[reason] = reasons.get(reason, 0) + count
            lost |= new
            passing &= ~refused
    closest = None
    if reasons:
        rows = np.flatnonzero(lost)
        miss = each.closest(request, hosts.some(rows))
        closest = miss._replace(row=int(rows[miss.row])) if miss else None
    return Verdict(each.name, asked, reasons, closest)
