"""The parts of a host's report that are sent only if a scheduler reads them.

Filters and weighers name what they read (``reads``); hosts leave out the rest. All other parts are
always sent: claims, or what operators see, need them.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

CAPABILITIES: Final = "capabilities"
LABELS: Final = "labels"
METRICS: Final = "metrics"  # all of them


def metric(name: str) -> str:
    """Return the name of the part that is a single metric."""
    return f"{METRICS}.{name}"


def read_of(parts: Mapping[str, Any], read: Collection[str] | None) -> dict[str, Any]:
    """Return the parts that are read; None: all, since it is not known what is."""
    if read is None:
        return dict(parts)
    found = {name: value for name, value in parts.items() if name in read}
    single = {name: value for name, value in parts[METRICS].items() if metric(name) in read}
    return {METRICS: single, **found}
