"""Places the many instances of one request together, where one after the other is not good enough.

Greedy cannot take back: it may fill the best host with the first instances and find no room beside
them for the rest of an affinity group, or open two hosts where one would do. Here the whole request
is one integer program, solved by HiGHS (https://highs.dev) through SciPy's ``milp``: how many
instances on which host, so that the weights of all, each weighed when those before it are there,
add up to the most. Greedy's answer is the incumbent: it stays unless a better one is found in time.
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
from roost.scheduler.engine import Decision, Placement, take, undo
from roost.scheduler.hosts import HostColumns
from roost.scheduler.ranking import REFUSED
from roost.scheduler.request import Request
from roost.scheduler.topology import HeldTopology, fit

LOG = logging.getLogger(__name__)
_AFFINITY: Final = "affinity"
_PER_INSTANCE: Final = 4  # hosts that are looked at for each instance, the best first
_FEWEST: Final = 100  # hosts that are looked at, if there are so many
_OPENING: Final = 1e-3  # what one more host costs: of equal answers the one with fewer is better
_TIME_LIMIT: Final = 1.0  # seconds for one request; then the greedy answer stands
_BETTER: Final = 1e-6  # by which a sum of weights must be greater to count as better


@dataclasses.dataclass(frozen=True)
class _Offer:
    """What each of some hosts would give: a weight for its first, second ... instance.

    The first place costs a little more, so that instances which are as well off on fewer hosts do
    not open more.
    """

    rows: Sequence[int]
    weights: Sequence[Sequence[float]]

    @property
    def falls(self) -> bool:
        """Whether no host's next place is ever better than the one before: greedy is best then."""
        return all(
            before + _OPENING >= after
            for each in self.weights
            for before, after in itertools.pairwise(each)
        )

    def total(self, counts: Sequence[int]) -> float:
        return sum(sum(each[:count]) for each, count in zip(self.weights, counts, strict=True))


class Trial:
    """Some hosts apart from all others, on which instances are tried."""

    def __init__(self, request: Request, hosts: HostColumns, rows: Rows) -> None:
        self.request = dataclasses.replace(request, group_counts=dict(request.group_counts))
        self.hosts = hosts.some(rows)
        self.open: Mask = np.ones(len(rows), dtype=np.bool_)
        self._rows = rows.tolist()

    def go_on(self, passing: Mask) -> bool:
        """Put one more instance on each host that passes; tell whether any does."""
        request, hosts = self.request, self.hosts
        self.open = passing
        hosts.used = hosts.used + np.outer(request.asked, passing)
        for at in np.flatnonzero(passing).tolist():
            row = self._rows[at]
            request.group_counts[row] = request.group_counts.get(row, 0) + 1
            if request.wants_topology:
                found = fit(
                    request.spec.numa_topology, request.spec.pci_requests, hosts.topology[at]
                )
                if isinstance(found, HeldTopology):
                    hosts.topology[at] = hosts.topology[at].taking(found)
        return bool(passing.any())


class SolverDriver(GreedyDriver):
    """Greedy for single instances; for several, the best of both ways."""

    def decide(self, request: Request, hosts: HostColumns) -> Decision:
        greedy = self.engine.decide(request, hosts)
        wanted = request.unplaced
        if wanted < 2:  # noqa: PLR2004 - with one, greedy is right
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
        """Put one instance after the other on each host, as if it were the only one, and weigh."""
        trial = Trial(request, hosts, np.array(rows, dtype=np.intp))
        weights: list[list[float]] = [[] for _ in rows]
        for _ in range(wanted):
            passing = self.engine.passing(trial.request, trial.hosts, among=trial.open)
            told = self.engine.weights(trial.request, trial.hosts)
            for at in np.flatnonzero(passing).tolist():
                weights[at].append(float(told[at]) - (0.0 if weights[at] else _OPENING))
            if not trial.go_on(passing):
                break
        return weights

    def _place(self, request: Request, hosts: HostColumns, rows: Sequence[int]) -> Decision:
        """Take the solver's places, which every filter has passed in this very state."""
        search = self.engine.search(request, hosts)
        waiting = iter(rows)
        chosen = [
            search.take(next(waiting)) if row is None else Placement(row) for row in request.placed
        ]
        return Decision(chosen, search.alternates(chosen), fitting=len(rows))


