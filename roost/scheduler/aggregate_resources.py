"""What aggregates add to the reports of their hosts, as cached in this process."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from roost.db.engine import Session
from roost.db.scheduler import aggregates
from roost.objects import HostReport, aggregate_resources

_MAX_AGE: Final = 1.0  # seconds


class AddedResources:
    """Adds the resource classes and traits of aggregates to reports. Thread-safe.

    A change of an aggregate has an effect on reports at most a second later.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at: float | None = None
        self._found: tuple[int, Mapping[str, aggregate_resources.AggregateResources]] = (0, {})

    def forget_look(self) -> None:
        """Make the next report read the aggregates if they changed."""
        self._looked_at = None

    def added_to(self, session: Session, report: HostReport) -> HostReport:
        """Return a report with what the host's aggregates add to it."""
        looked_at, now = self._looked_at, self._clock()
        if looked_at is None or now - looked_at >= _MAX_AGE:
            self._look(session)
            self._looked_at = now
        _, by_host = self._found
        added = by_host.get(report.host)
        return report if added is None else added.added_to(report)

    def _look(self, session: Session) -> None:
        revision, _ = self._found
        newest = aggregates.revision(session)
        if newest != revision:
            self._found = newest, aggregate_resources.by_host(aggregates.read_all(session))
