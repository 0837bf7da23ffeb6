"""Base classes of filters, which refuse hosts. Each module has the filters of one subject.

A filter gives the reasons for its refusals. It keeps no state and does no I/O: all its input is in
the request and the hosts. A ``Filter`` checks many hosts at once, a ``HostFilter`` one by one and
last; a ``RequirementsFilter`` checks hosts against several demands. ``[scheduler] filters`` names
the filters in use: ``scheduler/plugins.py`` loads them, ``engine.py`` runs them.

``capacity.py``, ``resources.py``, ``traits.py``, ``capabilities.py`` and ``images.py`` check what a
host has; ``aggregates.py`` and ``load.py`` for whom it is reserved and whether it accepts
instances;
``hints.py``, ``json_query.py``, ``requested.py``, ``server_groups.py`` and ``locality.py`` the
hosts that users or operators request.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np

from roost.scheduler.columns import Columns, HostView, Mask
from roost.scheduler.request import Request

ASK_AGAIN: Final = object()
"""The key of a filter or weigher whose results are not cached."""


class Refusal(NamedTuple):
    """A reason, as a text for users, and the hosts that it rules out."""

    reason: str
    hosts: Mask


class Miss(NamedTuple):
    """The row of the host that came closest, and a text of what it lacks."""

    row: int
    lacks: str


class Filter:
    """Checks all hosts at once."""

    name: ClassVar[str]
    by_usage: ClassVar[bool] = False
    """Whether its result for a host depends on the instances there."""
    forceable: ClassVar[bool] = True
    """Whether a forced request skips it."""
    hints: ClassVar[tuple[str, ...]] = ()
    """The scheduler hints that it reads."""
    reads: Collection[str] = ()
    """The parts of hosts' reports that it reads: of :mod:`roost.objects.report_parts`."""

    def applies_to(self, request: Request) -> bool:
        """Return whether this filter applies; called once per request."""
        return True

    def key(self, request: Request) -> Hashable:
        """Return the values of the request on which the result depends.

        The result is cached for requests with an equal key, and updated for changed hosts.
        """
        return ASK_AGAIN

    def refuse(self, request: Request, hosts: Columns) -> Sequence[Refusal]:
        """Return the hosts to refuse by reason; a host with several counts under the first."""
        raise NotImplementedError

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        """Return which of these refused hosts came closest; None: unknown."""
        return None


class HostFilter:
    """Checks hosts one by one: runs last, and only on the best, until enough are found."""

    name: ClassVar[str]
    forceable: ClassVar[bool] = True
    hints: ClassVar[tuple[str, ...]] = ()
    reads: Collection[str] = ()

    def applies_to(self, request: Request) -> bool:
        """Return whether this filter applies; called once per request."""
        return True

    def why_not(self, request: Request, host: HostView) -> str | None:
        """Return the reason, as a text for users; None: the host passes."""
        raise NotImplementedError


AnyFilter = Filter | HostFilter


class RequirementsFilter(Filter):
    """Has a refusal per demand; the host that fails the fewest is the closest."""

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        return fewest(self.refuse(request, hosts))


def fewest(refusals: Sequence[Refusal]) -> Miss | None:
    """Return the host that the fewest reasons rule out, and these reasons."""
    if not refusals:
        return None
    counts = np.sum([refusal.hosts for refusal in refusals], axis=0)
    row = int(counts.argmin())
    return Miss(row, "; ".join(reason for reason, refused in refusals if refused[row]))