def _best(offer: _Offer, wanted: int, *, together: bool) -> list[int] | None:
    """Return how many instances each host should get for the greatest sum of weights, if any fit.

    A binary variable says of each host's k-th place whether it is taken; places of a host are taken
    in their order. With ``together`` a further variable per host says whether it is the one.
    """
    sizes = [len(weights) for weights in offer.weights]
    places = sum(sizes)
    if places < wanted or (together and max(sizes) < wanted):
        return None
    weights: Floats = np.array([weight for each in offer.weights for weight in each])
    hosts_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
    extra = len(sizes) if together else 0
    constraints = [_exactly(np.ones(places), extra, wanted), *_in_order(hosts_of, extra)]
    if together:
        constraints += _on_one(hosts_of, len(sizes))
    found = optimize.milp(
        np.concatenate((-weights, np.zeros(extra))),
        integrality=np.ones(places + extra),
        bounds=optimize.Bounds(0, 1),
        constraints=constraints,
        options={"time_limit": _TIME_LIMIT},
    )
    if found.x is None:
        LOG.info("the solver found nothing for %d instances: %s", wanted, found.message)
        return None
    taken = np.round(found.x[:places]).astype(np.int64)
    counts: list[int] = (
        np.bincount(hosts_of, weights=taken, minlength=len(sizes)).astype(int).tolist()
    )
    return counts if sum(counts) == wanted else None


def _exactly(coefficients: Floats, extra: int, wanted: int) -> optimize.LinearConstraint:
    row = np.concatenate((coefficients, np.zeros(extra)))
    return optimize.LinearConstraint(row[np.newaxis, :], wanted, wanted)


def _in_order(hosts_of: Ints, extra: int) -> list[optimize.LinearConstraint]:
    """A place of a host is not taken before the one in front of it."""
    later = np.flatnonzero(hosts_of[1:] == hosts_of[:-1]) + 1
    if not len(later):
        return []
    lines = np.arange(len(later))
    values = np.concatenate((np.ones(len(later)), -np.ones(len(later))))
    at = (np.concatenate((lines, lines)), np.concatenate((later, later - 1)))
    shape = (len(later), len(hosts_of) + extra)
    return [optimize.LinearConstraint(sparse.csr_array((values, at), shape=shape), -1, 0)]


def _on_one(hosts_of: Ints, count: int) -> list[optimize.LinearConstraint]:
    """Places are taken only on the one host that is chosen."""
    places = len(hosts_of)
    lines = np.arange(places)
    values = np.concatenate((np.ones(places), -np.ones(places)))
    at = (np.concatenate((lines, lines)), np.concatenate((lines, places + hosts_of)))
    only = sparse.csr_array((values, at), shape=(places, places + count))
    one = np.concatenate((np.zeros(places), np.ones(count)))[np.newaxis, :]
    return [optimize.LinearConstraint(only, -1, 0), optimize.LinearConstraint(one, 1, 1)]


def _new(request: Request, decision: Decision) -> list[Placement]:
    """Return the places of instances that had none."""
    pairs = zip(request.placed, decision.chosen, strict=False)
    return [place for row, place in pairs if row is None]


def _take_again(request: Request, hosts: HostColumns, decision: Decision) -> Decision:
    places = iter([take(request, hosts, place.row) for place in _new(request, decision)])
    chosen = [
        next(places) if row is None else place
        for row, place in zip(request.placed, decision.chosen, strict=False)
    ]
    return dataclasses.replace(decision, chosen=chosen)
