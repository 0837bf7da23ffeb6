"""Summaries and time series of a course, in the units of the trace."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from roost.scheduler.columns import Floats, Ints
from roost.scheduler.hosts import HostColumns
from roost.scheduler.simulation.amounts import SCALE
from roost.scheduler.simulation.course import Course, Window, demand_of, fewest_hosts
from roost.scheduler.simulation.replay import SIZES, Replay
from roost.scheduler.simulation.trace import Trace

NAMES: Final = ("cores", "ram", "disk")
"""The names of SIZES in a trace."""

Amounts = dict[str, float]
"""Amounts by NAMES; disk only if a host has any."""


@dataclasses.dataclass(frozen=True)
class Outline:
    """The values independent of the driver: the fleet, the demand, and the bound for it.

    ``reference`` is the VM that defines what is stranded. Demands are shares of the fleet.
    """

    hosts: int
    requests: int
    vms: int
    start: float
    end: float
    reference: Amounts
    mean_demand: Amounts
    peak_demand: Amounts
    bound_mean: float
    bound_peak: int


@dataclasses.dataclass(frozen=True)
class Summary:
    """The results of one driver. Means are over time, shares are of the whole fleet.

    ``bound`` is the least number of hosts for the placed VMs, and ``hosts_over_bound`` the ratio of
    the hosts in use to it; ``reasons`` has the number of failed VMs by reason.
    """

    placed: int
    failed: int
    failed_amounts: Amounts
    reasons: Mapping[str, int]
    hosts_used_mean: float
    hosts_used_peak: int
    bound_mean: float
    hosts_over_bound: float
    empty_share_mean: float
    used_share_mean: Amounts
    stranded_share_mean: Amounts
    stranded_share_peak: Amounts
    vms_per_second: float


def outline_of(trace: Trace, hosts: HostColumns, *, window: Window, reference: Ints) -> Outline:
    """Return the values independent of the driver."""
    capacity = _capacity(hosts)
    times, demand = demand_of(trace)
    bound = fewest_hosts(capacity, demand)
    unused = np.zeros_like(demand[0])
    course = Course(times, unused, unused, demand, demand, bound)
    weights = course.weights(window)
    return Outline(
        hosts=len(hosts),
        requests=len(trace),
        vms=int(trace.counts().sum()),
        start=window.start,
        end=window.end,
        reference=_named(reference / SCALE, capacity),
        mean_demand=_shares(demand @ weights, capacity),
        peak_demand=_shares(_peak(demand, weights), capacity),
        bound_mean=float(bound @ weights),
        bound_peak=int(_peak(bound, weights)),
    )


def summary_of(
    course: Course, replay: Replay, trace: Trace, *, hosts: HostColumns, window: Window
) -> Summary:
    """Return the results of a replay."""
    capacity, weights = _capacity(hosts), course.weights(window)
    failed = [failure.request for failure in replay.failures]
    counts = trace.counts()
    used, bound = float(course.hosts_used @ weights), float(course.bound @ weights)
    return Summary(
        placed=int(counts.sum() - counts[failed].sum()),
        failed=int(counts[failed].sum()),
        failed_amounts=_named(trace.amounts()[:, failed].sum(axis=-1) / SCALE, capacity),
        reasons=_reasons(replay, counts),
        hosts_used_mean=used,
        hosts_used_peak=int(_peak(course.hosts_used, weights)),
        bound_mean=bound,
        hosts_over_bound=used / bound if bound else 1.0,
        empty_share_mean=max(0.0, 1 - used / len(hosts)),
        used_share_mean=_shares(course.used @ weights, capacity),
        stranded_share_mean=_shares(course.stranded @ weights, capacity),
        stranded_share_peak=_shares(_peak(course.stranded, weights), capacity),
        vms_per_second=float(counts.sum()) / replay.seconds if replay.seconds else 0.0,
    )


def series_of(
    course: Course, replay: Replay, trace: Trace, *, hosts: HostColumns, times: Floats
) -> list[dict[str, Any]]:
    """Return a row per time; its keys are the columns of the CSV file, in order."""
    capacity, at = _capacity(hosts), course.indices(times)
    failed = np.array([failure.request for failure in replay.failures], dtype=np.int64)
    failures = np.concatenate(([0], trace.counts()[failed].cumsum()))
    failures = failures[np.searchsorted(trace.arrivals[failed], times, side="right")]
    columns: dict[str, Sequence[Any]] = {
        "time": times.tolist(),
        "vms": course.vms[at].tolist(),
        "failed_vms": failures.tolist(),
        "hosts_used": course.hosts_used[at].tolist(),
        "bound": course.bound[at].tolist(),
    }
    for what, amounts in (("used", course.used), ("stranded", course.stranded)):
        shares = amounts[:, at] / np.maximum(capacity.sum(axis=-1, keepdims=True), 1)
        for name, line in _named(shares, capacity).items():
            columns[f"{what}_share_{name}"] = line.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def moments(window: Window, count: int) -> Floats:
    """Return ``count`` evenly spaced times of a window, both ends included."""
    return np.linspace(window.start, window.end, count)


def _reasons(replay: Replay, counts: Ints) -> dict[str, int]:
    reasons: collections.Counter[str] = collections.Counter()
    for failure in replay.failures:
        reasons[failure.reason] += int(counts[failure.request])
    return dict(reasons.most_common())


def _capacity(hosts: HostColumns) -> Ints:
    return np.array([hosts.capacity_of(name) for name in SIZES])


def _peak(column: Ints, weights: Floats) -> Ints:
    """Return the greatest value that lasted for some time."""
    peak: Ints = column[..., weights > 0].max(axis=-1)
    return peak


def _shares(amounts: Floats | Ints, capacity: Ints) -> Amounts:
    total = np.maximum(capacity.sum(axis=-1), 1)
    return {name: float(share) for name, share in _named(amounts / total, capacity).items()}


def _named(lines: Floats, capacity: Ints) -> dict[str, Any]:
    """Return the lines by name, without disk where no host has any."""
    pairs = zip(NAMES, lines, strict=True)
    return {name: line for at, (name, line) in enumerate(pairs) if capacity[at].any()}
