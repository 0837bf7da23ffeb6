"""Deciding, as pure functions: a request and the hosts in, a decision out.

Filters are asked for all hosts at once, weighers for all that pass. Of the instances of one request
each sees what those before it took; a host that got one is asked about again, alone. The same
question to the same hosts has the same answer.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from roost.scheduler.filters import Filter
from roost.scheduler.hosts import Floats, Hosts, Ints, Mask
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weighing

Refusals = dict[str, dict[str, int]]
"""How many hosts were refused, by filter and reason; each host counts once."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """Rows of hosts per instance, in the order asked: the chosen one, then alternates in its cell.

    When there is not room for all, ``hosts`` is empty, ``fitting`` says how many of the instances
    without a host would have found one, and ``refusals`` why no other would.
    """

    hosts: list[list[int]]
    refusals: Refusals
    fitting: int


def decide(
    request: Request, hosts: Hosts, *, filters: Sequence[Filter], weighers: Sequence[Weighing]
) -> Decision:
    """Choose a host for each instance without one, all or none."""
    asked = [each for each in filters if each.applies_to(request)]
    passing, refusals = _judge(request, hosts, asked)
    pool = _Pool(request, hosts, rows=np.flatnonzero(passing), filters=asked, weighers=weighers)
    chosen: list[int] = []
    for placed in request.placed:
        row = pool.take_best() if placed is None else placed
        if row is None:
            _, refusals = _judge(request, pool.hosts_as_used(), asked)
            return Decision([], refusals, fitting=pool.taken)
        chosen.append(row)
    return Decision(pool.with_alternates(chosen), refusals, fitting=pool.taken)


class _Pool:
    """The hosts that passed, while one instance after the other takes its share of them."""

    def __init__(
        self,
        request: Request,
        hosts: Hosts,
        *,
        rows: Ints,
        filters: Sequence[Filter],
        weighers: Sequence[Weighing],
    ) -> None:
        self._request = request
        self._all = hosts
        self._rows = rows
        self._hosts = hosts.take(rows)
        self._open: Mask = np.ones(len(rows), dtype=np.bool_)
        self._filters = filters
        self._weighers = weighers
        self._asked = np.array(request.asked, dtype=np.int64)
        self.taken = 0

    def take_best(self) -> int | None:
        """Give an instance the best host; return its row, or None when none is left."""
        if not self._open.any():
            return None
        best = int(self._scores().argmax())
        self._hosts.used[:, best] += self._asked
        alone = self._hosts.take(np.array([best]))
        still, _ = _judge(self._request, alone, self._filters)
        self._open[best] = still[0]
        self.taken += 1
        return int(self._rows[best])

    def with_alternates(self, chosen: Sequence[int]) -> list[list[int]]:
        """Return each chosen row with the best others of its cell that have room now."""
        wanted = self._request.alternates
        if wanted == 0:
            return [[row] for row in chosen]
        scores = self._scores()
        ranked = {int(cell): self._rank(scores, cell) for cell in {*self._all.cell[list(chosen)]}}
        return [
            [row, *(other for other in ranked[int(self._all.cell[row])] if other != row)][
                : wanted + 1
            ]
            for row in chosen
        ]

    def hosts_as_used(self) -> Hosts:
        """Return all hosts with what the instances took so far in use."""
        used = self._all.used.copy()
        used[:, self._rows] = self._hosts.used
        return dataclasses.replace(self._all, used=used)

    def _rank(self, scores: Floats, cell: int) -> list[int]:
        """Return the best rows of a cell that are open, one more than alternates are wanted."""
        there = np.flatnonzero((self._hosts.cell == cell) & self._open)
        order = np.argsort(-scores[there], kind="stable")[: self._request.alternates + 1]
        best: list[int] = self._rows[there[order]].tolist()
        return best

    def _scores(self) -> Floats:
        """Add up the weighers, each scaled to 0 (worst open host) .. 1, times its multiplier."""
        scores: Floats = np.zeros(len(self._rows), dtype=np.float64)
        if self._open.any():
            for weigher, multiplier in self._weighers:
                raw = weigher.weigh(self._request, self._hosts)
                low, high = raw[self._open].min(), raw[self._open].max()
                if high > low:
                    scores += (raw - low) * (multiplier / (high - low))
        scores[~self._open] = -np.inf
        return scores


def _judge(request: Request, hosts: Hosts, filters: Sequence[Filter]) -> tuple[Mask, Refusals]:
    """Return which hosts pass every filter, and what the others were refused for first."""
    passing: Mask = np.ones(len(hosts), dtype=np.bool_)
    refusals: Refusals = {}
    for each in filters:
        for reason, refused in each.refuse(request, hosts):
            count = int(np.count_nonzero(passing & refused))
            if count:
                reasons = refusals.setdefault(each.name, {})
                reasons[reason] = reasons.get(reason, 0) + count
                passing &= ~refused
    return passing, refusals
