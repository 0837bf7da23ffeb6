"""Weighers by locality labels, and by the cells of a request's other instances."""

from collections.abc import Hashable

import numpy as np

from roost.objects.report_parts import LABELS
from roost.scheduler.columns import Columns, Floats
from roost.scheduler.filters import ASK_AGAIN
from roost.scheduler.filters.locality import choices_of
from roost.scheduler.request import Request, tried_hosts
from roost.scheduler.weighers import Weigher


class LocalityWeigher(Weigher):
    """Prefers hosts with many of the labels that the request prefers."""

    name = "locality"
    reads = (LABELS,)

    def applies_to(self, request: Request) -> bool:
        return any(not each.hard for each in request.spec.locality)

    def key(self, request: Request) -> Hashable:
        return choices_of(request, hard=False)

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        choices = choices_of(request, hard=False)
        found = np.sum([one.met_by(hosts) for one in choices], axis=0)
        weights: Floats = found / len(choices)
        return weights


class CrossCellMoveWeigher(Weigher):
    """Prefers the cells where instances of the request are or were tried: staying is cheaper."""

    name = "cross_cell_move"

    def applies_to(self, request: Request) -> bool:
        if request.spec.requested_cell is not None:
            return False
        return any(row is not None for row in request.placed) or bool(tried_hosts(request.spec))

    def key(self, request: Request) -> Hashable:
        return ASK_AGAIN

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        there = np.zeros(len(hosts), dtype=np.bool_)
        for cell in _cells_of(request, hosts.whole):
            there |= hosts.cell == cell
        return there.astype(np.float64)


def _cells_of(request: Request, hosts: Columns) -> set[int]:
    rows = {row for row in request.placed if row is not None}
    for host, _node in tried_hosts(request.spec):
        rows.update(np.flatnonzero(hosts.having("host", host)).tolist())
    return {int(hosts.cell[row]) for row in rows}
