"""What a host must pass: the bases of filters. A module has filters of one subject.

A filter says why not. It sees values only, keeps nothing between two questions, and opens nothing:
whatever it needs to know is in the request and the hosts. A ``Filter`` rules out many hosts at
once, a ``HostFilter`` one by one, last; a ``RequirementsFilter`` holds hosts against several
demands. Which are in force says ``[scheduler] filters``: ``scheduler/plugins.py`` finds them,
``engine.py`` asks them.

``capacity.py``, ``traits.py``, ``capabilities.py`` and ``images.py`` are what a host has;
``aggregates.py`` and ``load.py`` what it is for and whether it takes anything; ``hints.py``,
``json_query.py``, ``requested.py``, ``server_groups.py`` and ``locality.py`` where somebody wants
the instance to be.
"""

from collections.abc import Hashable, Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np

from roost.scheduler.columns import Columns, HostView, Mask
from roost.scheduler.request import Request

ASK_AGAIN: Final = object()
"""The key of a filter or weigher whose answers are not kept."""


class Refusal(NamedTuple):
    """A reason, in words that users understand, and the hosts that it rules out."""

    reason: str
    hosts: Mask


class Miss(NamedTuple):
    """The row of the host that came closest, and what it lacks, in words."""

    row: int
    lacks: str


class Filter:
    """Rules hosts out, all of them at once."""

    name: ClassVar[str]
    by_usage: ClassVar[bool] = False
    """Whether its answer for a host may change when instances come to it or go."""
    forceable: ClassVar[bool] = True
    """Whether a forced request gets past it."""
    hints: ClassVar[tuple[str, ...]] = ()
    """What users may hint that it reads."""

    def applies_to(self, request: Request) -> bool:
        """Tell whether this filter has anything to say; asked once per request."""
        return True

    def key(self, request: Request) -> Hashable:
        """Return what of the request the answer depends on.

        The answer is kept for other requests with an equal key, and mended for hosts that changed.
        """
        return ASK_AGAIN

    def refuse(self, request: Request, hosts: Columns) -> Sequence[Refusal]:
        """Return whom to refuse and why; a host with several reasons counts under the first."""
        raise NotImplementedError

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        """Return which of these hosts, all refused, came closest; None: it cannot be told."""
        return None


class HostFilter:
    """Rules hosts out one by one: asked last, and only of the best, until enough are found."""

    name: ClassVar[str]
    forceable: ClassVar[bool] = True
    hints: ClassVar[tuple[str, ...]] = ()

    def applies_to(self, request: Request) -> bool:
        """Tell whether this filter has anything to say; asked once per request."""
        return True

    def why_not(self, request: Request, host: HostView) -> str | None:
        """Return the reason, in words that users understand; None: the host passes."""
        raise NotImplementedError


AnyFilter = Filter | HostFilter


class RequirementsFilter(Filter):
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
