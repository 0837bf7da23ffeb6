"""Leases on what this host does for instances: renewed together, and honoured by stopping in time.

Whoever works on an instance does so under a lease, which its row in the cell's database carries.
When that ends, the cell-conductors give the work to somebody else (``conductor/cell/sweeper.py``).
So a host that cannot renew its leases, because the bus, the cell or this very process does not
answer, stops what it does before they end: that is *fencing*, and why an instance never runs twice.

A lease begins with the last question that the cell has answered, at the moment *before* it was
asked. The clock is this host's own, and goes on while the process or the machine is suspended.

``RetryPolicy`` repeats what a conductor must get, while it or the bus is unavailable.
"""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from roost import exception
from roost.clock import boot_clock
from roost.context import admin_context
from roost.rpc.cell_conductor import CellConductor

LOG = logging.getLogger(__name__)
T = TypeVar("T")


class RetryPolicy:
    """Repeats what could not be delivered, with growing pauses, for a bounded time.

    :param seconds: how long to insist in all
    :param first: the first pause, in seconds; each next one is twice as long
    :param longest: the longest pause, in seconds
    :param clock: seconds that never go back
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
        """Call ``send``, which must be safe to repeat, until it is answered, whatever the answer.

        :param what: names it in the log
        :param stopping: once set, whatever is tried is tried for the last time
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


RENEWALS: Final = 3  # tries in one lease: two may fail
MARGIN: Final = 1 / 6  # of a lease: what is left to stop in, and for clocks of different speed
UNTOLD_SECONDS: Final = 30.0  # how long a lease is until the cell has told


class LostLease(exception.Conflict):
    """Others may go on with this work by now: end it, undo it, and say nothing; not a failure."""


def _ignore(*, gone: bool) -> None:
    """Nobody needs to be told that this lease is lost."""


@dataclasses.dataclass(eq=False)
class Lease:
    """The right of this host to do one thing for one instance, and until when.

    :param tasks: task states of the instance's row in which the work is this host's
    :param attempt: the build that this is, which needs a lease from when it has begun; None: not a
        build, which has one from when it was first renewed
    :param on_loss: called by other threads, perhaps several times, when the work is to end:
        ``gone`` says that the cell has answered that it is not this host's any more, otherwise
        it may be so soon
    """

    keeper: "LeaseKeeper"
    instance_uuid: str
    tasks: Sequence[str]
    attempt: int | None = None
    on_loss: Callable[..., None] = _ignore
    until: float | None = None  # None: nothing that needs a lease was begun
    lost: bool = False

    def hold(self, *, since: float) -> None:
        """Note that the cell gave the lease, in the answer to a question asked at ``since``."""
        until = since + self.keeper.usable_seconds
        self.until = until if self.until is None else max(self.until, until)

    def resume(self) -> None:
        """Let work begin that has waited: it asks the cell first whether it still is this host's.

        So an outage while it waited costs it nothing; nobody could have gone on with what was done.
        """
        if self.is_over():
            self.until, self.lost = None, False

    def is_over(self) -> bool:
        """Tell whether the lease has ended, or is about to; once begun, that is for ever."""
        if not self.lost and self.until is not None and self.keeper.clock() >= self.until:
            LOG.warning("%s: the lease on it could not be renewed in time", self.instance_uuid)
            self.lost = True
        return self.lost

    def check(self) -> None:
        """Raise :class:`LostLease` when others may go on with the work: before any step that tells.

        A process may stand still for a minute between two of its lines.
        """
        if self.is_over():
            raise LostLease("the lease on it is over: others may go on with it")


class LeaseKeeper:
    """Renews the leases on all that is at work on a host, in one call.

    :param clock: seconds that never go back and do not stand still
    """

    def __init__(
        self, conductor: CellConductor, *, host: str, clock: Callable[[], float] = boot_clock
    ) -> None:
        self.clock = clock
        self._conductor = conductor
        self._host = host
        self._seconds = UNTOLD_SECONDS
        self._guard = threading.Lock()
        self._leases: list[Lease] = []

    @property
    def usable_seconds(self) -> float:
        """How long a lease may be used: what is left then is for stopping."""
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
        """Let this lease run out; one that is let go of already is fine."""
        with self._guard:
            if lease in self._leases:
                self._leases.remove(lease)

    def start(self) -> None:
        """Tell the cell that nothing is at work here, and learn how long a lease is.

        What the process before this one left undone need not wait for the end of its leases.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        self._ask([], nothing_else=True)

    def renew(self) -> None:
        """Renew all leases, and stop what is not this host's any more.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        leases = self._known()
        if not leases:
            return
        since = self.clock()
        lost = self._ask(leases, nothing_else=False)
        for at, lease in enumerate(leases):
            if at in lost:
                self._end(lease)
            elif lease.attempt is None or lease.until is not None:
                lease.hold(since=since)

    def fence(self) -> None:
        """Stop what could not be renewed in time; call it again and again."""
        for lease in self._known():
            if lease.is_over():
                lease.on_loss(gone=False)

    def __len__(self) -> int:
        return len(self._leases)

    def _known(self) -> list[Lease]:
        with self._guard:
            return list(self._leases)

    def _ask(self, leases: Sequence[Lease], *, nothing_else: bool) -> set[int]:
        """Renew, and return the places of those in the list that the cell did not renew."""
        answer = self._conductor.renew_leases(
            admin_context(),
            host=self._host,
            tasks=[[each.instance_uuid, each.attempt, list(each.tasks)] for each in leases],
            nothing_else=nothing_else,
        )
        self._seconds = answer["seconds"]
        return set(answer["lost"])

    def _end(self, lease: Lease) -> None:
        if not lease.lost:
            LOG.info("%s: not for this host to work on any more", lease.instance_uuid)
        lease.lost = True
        lease.on_loss(gone=True)
