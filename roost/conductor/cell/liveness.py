"""Which hosts of a cell are up, reported to the schedulers: what changes at once, all now and then.

Any number of cell-conductors do this side by side. Of what they report, the later look counts, by
the clock of the cell's database.

A conductor's own heartbeats go over the bus like those of hosts. So as long as any is written down,
those of hosts arrive, whichever conductor takes them in; when none is, or this process did not look
for a while, then that heartbeats of hosts are missing says nothing about them.
"""

import dataclasses
import datetime
import logging
import math
import time
from collections.abc import Callable, Collection
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
_LEAST_GAP: Final = 3.0  # seconds: a machine that is busy for a moment is not deaf


class Schedulers(Protocol):
    """What a lookout needs of :class:`roost.scheduler.client.CellSchedulerClient`."""

    def update_liveness(self, context: RequestContext, *, liveness: CellLiveness) -> Any: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostTimeouts:
    """How long hosts may be silent.

    :param silence: seconds that we must have listened, without a break, before a host is down
    :param gap: seconds in which somebody is heard of as long as we hear; much less than the other
    """

    silence: float
    gap: float

    @classmethod
    def of(cls, *, down_time: float) -> Self:
        """Derive it from the option: so that gaps which nobody notices do no harm."""
        return cls(silence=down_time, gap=max(down_time / 5, _LEAST_GAP))

    @property
    def own_interval(self) -> float:
        """Seconds between two heartbeats of a conductor: one that is lost does not deafen us."""
        return self.gap / 3


@dataclasses.dataclass(frozen=True)
class _Sight:
    """What one look saw: whether each host is up, and of which hosts nobody can tell yet.

    :ivar deaf: whether no host could be heard, were it up
    :ivar sure: whether every host has had the time to be heard
    """

    cell_uuid: str
    version: int
    hosts: dict[str, bool]
    unsure: set[str]
    deaf: bool
    sure: bool

    def tell(self, hosts: dict[str, bool], *, whole: bool) -> CellLiveness:
        return CellLiveness.of(
            cell_uuid=self.cell_uuid,
            version=self.version,
            whole=whole,
            up=sorted(host for host, is_up in hosts.items() if is_up),
            down=sorted(host for host, is_up in hosts.items() if not is_up),
        )


class LivenessReporter:
    """Looks at one cell, and tells what it sees; one look at a time.

    While it cannot hear it tells nothing, and after that nothing bad until hosts had the time to be
    heard again: they stay what they were told to be.

    :param interval: seconds after which everything is told again
    :param clock: seconds that never go back
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
        self._told: dict[str, bool] | None = None  # None: who knows what the schedulers know?
        self._told_all_at = 0.0

    def beat(self) -> None:
        """Stay among the living daemons of the cell.

        :raises roost.exception.Unavailable: when the database or the group cannot be reached
        """
        with self._database.read() as session:
            cell_uuid, _name = identity.get(session)
        self._group.beat(cell_uuid)

    def surely_down(self, among: Collection[str]) -> frozenset[str]:
        """Return which of these hosts are down for sure by the latest look; any thread may ask.

        One that we could not have heard is not among them, unless an operator has forced it down.
        One whose service was deleted is: it would have reported itself again. There are none when
        the latest look is too long ago.
        """
        sight = self._sight
        if sight is None or self._clock() - self._looked_at > self._patience.gap:
            return frozenset()
        gone = {host for host in among if sight.sure and host not in sight.hosts}
        return frozenset(gone | {host for host in among if sight.hosts.get(host) is False})

    def look(self) -> None:
        """Look once, and tell what is new or, when it is time to, everything.

        :raises roost.exception.Unavailable: when the cell's database cannot be reached
        """
        sight = self._see()
        now = self._looked_at = self._clock()
        self._sight = sight
        if sight.deaf:
            return  # and so is the cell: when that lasts, its silence tells it
        if self._told is None or now - self._told_all_at >= self._interval:
            if self._report(sight.tell(sight.hosts, whole=not sight.unsure)):
                self._remember(sight)
                self._told_all_at = now
            return
        changed = dict(sight.hosts.items() - self._told.items())
        if changed:
            LOG.info("hosts that went up (True) or down (False): %s", changed)
            if self._report(sight.tell(changed, whole=False)):
                self._remember(sight)

    def _remember(self, sight: _Sight) -> None:
        """Note what the schedulers know now; of hosts left out, what they were told before."""
        before = self._told or {}
        left_out = {host: before[host] for host in sight.unsure if host in before}
        self._told = {**left_out, **sight.hosts}

    def _see(self) -> _Sight:
        with self._database.read() as session:
            cell_uuid, _name = identity.get(session)
            roll = services.call_roll(session)
        deaf = not self._listen(roll)
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
        return _Sight(cell_uuid, version_at(roll.now), hosts, unsure, deaf, sure)

    def _listen(self, roll: services.RollCall) -> bool:
        """Note, and return, whether anybody is heard of, and was since the look before."""
        gap = datetime.timedelta(seconds=self._patience.gap)
        slept = self._rolled_at is not None and roll.now - self._rolled_at > gap
        hears = any(roll.now - service.last_seen_up <= gap for service in roll.services)
        self._rolled_at = roll.now
        self._listening.note(self._clock(), hears=hears and not slept)
        return hears and not slept

    def _report(self, liveness: CellLiveness) -> bool:
        """Tell the schedulers; what does not get through is told, with all the rest, next time."""
        try:
            self._schedulers.update_liveness(admin_context(), liveness=liveness)
        except exception.Unavailable as error:
            if self._told is not None:
                LOG.warning("the schedulers do not know which hosts are up: %s", error.message)
            self._told = None
            return False
        return True
