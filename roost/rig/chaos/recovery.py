"""How long things took once nothing was broken any more."""

import dataclasses
from collections.abc import Iterable, Sequence

from roost.rig.boots import percentile
from roost.rig.chaos.breaker import Made
from roost.rig.chaos.watch import StormServer


@dataclasses.dataclass(frozen=True)
class Recovery:
    """Percentiles of the recovery times of ``count`` boots and deletes, in seconds."""

    count: int
    p50: float
    p99: float
    max: float


def measure(servers: Iterable[StormServer], faults: Sequence[Made]) -> Recovery:
    """Return how long boots and deletes took that something broken may have harmed.

    Those are the ones under way at any time when a fault was in force. Their recovery time runs
    from the last healing before they were done (from their request, when that was later) until they
    were done.
    """
    times = [
        time
        for server in servers
        for began, done in _spans(server)
        if (time := _recovery(began, done, faults)) is not None
    ]
    return Recovery(
        count=len(times),
        p50=percentile(times, 50),
        p99=percentile(times, 99),
        max=max(times, default=0.0),
    )


def _spans(server: StormServer) -> list[tuple[float, float]]:
    """Return when each thing began that was asked of a server, and when it was done."""
    spans = []
    if server.settled is not None:
        spans.append((server.asked, server.settled))
    if server.delete_asked is not None and server.gone is not None:
        spans.append((server.delete_asked, server.gone))
    return spans


def _recovery(began: float, done: float, faults: Sequence[Made]) -> float | None:
    if not any(made.overlaps(began, done) for made in faults):
        return None
    healed = [made.healed for made in faults if made.healed is not None and made.healed <= done]
    return done - max([began, *healed])
