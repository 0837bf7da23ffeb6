"""The course of a replay: the use of hosts over time, as step functions.

A host is *in use* while it has a VM. A resource of a host is *stranded* while so little is free of
another one that the reference VM does not fit: only smaller VMs can use it. The *bound* is the
least number of hosts that have, in each resource, as much as all VMs take together, the largest
hosts first; with hosts of one kind that is demand / size, rounded up. No placement can use fewer,
and often even the best needs more.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from roost.scheduler.columns import Floats, Ints
from roost.scheduler.hosts import HostColumns
from roost.scheduler.simulation.replay import SIZES, Replay
from roost.scheduler.simulation.trace import Trace


class Window(NamedTuple):
    """The period that is evaluated; VMs that arrive before it only fill the hosts."""

    start: float
    end: float

    @classmethod
    def of(cls, trace: Trace) -> "Window":
        """Return the time from 0, or from the first arrival if that is later, to the last one."""
        first, last = float(trace.arrivals[0]), float(trace.arrivals[-1])
        return cls(min(max(0.0, first), last), last)


@dataclass(frozen=True)
class Course:
    """Values that hold from each of ``times`` until the next; ``used`` and ``stranded`` by size."""

    times: Floats
    vms: Ints
    hosts_used: Ints
    used: Ints
    stranded: Ints
    bound: Ints

    def weights(self, window: Window) -> Floats:
        """Return the weight of each entry in a mean over time."""
        begins = np.clip(self.times, window.start, window.end)
        lasts = np.diff(begins, append=window.end)
        if window.end > window.start:
            return lasts / (window.end - window.start)
        lasts[self.indices(np.array([window.end]))] = 1.0
        return lasts

    def indices(self, times: Floats) -> Ints:
        """Return the indices of the entries that hold at these times."""
        found: Ints = np.searchsorted(self.times, times, side="right") - 1
        return found


def course_of(replay: Replay, hosts: HostColumns, *, reference: Ints) -> Course:
    """Return the course of the hosts; it begins at -inf, when they are empty.

    :param reference: the VM that defines what is stranded, by size
    """
    capacity = np.array([hosts.capacity_of(name) for name in SIZES])
    sizes, vms = replay.given[:-1], replay.given[-1]
    used = _summed(sizes)
    order = np.argsort(replay.rows, kind="stable")  # by host, then by time
    back = np.argsort(order, kind="stable")
    rows, given = replay.rows[order], replay.given[:, order]
    after = _sums_by_row(given, rows)
    before = after - given
    in_use = (after[-1] > 0).astype(np.int64) - (before[-1] > 0)
    left = capacity[:, rows]
    stranded = _stranded(left - after[:-1], reference)
    stranded -= _stranded(left - before[:-1], reference)
    return Course(
        times=np.concatenate(([-np.inf], replay.times)),
        vms=_summed(vms),
        hosts_used=_summed(in_use[back]),
        used=used,
        stranded=_summed(stranded[:, back])
        + _stranded(capacity, reference).sum(axis=-1, keepdims=True),
        bound=fewest_hosts(capacity, used),
    )


def demand_of(trace: Trace) -> tuple[Floats, Ints]:
    """Return the times at which the total demand of a trace changes, and the demand, by size."""
    amounts = trace.amounts()
    staying = np.isfinite(trace.departures)
    times = np.concatenate((trace.arrivals, trace.departures[staying]))
    changes = np.concatenate((amounts, -amounts[:, staying]), axis=-1)
    at, where = np.unique(times, return_inverse=True)
    sums = np.zeros((len(SIZES), len(at)), dtype=np.int64)
    for line, change in zip(sums, changes, strict=True):
        np.add.at(line, where, change)
    return at, sums.cumsum(axis=-1)


def fewest_hosts(capacity: Ints, demand: Ints) -> Ints:
    """Return the bound for each demand (by size); all hosts + 1 where they do not suffice."""
    most_first = -np.sort(-capacity, axis=-1)
    found = [
        np.where(wanted > 0, np.searchsorted(room, wanted) + 1, 0)
        for room, wanted in zip(most_first.cumsum(axis=-1), demand, strict=True)
    ]
    bound: Ints = np.max(found, axis=0).astype(np.int64)
    return bound


def typical(trace: Trace) -> Ints:
    """Return the median VM, size by size."""
    sizes = np.array([(kind.cores, kind.ram, kind.disk) for kind in trace.kinds], dtype=np.int64)
    each = np.repeat(sizes[trace.kind_of], trace.counts(), axis=0)
    median: Ints = np.median(each, axis=0).astype(np.int64)
    return median


def _stranded(free: Ints, reference: Ints) -> Ints:
    """Return the free amounts by size where another resource is short."""
    short = free < reference[:, np.newaxis]
    others = short.sum(axis=0) - short
    return np.where(others > 0, free, 0)


def _sums_by_row(given: Ints, rows: Ints) -> Ints:
    """Return cumulative sums that restart with each row."""
    sums = given.cumsum(axis=-1)
    indices = np.arange(len(rows))
    firsts = np.maximum.accumulate(np.where(np.diff(rows, prepend=-1) != 0, indices, 0))
    before: Ints = (sums - given)[:, firsts]
    return sums - before


def _summed(changes: Ints) -> Ints:
    """Return the cumulative sums of changes, beginning with 0."""
    nothing = np.zeros((*changes.shape[:-1], 1), dtype=np.int64)
    sums: Ints = np.concatenate((nothing, changes.cumsum(axis=-1)), axis=-1)
    return sums
