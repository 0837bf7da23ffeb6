"""The solver driver: places all instances of one request together.

Greedy never revises a choice: it may fill the best host with the first instances and find no room
there for the rest of an affinity group, or use two hosts where one suffices. Here the whole request
is one integer program, solved by HiGHS (https://highs.dev) through SciPy's ``milp``: the number of
instances per host with the greatest sum of weights, each weighed after those before it on its host.
Greedy's answer is the incumbent: it stays unless a better one is found in time.
"""

import dataclasses
import itertools
import logging
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy import optimize, sparse

from roost.scheduler.columns import Floats, Ints, Mask, Rows
from roost.scheduler.drivers.filter import GreedyDriver
from roost.scheduler.engine import Decision, Placement, hold, take, undo
from roost.scheduler.hosts import HostColumns
from roost.scheduler.ranking import REFUSED
from roost.scheduler.request import Request

LOG = logging.getLogger(__name__)
_AFFINITY: Final = "affinity"
_PER_INSTANCE: Final = 4  # candidate hosts per instance, the best first
_FEWEST: Final = 100  # candidate hosts at least, if there are so many
_OPENING: Final = 1e-3  # cost of one more host: of equal answers the one with fewer is better
_TIME_LIMIT: Final = 1.0  # seconds for one request; then the greedy answer stands
_BETTER: Final = 1e-6  # the least gain in the sum of weights that counts as better


@dataclasses.dataclass(frozen=True)
class _Offer:
    """The weights of the first, second ... instance on each candidate host.

    The first instance on a host costs a little, so that equal answers use fewer hosts.
    """

    rows: Sequence[int]
    weights: Sequence[Sequence[float]]

    @property
    def falls(self) -> bool:
        """Whether the weights of no host ever increase: greedy is optimal then."""
        return all(
            before + _OPENING >= after
            for each in self.weights
            for before, after in itertools.pairwise(each)
        )

    def total(self, counts: Sequence[int]) -> float:
        return sum(sum(each[:count]) for each, count in zip(self.weights, counts, strict=True))


class Trial:
    """Copies of some hosts, on which instances are tried."""

    def __init__(self, request: Request, hosts: HostColumns, rows: Rows) -> None:
        self.request = dataclasses.replace(request, group_counts=dict(request.group_counts))
        self.hosts = hosts.some(rows)
        self.open: Mask = np.ones(len(rows), dtype=np.bool_)
        self._rows = rows.tolist()

    def go_on(self, passing: Mask) -> bool:
        """Put one more instance on each host that passes; return whether any does."""
        request, hosts = self.request, self.hosts
        self.open = passing
        for at in np.flatnonzero(passing).tolist():
            row = self._rows[at]
            request.group_counts[row] = request.group_counts.get(row, 0) + 1
            hosts.take(at, *hold(request, hosts, at))
        return bool(passing.any())


class SolverDriver(GreedyDriver):
    """Greedy for single instances; for several, the better of greedy and solver."""

    def decide(self, request: Request, hosts: HostColumns) -> Decision:
        greedy = self.engine.decide(request, hosts)
        wanted = request.unplaced
        if wanted < 2:  # noqa: PLR2004 - for one, greedy is optimal
            return greedy
        new = _new(request, greedy)
        undo(request, hosts, new)
        rows = self._solve(request, hosts, wanted, incumbent=[place.row for place in new])
        if rows is None:
            return _take_again(request, hosts, greedy)
        return self._place(request, hosts, rows)

    def _solve(
        self, request: Request, hosts: HostColumns, wanted: int, *, incumbent: Sequence[int]
    ) -> list[int] | None:
        """Return a row per instance that is better than the incumbent, or None."""
        offer = self._offer(request, hosts, wanted, also=incumbent)
        together = request.spec.group is not None and request.spec.group.policy == _AFFINITY
        if incumbent and not together and offer.falls:
            return None
        counts = _best(offer, wanted, together=together)
        if counts is None:
            return None
        known = [incumbent.count(row) for row in offer.rows]
        if incumbent and offer.total(counts) <= offer.total(known) + _BETTER:
            return None
        pairs = zip(offer.rows, counts, strict=True)
        return [row for row, count in pairs for _ in range(count)]

    def _offer(
        self, request: Request, hosts: HostColumns, wanted: int, *, also: Sequence[int]
    ) -> _Offer:
        scores = self.engine.search(request, hosts).scores()
        most = max(_FEWEST, _PER_INSTANCE * wanted)
        best = np.argsort(-scores, kind="stable")[:most]
        rows = sorted({*best[scores[best] != REFUSED].tolist(), *also})
        return _Offer(rows, self._weights(request, hosts, rows, wanted))

    def _weights(
        self, request: Request, hosts: HostColumns, rows: Sequence[int], wanted: int
    ) -> list[list[float]]:
        """Return the weights of one instance after the other on each host by itself."""
        trial = Trial(request, hosts, np.array(rows, dtype=np.intp))
        weights: list[list[float]] = [[] for _ in rows]
        for _ in range(wanted):
            passing = self.engine.passing(trial.request, trial.hosts, among=trial.open)
            current = self.engine.weights(trial.request, trial.hosts)
            for at in np.flatnonzero(passing).tolist():
                weights[at].append(float(current[at]) - (0.0 if weights[at] else _OPENING))
            if not trial.go_on(passing):
                break
        return weights

    def _place(self, request: Request, hosts: HostColumns, rows: Sequence[int]) -> Decision:
        """Take the solver's hosts, which every filter has passed in this state."""
        search = self.engine.search(request, hosts)
        waiting = iter(rows)
        chosen = [
            search.take(next(waiting)) if row is None else Placement(row) for row in request.placed
        ]
        return Decision(chosen, search.alternates(chosen), fitting=len(rows))


