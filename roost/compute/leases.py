"""Leases on the work of this host on instances: renewed together, and fenced before they end.

A host works on an operation under a lease, which the cell has in the row of that. When a lease
ends, the cell-conductors reassign the work (``conductor/cell/sweeper.py``). So a host that cannot
renew its leases, because the bus, the cell or this process does not respond, stops the work before
they end. This is *fencing*: because of it an instance never runs twice.

A lease begins when the last request that the cell has answered was sent, not when the answer
arrived. The clock is this host's own, and runs on while the process or the machine is suspended.

The message of a new build, or another operation that is new, may give a lease (``GivenLease``), so
that the host need not ask for one. It ends at a time by the clock of the cell's database, of which
the host knows an upper bound: what an answer of the cell said, and all the time since that request
was sent. The messages of one process count, each once: an older or doubled one may be of what is
over.

``RetryPolicy`` retries requests to a conductor while it or the bus is unavailable.
"""

import dataclasses
import datetime
import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from roost import exception
from roost.clock import boot_clock
from roost.context import admin_context
from roost.objects import Operation
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.scheduler import RESERVATION_LIFETIME

LOG = logging.getLogger(__name__)
T = TypeVar("T")


class RetryPolicy:
    """Retries a request that could not be delivered, with growing pauses, for a bounded time.

    :param seconds: how long to retry in all
    :param first: the first pause, in seconds; each next one is twice as long
    :param longest: the longest pause, in seconds
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        *,
        seconds: float = 600.0,
        first: float = 0.5,
        longest: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._first = first
        self._longest = longest
        self._clock = clock

    def retry(self, what: str, send: Callable[[], T], *, stopping: threading.Event) -> T:
        """Call ``send``, which must be safe to repeat, until there is an answer or another error.

        :param what: names the request in the log
        :param stopping: once set, the next try is the last
        :raises roost.exception.Unavailable: when time is up
        """
        deadline = self._clock() + self._seconds
        pause = self._first
        while True:
            try:
                return send()
            except exception.Unavailable as error:
                if stopping.is_set() or self._clock() + pause > deadline:
                    raise
                LOG.warning("%s: %s; again in %g s", what, error.message, pause)
            stopping.wait(pause)
            pause = min(2 * pause, self._longest)


RENEWALS: Final = 3  # renewals in one lease: two may fail
MARGIN: Final = 1 / 6  # of a lease: the time left for stopping and for clock drift
LEAST: Final = 1 / 3  # of a lease: what must be left of one that a message gives
DEFAULT_SECONDS: Final = 30.0  # length of a lease until the cell has sent its own


class LostLease(exception.Conflict):
    """Another host may have this work: end it, undo it, and report nothing; not a failure."""


def _ignore(*, gone: bool) -> None:
    """Do nothing about a lost lease."""


@dataclasses.dataclass(eq=False)
class Lease:
    """The right of this host to work on one operation, and its end.

    It begins when the host takes the operation up, or with a renewal while that is queued.

    :param on_loss: called by other threads, perhaps several times, when the work must end;
        ``gone``: the cell has ended the work or given it to another host; otherwise the lease is
        about to end
    """

    keeper: "LeaseKeeper"
    instance_uuid: str
    operation_uuid: str
    on_loss: Callable[..., None] = _ignore
    until: float | None = None  # None: the lease has not begun
    lost: bool = False
    _is_given: bool = False

    def hold(self, *, since: float) -> None:
        """Note that the cell granted the lease, in the answer to a request sent at ``since``.

        Only :meth:`resume` brings back one that is over: the cell may mean a later attempt.
        """
        if self.is_over():
            return
        until = since + self.keeper.usable_seconds
        self.until = until if self.until is None else max(self.until, until)

    def take(self, operation: Operation) -> None:
        """Begin with the lease that a message gives, if that is certain and lasts for a while."""
        self.until = self.keeper.end_of(operation)
        self._is_given = self.until is not None

    def ask(self) -> None:
        """Have the work ask before it begins, as if no message had given the lease."""
        self._is_given = False

    @property
    def is_given(self) -> bool:
        """Whether a message has given the lease, and it is not over."""
        return self._is_given and not self.is_over()

    def resume(self) -> None:
        """Restart the lease for queued work, which first checks whether it still is this host's.

        So an outage while it was queued does no harm: the work had not begun.
        """
        if self.is_over():
            self.until, self.lost, self._is_given = None, False, False

    def is_over(self) -> bool:
        """Return whether the lease has ended, or is about to; it stays so until :meth:`resume`."""
        if not self.lost and self.until is not None and self.keeper.clock() >= self.until:
            LOG.warning("[instance: %s] lease could not be renewed in time", self.instance_uuid)
            self.lost = True
        return self.lost

    def check(self) -> None:
        """Raise :class:`LostLease` when the lease is over: call it before any step with an effect.

        A process may be suspended for a minute between two lines.
        """
        if self.is_over():
            raise LostLease("its lease has ended: another host may have it")


class LeaseKeeper:
    """Renews the leases of all work on a host, in one call.

    :param clock: monotonic seconds that also advance during suspend
    :ivar cell_notifies: the cell sends a notification whenever a host asks for a lease
    """

    def __init__(
        self, conductor: CellConductor, *, host: str, clock: Callable[[], float] = boot_clock
    ) -> None:
        self.clock = clock
        self._conductor = conductor
        self._host = host
        self._seconds = DEFAULT_SECONDS
        self._guard = threading.Lock()
        self._leases: list[Lease] = []
        self._time: tuple[datetime.datetime, float] | None = None  # of the cell, and since when
        self.cell_notifies = False
        self._started: datetime.datetime | None = None
        self._taken: dict[Hashable, float] = {}  # operations with given leases -> when these end
        self._deleted: dict[str, float] = {}  # instances -> until when none is given

    @property
    def usable_seconds(self) -> float:
        """How long a lease may be used; the rest is for stopping."""
        return self._seconds * (1 - MARGIN)

    def renewal_pause(self) -> float:
        """Return the seconds between two calls of :meth:`renew`."""
        return self._seconds / RENEWALS

    def fencing_pause(self) -> float:
        """Return the seconds between two calls of :meth:`fence`."""
        return self._seconds * MARGIN / 4

    def enter(self, lease: Lease) -> None:
        """Renew this lease from now on."""
        with self._guard:
            self._leases.append(lease)

    def leave(self, lease: Lease) -> None:
        """Stop renewing this lease; may be repeated."""
        with self._guard:
            if lease in self._leases:
                self._leases.remove(lease)

    def start(self) -> None:
        """Report to the cell that no work is under way here, and get the length of a lease.

        So unfinished work of the previous process need not wait for the end of its leases.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        answer = self._ask([], nothing_else=True)
        self._started = _time(answer.get("now"))

    def note(self, answer: Mapping[str, Any], *, since: float) -> None:
        """Note the time of the cell, of the answer to a heartbeat that was sent at ``since``."""
        now = _time(answer.get("now"))
        if now is not None:
            self._time = now, since
        self.cell_notifies = bool(answer.get("notifies"))

    def end_of(self, operation: Operation) -> float | None:
        """Return until when a lease that a message gives may be used; None: ask for it."""
        given, key = operation.given, (operation.uuid, operation.step, operation.attempt)
        if given is None or self._time is None:
            return None
        if self._started is None or given.since <= self._started:
            return None
        (then, since), now = self._time, self.clock()
        if self._deleted.get(operation.instance_uuid, 0.0) > now:
            return None
        left: float = (given.until - then).total_seconds()
        until = since + left - self._seconds * MARGIN
        if (then - given.since).total_seconds() + now - since > RESERVATION_LIFETIME / 2:
            return None  # the claim on this host may have expired
        with self._guard:
            self._taken = {each: end for each, end in self._taken.items() if end > now}
            if key in self._taken or until - now < self._seconds * LEAST:
                return None
            self._taken[key] = until + self._seconds * MARGIN
        return until

    def doubt(self, instance_uuid: str) -> None:
        """Have all messages about an instance ask that has to be deleted: they may be late."""
        now = self.clock()
        with self._guard:
            self._deleted = {uuid: end for uuid, end in self._deleted.items() if end > now}
            self._deleted[instance_uuid] = now + RESERVATION_LIFETIME
            for lease in self._leases:
                if lease.instance_uuid == instance_uuid:
                    lease.ask()

    def renew(self) -> None:
        """Renew all leases, and stop work that is no longer this host's.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        leases = self._known()
        if not leases:
            return
        since = self.clock()
        lost = self._ask(leases, nothing_else=False)["lost"]
        for lease in leases:
            if lease.operation_uuid in lost:
                self._end(lease)
            else:
                lease.hold(since=since)

    def fence(self) -> None:
        """Stop work whose lease was not renewed in time; call it periodically."""
        for lease in self._known():
            if lease.is_over():
                lease.on_loss(gone=False)

    def __len__(self) -> int:
        return len(self._leases)

    def _known(self) -> list[Lease]:
        with self._guard:
            return list(self._leases)

    def _ask(self, leases: Sequence[Lease], *, nothing_else: bool) -> dict[str, Any]:
        """Renew, and return the answer: see :mod:`roost.rpc.cell_conductor`."""
        answer = self._conductor.renew_leases(
            admin_context(),
            host=self._host,
            operations=sorted({each.operation_uuid for each in leases}),
            nothing_else=nothing_else,
        )
        self._seconds = answer["seconds"]
        return answer

    def _end(self, lease: Lease) -> None:
        if not lease.lost:
            LOG.info("[instance: %s] work is no longer this host's", lease.instance_uuid)
        lease.lost = True
        lease.on_loss(gone=True)


def _time(text: str | None) -> datetime.datetime | None:
    return None if text is None else datetime.datetime.fromisoformat(text)
