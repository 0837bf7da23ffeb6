"""Places the VMs of a trace one after the other, as a scheduler would that misses nothing."""

import array
import dataclasses
import heapq
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from roost.db.scheduler.hosts import RESOURCES
from roost.objects import Flavor, RequestSpec, ServerGroup
from roost.scheduler import engine
from roost.scheduler.columns import Floats, Ints
from roost.scheduler.drivers import Driver
from roost.scheduler.engine import Decision, Placement
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request
from roost.scheduler.simulation.trace import RequestShape, Trace

_TELL_EVERY: Final = 500  # requests
_NOBODY: Final = str(uuid.UUID(int=0))


@dataclasses.dataclass(frozen=True)
class UnplacedRequest:
    """A request that found no place: its number in the trace, and why, in words."""

    request: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Replay:
    """What happened, in order, and how many ``seconds`` it took to decide all that.

    At ``times[i]`` the host in row ``rows[i]`` gave away ``given[:, i]``, a line per resource in
    the order of ``RESOURCES``; what is negative it got back.
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
    tell: Callable[[int], None] = lambda _requests: None,
) -> Replay:
    """Let all VMs come and go. Who leaves when another one comes makes room first.

    :param hosts: empty ones, which are changed
    :param policy: that of the server groups of the trace; None: groups do not matter
    :param tell: told now and then how many more requests were decided
    """
    run = _Run(trace, hosts, driver, policy=policy)
    began = time.perf_counter()
    told = 0
    for number in range(len(trace)):
        run.arrive(number)
        if number + 1 - told == _TELL_EVERY:
            tell(_TELL_EVERY)
            told = number + 1
    run.depart(until=np.inf)
    tell(len(trace) - told)
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
        self._kind_of = trace.kind_of.tolist()
        self._asking = _Asking(trace.kinds, policy)
        self._staying: list[tuple[float, int]] = []
        self._placed: dict[int, tuple[Request, Sequence[Placement]]] = {}
        self._times = array.array("d")
        self._rows = array.array("q")
        self._given = array.array("q")
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
        self._note(now, request, decision.chosen, sign=1)
        heapq.heappush(self._staying, (self._departures[number], number))

    def depart(self, *, until: float) -> None:
        """Let go who leaves by then, but not who never does."""
        staying = self._staying
        while staying and staying[0][0] <= until and staying[0][0] < np.inf:
            now, number = heapq.heappop(staying)
            request, places = self._placed.pop(number)
            engine.undo(request, self._hosts, places)
            self._note(now, request, places, sign=-1)

    def result(self, seconds: float) -> Replay:
        given = np.array(self._given, dtype=np.int64).reshape(-1, len(RESOURCES)).T
        times, rows = np.array(self._times), np.array(self._rows, dtype=np.int64)
        return Replay(times, rows, given, self._failures, seconds)

    def _note(
        self, now: float, request: Request, places: Sequence[Placement], *, sign: int
    ) -> None:
        amounts = array.array("q", [sign * each for each in request.asked])
        for place in places:
            self._times.append(now)
            self._rows.append(place.row)
            self._given.extend(amounts)


class _Asking:
    """Makes requests; those of a kind have their RequestSpec in common, those of a group members.

    A request counts its group's members itself while it takes places and gives them back.
    """

    def __init__(self, kinds: Sequence[RequestShape], policy: str | None) -> None:
        self._kinds = kinds
        self._policy = policy
        self._specs: dict[int, RequestSpec] = {}
        self._members: dict[str, dict[int, int]] = {}

    def request(self, number: int) -> Request:
        kind = self._kinds[number]
        spec = self._specs.get(number)
        if spec is None:
            spec = self._specs[number] = _spec(kind, self._policy)
        members = self._members.setdefault(kind.group, {}) if kind.group and self._policy else None
        return Request.of(spec, placed=(None,) * kind.vms, group_counts=members)


def _spec(kind: RequestShape, policy: str | None) -> RequestSpec:
    return RequestSpec.of(
        request_uuid=_NOBODY,
        project_id=_NOBODY,
        user_id=_NOBODY,
        num_instances=kind.vms,
        flavor=_flavor(kind),
        image=None,
        availability_zone=kind.zone,
        group=_group(kind.group, policy) if kind.group and policy else None,
    )


def _flavor(kind: RequestShape) -> Flavor:
    return Flavor.of(
        flavorid="simulated",
        name="simulated",
        vcpus=kind.cores,
        memory_mb=kind.ram,
        root_gb=kind.disk,
        ephemeral_gb=0,
        swap=0,
        rxtx_factor=1.0,
        is_public=True,
        disabled=False,
        description=None,
        extra_specs={},
    )


def _group(name: str, policy: str) -> ServerGroup:
    return ServerGroup.of(
        uuid=str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
        project_id=_NOBODY,
        user_id=_NOBODY,
        name=name,
        policy=policy,
    )


def _reason(decision: Decision) -> str:
    """Return all that stood against it: each host was refused for one of these."""
    found = {reason for reasons in decision.refusals.values() for reason in reasons}
    return " + ".join(sorted(found)) or "no host is known"