def _best(offer: _Offer, wanted: int, *, together: bool) -> list[int] | None:
    """Return the number of instances per host with the greatest sum of weights, if they fit.

    A binary variable for the k-th slot of each host says whether it is taken; slots of a host are
    taken in order. With ``together`` a further variable per host says whether it is the chosen one.
    """
    sizes = [len(weights) for weights in offer.weights]
    slots = sum(sizes)
    if slots < wanted or (together and max(sizes) < wanted):
        return None
    weights: Floats = np.array([weight for each in offer.weights for weight in each])
    hosts_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
    extra = len(sizes) if together else 0
    constraints = [_exactly(np.ones(slots), extra, wanted), *_in_order(hosts_of, extra)]
    if together:
        constraints += _on_one(hosts_of, len(sizes))
    found = optimize.milp(
        np.concatenate((-weights, np.zeros(extra))),
        integrality=np.ones(slots + extra),
        bounds=optimize.Bounds(0, 1),
        constraints=constraints,
        options={"time_limit": _TIME_LIMIT},
    )
    if found.x is None:
        LOG.info("the solver found no placement for %d instances: %s", wanted, found.message)
        return None
    taken = np.round(found.x[:slots]).astype(np.int64)
    counts: list[int] = (
        np.bincount(hosts_of, weights=taken, minlength=len(sizes)).astype(int).tolist()
    )
    return counts if sum(counts) == wanted else None


def _exactly(coefficients: Floats, extra: int, wanted: int) -> optimize.LinearConstraint:
    row = np.concatenate((coefficients, np.zeros(extra)))
    return optimize.LinearConstraint(row[np.newaxis, :], wanted, wanted)


def _in_order(hosts_of: Ints, extra: int) -> list[optimize.LinearConstraint]:
    """A slot of a host is not taken before the previous one."""
    later = np.flatnonzero(hosts_of[1:] == hosts_of[:-1]) + 1
    if not len(later):
        return []
    lines = np.arange(len(later))
    values = np.concatenate((np.ones(len(later)), -np.ones(len(later))))
    at = (np.concatenate((lines, lines)), np.concatenate((later, later - 1)))
    shape = (len(later), len(hosts_of) + extra)
    return [optimize.LinearConstraint(sparse.csr_array((values, at), shape=shape), -1, 0)]


def _on_one(hosts_of: Ints, count: int) -> list[optimize.LinearConstraint]:
    """Slots are taken only on the one chosen host."""
    slots = len(hosts_of)
    lines = np.arange(slots)
    values = np.concatenate((np.ones(slots), -np.ones(slots)))
    at = (np.concatenate((lines, lines)), np.concatenate((lines, slots + hosts_of)))
    only = sparse.csr_array((values, at), shape=(slots, slots + count))
    one = np.concatenate((np.zeros(slots), np.ones(count)))[np.newaxis, :]
    return [optimize.LinearConstraint(only, -1, 0), optimize.LinearConstraint(one, 1, 1)]


def _new(request: Request, decision: Decision) -> list[Placement]:
    """Return the placements of instances that had no host."""
    pairs = zip(request.placed, decision.chosen, strict=False)
    return [place for row, place in pairs if row is None]


def _take_again(request: Request, hosts: HostColumns, decision: Decision) -> Decision:
    places = iter([take(request, hosts, place.row) for place in _new(request, decision)])
    chosen = [
        next(places) if row is None else place
        for row, place in zip(request.placed, decision.chosen, strict=False)
    ]
    return dataclasses.replace(decision, chosen=chosen)
