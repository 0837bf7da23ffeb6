"""Replays a trace: places its VMs one after the other, like a scheduler with fresh data."""

import array
import dataclasses
import heapq
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from roost.objects import ResourceRequest, ServerGroup
from roost.scheduler import engine
from roost.scheduler.columns import Floats, Ints
from roost.scheduler.drivers import Driver
from roost.scheduler.engine import Decision, Placement
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request
from roost.scheduler.simulation.trace import RequestShape, Trace

SIZES: Final = ("VCPU", "MEMORY_MB", "DISK_GB")
"""The resources in a trace; *by size* means a line for each."""
_PROGRESS_EVERY: Final = 500  # requests
_NO_ID: Final = str(uuid.UUID(int=0))


@dataclasses.dataclass(frozen=True)
class UnplacedRequest:
    """A request that found no host: its number in the trace, and the reason."""

    request: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Replay:
    """The changes of usage in order, and the ``seconds`` that all decisions took.

    At ``times[i]`` the usage of the host in row ``rows[i]`` grew by ``given[:, i]``: a line per
    resource in the order of ``SIZES``, and one of VMs; negative when a VM left.
    """

    times: Floats
    rows: Ints
    given: Ints
    failures: Sequence[UnplacedRequest]
    seconds: float


def replay(
    trace: Trace,
    hosts: HostColumns,
    driver: Driver,
    *,
    policy: str | None = None,
    progress: Callable[[int], None] = lambda _requests: None,
) -> Replay:
    """Replay all arrivals and departures; at the same time, departures come first.

    :param hosts: empty hosts, which are changed
    :param policy: that of the server groups of the trace; None: groups are ignored
    :param progress: called now and then with the number of further requests decided
    """
    run = _Run(trace, hosts, driver, policy=policy)
    began = time.perf_counter()
    reported = 0
    for number in range(len(trace)):
        run.arrive(number)
        if number + 1 - reported == _PROGRESS_EVERY:
            progress(_PROGRESS_EVERY)
            reported = number + 1
    run.depart(until=np.inf)
    progress(len(trace) - reported)
    return run.result(time.perf_counter() - began)


class _Run:
    """A replay under way."""

    def __init__(
        self, trace: Trace, hosts: HostColumns, driver: Driver, *, policy: str | None
    ) -> None:
        self._hosts = hosts
        self._driver = driver
        self._arrivals = trace.arrivals.tolist()
        self._departures = trace.departures.tolist()
        self._kinds = trace.kinds
        self._kind_of = trace.kind_of.tolist()
        self._asking = _Asking(trace.kinds, policy)
        self._staying: list[tuple[float, int]] = []
        self._placed: dict[int, tuple[Request, Sequence[Placement]]] = {}
        self._times = array.array("d")
        self._rows = array.array("q")
        self._given = array.array("q")
        self._signs = array.array("q")
        self._failures: list[UnplacedRequest] = []

    def arrive(self, number: int) -> None:
        now = self._arrivals[number]
        self.depart(until=now)
        request = self._asking.request(self._kind_of[number])
        decision = self._driver.decide(request, self._hosts)
        if not decision.chosen:
            self._failures.append(UnplacedRequest(number, _reason(decision)))
            return
        self._placed[number] = (request, decision.chosen)
        self._note(now, number, decision.chosen, sign=1)
        heapq.heappush(self._staying, (self._departures[number], number))

    def depart(self, *, until: float) -> None:
        """Remove the VMs that leave by then; those without departure stay."""
        staying = self._staying
        while staying and staying[0][0] <= until and staying[0][0] < np.inf:
            now, number = heapq.heappop(staying)
            request, places = self._placed.pop(number)
            engine.undo(request, self._hosts, places)
            self._note(now, number, places, sign=-1)

    def result(self, seconds: float) -> Replay:
        sizes = np.array([(kind.cores, kind.ram, kind.disk, 1) for kind in self._kinds])
        given = sizes.T[:, np.array(self._given, dtype=np.int64)] * np.array(self._signs)
        times, rows = np.array(self._times), np.array(self._rows, dtype=np.int64)
        return Replay(times, rows, given, self._failures, seconds)

    def _note(self, now: float, number: int, places: Sequence[Placement], *, sign: int) -> None:
        for place in places:
            self._times.append(now)
            self._rows.append(place.row)
            self._given.append(self._kind_of[number])
            self._signs.append(sign)


class _Asking:
    """Makes requests; those of a kind share a ResourceRequest, those of a group its member counts.

    Taking and giving back hosts updates the member counts of the request's group.
    """

    def __init__(self, kinds: Sequence[RequestShape], policy: str | None) -> None:
        self._kinds = kinds
        self._policy = policy
        self._specs: dict[int, ResourceRequest] = {}
        self._members: dict[str, dict[int, int]] = {}

    def request(self, number: int) -> Request:
        kind = self._kinds[number]
        spec = self._specs.get(number)
        if spec is None:
            spec = self._specs[number] = _spec(kind, self._policy)
        members = self._members.setdefault(kind.group, {}) if kind.group and self._policy else None
        return Request.of(spec, placed=(None,) * kind.vms, group_counts=members)


def _spec(kind: RequestShape, policy: str | None) -> ResourceRequest:
    return ResourceRequest.of(
        request_uuid=_NO_ID,
        project_id=_NO_ID,
        resources={"VCPU": kind.cores, "MEMORY_MB": kind.ram, "DISK_GB": kind.disk},
        availability_zone=kind.zone,
        group=_group(kind.group, policy) if kind.group and policy else None,
    )


def _group(name: str, policy: str) -> ServerGroup:
    return ServerGroup.of(
        uuid=str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
        project_id=_NO_ID,
        user_id=_NO_ID,
        name=name,
        policy=policy,
    )


def _reason(decision: Decision) -> str:
    """Return all reasons of a refusal: each host was refused for one of these."""
    found = {reason for reasons in decision.refusals.values() for reason in reasons}
    return " + ".join(sorted(found)) or "no host is known"
