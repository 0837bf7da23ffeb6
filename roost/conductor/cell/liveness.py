"""Reports to the schedulers which hosts of a cell are up: changes at once, all periodically.

Any number of cell-conductors do this concurrently. Of their reports, the one with the later time by
the clock of the cell's database counts.

A conductor's own heartbeats go over the bus like those of hosts. So while any heartbeat is stored,
those of hosts arrive at some conductor. When none is, or this process did not check for a while,
missing heartbeats say nothing about the hosts.
"""

import dataclasses
import datetime
import logging
import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Protocol, Self

from roost import exception
from roost.context import RequestContext, admin_context
from roost.db.cell import identity, services
from roost.db.engine import Database
from roost.objects import CellLiveness
from roost.objects.base import version_at
from roost.servicegroup.driver import ListeningTime, ServiceGroup

LOG = logging.getLogger(__name__)
COMPUTE: Final = "roost-compute"
_LEAST_GAP: Final = 3.0  # seconds: a machine that is busy for a moment is not disconnected


class Schedulers(Protocol):
    """The methods of :class:`roost.scheduler.client.CellSchedulerClient` that are used."""

    def update_liveness(self, context: RequestContext, *, liveness: CellLiveness) -> Any: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostTimeouts:
    """How long hosts may send no heartbeats.

    :param silence: seconds that we must have received heartbeats, unbroken, before a host is down
    :param gap: seconds without any heartbeat that count as a break; much less than ``silence``
    """

    silence: float
    gap: float

    @classmethod
    def of(cls, *, down_time: float) -> Self:
        """Derive both from the option, so that unnoticed gaps do no harm."""
        return cls(silence=down_time, gap=max(down_time / 5, _LEAST_GAP))

    @property
    def own_interval(self) -> float:
        """Seconds between two heartbeats of a conductor: a single lost one makes no gap."""
        return self.gap / 3


@dataclasses.dataclass(frozen=True)
class _Sight:
    """The result of one check: for each host whether it is up, or that this is unknown.

    :ivar disconnected: whether heartbeats could not arrive, even if hosts are up
    :ivar sure: whether every host has had the time to send a heartbeat
    """

    cell_uuid: str
    version: int
    hosts: dict[str, bool]
    unsure: set[str]
    disconnected: bool
    sure: bool

    def report(self, hosts: dict[str, bool], *, whole: bool) -> CellLiveness:
        return CellLiveness.of(
            cell_uuid=self.cell_uuid,
            version=self.version,
            whole=whole,
            up=sorted(host for host, is_up in hosts.items() if is_up),
            down=sorted(host for host, is_up in hosts.items() if not is_up),
        )


def _log(changed: Mapping[str, bool]) -> None:
    for host, up in sorted(changed.items()):
        if up:
            LOG.info("host %s is up", host)
        else:
            LOG.warning("host %s is down", host)


class LivenessReporter:
    """Checks one cell and reports its hosts to the schedulers; one check at a time.

    While disconnected it reports nothing. After that it reports no host down until all had the time
    to send a heartbeat again: until then they keep their last reported state.

    :param interval: seconds after which everything is reported again
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        database: Database,
        group: ServiceGroup,
        schedulers: Schedulers,
        *,
        interval: float,
        patience: HostTimeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._group = group
        self._schedulers = schedulers
        self._interval = interval
        self._patience = patience
        self._clock = clock
        self._listening = ListeningTime(gap=patience.gap)
        self._looked_at = -math.inf
        self._rolled_at: datetime.datetime | None = None  # by the clock of the database
        self._sight: _Sight | None = None
        self._reported: dict[str, bool] | None = None  # None: the schedulers' state is unknown
        self._reported_all_at = 0.0

    def beat(self) -> None:
        """Report this daemon as alive to the cell's service group.

        :raises roost.exception.Unavailable: when the database or the group cannot be reached
        """
        cell_uuid, _name = self._database.query(identity.get)
        self._group.beat(cell_uuid)

    def surely_down(self, among: Collection[str]) -> frozenset[str]:
        """Return which of these hosts are certainly down by the latest check; thread-safe.

        A host whose heartbeats could not arrive is not included, unless an operator forced it down.
        One whose service was deleted is: it would have reported itself again. There are none when
        the latest check is too old.
        """
        sight = self._sight
        if sight is None or self._clock() - self._looked_at > self._patience.gap:
            return frozenset()
        gone = {host for host in among if sight.sure and host not in sight.hosts}
        return frozenset(gone | {host for host in among if sight.hosts.get(host) is False})

    def look(self) -> None:
        """Check once, and report changes or, after the interval, everything.

        :raises roost.exception.Unavailable: when the cell's database cannot be reached
        """
        sight = self._see()
        now = self._looked_at = self._clock()
        self._sight = sight
        if sight.disconnected:
            return  # without reports the schedulers take the whole cell for down after a while
        if self._reported is None or now - self._reported_all_at >= self._interval:
            if self._report(sight.report(sight.hosts, whole=not sight.unsure)):
                self._remember(sight)
                self._reported_all_at = now
            return
        changed = dict(sight.hosts.items() - self._reported.items())
        if changed:
            _log(changed)
            if self._report(sight.report(changed, whole=False)):
                self._remember(sight)

    def _remember(self, sight: _Sight) -> None:
        """Note the states that the schedulers have now; unsure hosts keep the earlier state."""
        before = self._reported or {}
        left_out = {host: before[host] for host in sight.unsure if host in before}
        self._reported = {**left_out, **sight.hosts}

    def _see(self) -> _Sight:
        with self._database.read() as session:
            cell_uuid, _name = identity.get(session)
            roll = services.call_roll(session)
        disconnected = not self._listen(roll)
        sure = self._listening.seconds(self._clock()) >= self._patience.silence
        computes = [service for service in roll.services if service.binary == COMPUTE]
        up = self._group.find_up(computes, cell_uuid=cell_uuid, now=roll.now)
        hosts: dict[str, bool] = {}
        unsure: set[str] = set()
        for service in computes:
            if service.uuid in up or service.forced_down or sure:
                hosts[service.host] = service.uuid in up
            else:
                unsure.add(service.host)
        return _Sight(cell_uuid, version_at(roll.now), hosts, unsure, disconnected, sure)

    def _listen(self, roll: services.RollCall) -> bool:
        """Note, and return, whether heartbeats arrive, without a break since the last check."""
        gap = datetime.timedelta(seconds=self._patience.gap)
        slept = self._rolled_at is not None and roll.now - self._rolled_at > gap
        connected = any(roll.now - service.last_seen_up <= gap for service in roll.services)
        self._rolled_at = roll.now
        self._listening.note(self._clock(), connected=connected and not slept)
        return connected and not slept

    def _report(self, liveness: CellLiveness) -> bool:
        """Send a report to the schedulers; after a failure, the next one has all hosts."""
        try:
            self._schedulers.update_liveness(admin_context(), liveness=liveness)
        except exception.Unavailable as error:
            if self._reported is not None:
                LOG.warning("could not report to schedulers which hosts are up: %s", error.message)
            self._reported = None
            return False
        return True
