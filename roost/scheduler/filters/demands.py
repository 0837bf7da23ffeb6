"""Filters that hold hosts against several demands."""

from collections.abc import Sequence

import numpy as np

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Filter, Miss, Refusal
from roost.scheduler.request import Request


class DemandsFilter(Filter):
    """Has a refusal per demand; the host that fails the fewest came closest."""

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        return fewest(self.refuse(request, hosts))


def fewest(refusals: Sequence[Refusal]) -> Miss | None:
    """Return the host that the fewest reasons rule out, and these reasons."""
    if not refusals:
        return None
    counts = np.sum([refusal.hosts for refusal in refusals], axis=0)
    row = int(counts.argmin())
    return Miss(row, "; ".join(reason for reason, refused in refusals if refused[row]))
