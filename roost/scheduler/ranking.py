"""Cached scores of all hosts for requests of one kind, updated where hosts changed.

This makes decisions cheap: thousands of requests have the same few flavors, and each changes one
host.
"""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from roost.scheduler.columns import Columns, Floats, Rows
from roost.scheduler.filters import ASK_AGAIN, AnyFilter, Filter, HostFilter
from roost.scheduler.hosts import HostColumns, Position
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weighing, multiplier_of

REFUSED: Final = -np.inf
_FEW: Final = 16  # rows among which duplicates are not worth removing


@dataclasses.dataclass(frozen=True)
class PlugIns:
    """The plug-ins that apply to a request.

    Results of the ``kept`` ones are cached for all requests with the same ``key``.
    """

    key: Hashable
    kept_filters: Sequence[Filter]
    fresh_filters: Sequence[Filter]
    host_filters: Sequence[HostFilter]
    kept_weighers: Sequence[Weighing]
    fresh_weighers: Sequence[Weighing]

    @classmethod
    def of(
        cls, request: Request, *, filters: Sequence[AnyFilter], weighers: Sequence[Weighing]
    ) -> "PlugIns":
        """Choose the plug-ins that apply."""
        asked = asked_of(request, filters)
        host_filters = [each for each in asked if isinstance(each, HostFilter)]
        vectors = [(each, each.key(request)) for each in asked if isinstance(each, Filter)]
        weighing = [
            (each, each.weigher.key(request))
            for each in weighers
            if each.multiplier and each.weigher.applies_to(request)
        ]
        keys = [(each.name, key) for each, key in vectors if key is not ASK_AGAIN]
        keys += [(each.weigher.name, key) for each, key in weighing if key is not ASK_AGAIN]
        return cls(
            key=tuple(keys),
            kept_filters=[each for each, key in vectors if key is not ASK_AGAIN],
            fresh_filters=[each for each, key in vectors if key is ASK_AGAIN],
            host_filters=host_filters,
            kept_weighers=[each for each, key in weighing if key is not ASK_AGAIN],
            fresh_weighers=[each for each, key in weighing if key is ASK_AGAIN],
        )


class Ranking:
    """Scores by all plug-ins whose results are cached; a refused host has ``REFUSED``."""

    scores: Floats
    _firm: Floats
    _position: Position
    _scale: tuple[int, ...]

    def __init__(self, plug_ins: PlugIns, hosts: HostColumns, request: Request) -> None:
        filters, weighers = plug_ins.kept_filters, plug_ins.kept_weighers
        self._hosts = hosts
        self._firm_filters = [each for each in filters if not each.by_usage]
        self._usage_filters = [each for each in filters if each.by_usage]
        self._firm_weighers = [each for each in weighers if not each.weigher.by_usage]
        self._usage_weighers = [each for each in weighers if each.weigher.by_usage]
        self._rank_all(request)

    def refresh(self, request: Request) -> Floats:
        """Return the current scores; do not change them."""
        changed = self._hosts.journal.since(self._position)
        if changed is None or self._hosts.scale != self._scale or self._is_much(*changed):
            self._rank_all(request)
            return self.scores
        used, described = changed
        if described:
            rows = _distinct(described)
            self._firm[rows] = self._firm_scores(request, self._hosts.some(rows))
        if used or described:
            rows = _distinct(used + described)
            some = self._hosts.some(rows)
            self.scores[rows] = self._usage_scores(request, some, self._firm[rows])
        self._position = self._hosts.journal.now()
        return self.scores

    def _is_much(self, used: list[int], described: list[int]) -> bool:
        """Return whether so much has changed that a full ranking is cheaper than an update."""
        return len(used) + len(described) > len(self._hosts) // 2 + _FEW

    def _rank_all(self, request: Request) -> None:
        self._scale = self._hosts.scale
        self._position = self._hosts.journal.now()
        self._firm = self._firm_scores(request, self._hosts)
        self.scores = self._usage_scores(request, self._hosts, self._firm)

    def _firm_scores(self, request: Request, hosts: Columns) -> Floats:
        scores = np.zeros(len(hosts))
        weigh(scores, request, hosts, self._firm_weighers)
        refuse(scores, request, hosts, self._firm_filters)
        return scores

    def _usage_scores(self, request: Request, hosts: Columns, firm: Floats) -> Floats:
        scores = firm.copy()
        weigh(scores, request, hosts, self._usage_weighers)
        refuse(scores, request, hosts, self._usage_filters)
        return scores


def asked_of(request: Request, filters: Sequence[AnyFilter]) -> list[AnyFilter]:
    """Return the filters that apply; a forced request skips all that are forceable."""
    forced = request.spec.forced
    return [
        each for each in filters if not (forced and each.forceable) and each.applies_to(request)
    ]


def weigh(scores: Floats, request: Request, hosts: Columns, weighers: Sequence[Weighing]) -> None:
    """Add the weights, in place."""
    for weighing in weighers:
        scores += weighing.weigher.weigh(request, hosts) * multiplier_of(weighing, hosts)


def refuse(scores: Floats, request: Request, hosts: Columns, filters: Sequence[Filter]) -> None:
    """Mark refused hosts, in place."""
    for each in filters:
        for refusal in each.refuse(request, hosts):
            scores[refusal.hosts] = REFUSED


def _distinct(rows: list[int]) -> Rows:
    return np.array(rows if len(rows) < _FEW else sorted(set(rows)), dtype=np.intp)
