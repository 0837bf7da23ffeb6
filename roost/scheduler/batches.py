"""Carries out claim requests: decided one after another in memory, written in one transaction.

What arrives together is done together (``GroupCommit``): whoever comes first does the work of all
who wait.

What is decided stands on what this process remembers of the hosts; the transaction locks the hosts
and compares. Where another scheduler has changed one meanwhile, those concerned are judged again by
what is true now, and decided again if they no longer fit. So any number of schedulers may run, and
none gives away what is not there.
"""

import collections
import datetime
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from roost import exception
from roost.db import engine as db_engine
from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import server_groups as group_rows
from roost.db.scheduler import usage as usage_rows
from roost.scheduler.claim_requests import ClaimRequest, StaleRead
from roost.scheduler.claim_transaction import ClaimTransaction
from roost.scheduler.drivers import Driver
from roost.scheduler.table import HostTable, Members


class Awaited(Protocol):
    """An order that somebody waits for; carrying it out sets ``done``."""

    done: bool


T = TypeVar("T", bound=Awaited)


class _Seat(Generic[T]):
    """A place in the queue: who waits here wakes when the order is done, or to do the work."""

    def __init__(self, order: T) -> None:
        self.order = order
        self.wake = threading.Event()


class GroupCommit(Generic[T]):
    """Lets threads hand in orders, and one of them at a time carry out what has come meanwhile.

    The others sleep until their own order is done, or until it is their turn to work.

    :param carry_out: does a batch, and returns those to be done again with the next one; must not
        raise, but note in each order how it went
    :param most: orders in a batch; more than that would hold locks too long
    """

    def __init__(self, carry_out: Callable[[list[T]], Sequence[T]], *, most: int = 100) -> None:
        self._carry_out = carry_out
        self._most = most
        self._queue: collections.deque[_Seat[T]] = collections.deque()
        self._entering = threading.Lock()
        self._busy = False

    def submit(self, order: T) -> None:
        """Return when the order was carried out, by this thread or another."""
        seat = _Seat(order)
        with self._entering:
            self._queue.append(seat)
            works, self._busy = not self._busy, True
        if not works:
            seat.wake.wait()
        if not order.done:
            try:
                while not order.done:
                    self._work(seat)
            finally:
                self._hand_over()

    def _work(self, own: _Seat[T]) -> None:
        """Carry out one batch, and wake those whose orders are done.

        After an accident the others are back in the queue, or they would wait for ever.
        """
        with self._entering:
            batch = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
        try:
            again = {id(order) for order in self._carry_out([seat.order for seat in batch])}
        except BaseException:
            with self._entering:
                self._queue.extendleft(seat for seat in reversed(batch) if seat is not own)
            raise
        with self._entering:
            self._queue.extendleft(seat for seat in reversed(batch) if id(seat.order) in again)
        for seat in batch:
            if id(seat.order) not in again:
                seat.wake.set()

    def _hand_over(self) -> None:
        """Let the next in the queue do the work, if there is any."""
        with self._entering:
            self._busy = bool(self._queue)
            if self._queue:
                self._queue[0].wake.set()


LOG = logging.getLogger(__name__)
TRIES: Final = 25  # each lost race means that another scheduler did something


class Batches:
    """Carries out batches of orders, one batch at a time.

    ``counts`` says how many transactions there were, how many orders came, were done again, and
    lost a race.

    :param table: the hosts in memory, of which this is the only user that decides
    :param clock: the time by the clock of the database
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        table: HostTable,
        clock: Callable[[], datetime.datetime],
    ) -> None:
        self._database = database
        self._driver = driver
        self._table = table
        self._members = Members()
        self._clock = clock
        self.counts: collections.Counter[str] = collections.Counter()

    def carry_out(self, orders: Sequence[ClaimRequest]) -> list[ClaimRequest]:
        """Do what can be done; return those to be done again, of which nothing is changed."""
        now, later = _one_per_instance(_readable(orders))
        self.counts["transactions"] += 1
        self.counts["orders"] += len(now)
        again: list[ClaimRequest] = []
        try:
            again = self._transact(now)
        except (claim_rows.ClaimMoved, exception.Deadlock) as error:
            LOG.debug("another scheduler was faster: %s", error)
            self.counts["raced"] += 1
            again = [order for order in now if not order.done]
        except Exception as error:  # noqa: BLE001 - those who wait are told
            _fail(now, error)
        if again:
            self.counts["redone"] += len(again)
            self._table.forget_look()
        return [*_without_hopeless(again), *later]

    @db_engine.retried
    def _transact(self, orders: Sequence[ClaimRequest]) -> list[ClaimRequest]:
        orders = [order for order in orders if not order.done]  # some are, when it is repeated
        stale = self._table.stale()
        applied: list[ClaimRequest] = []
        try:
            with self._database.begin() as session:
                transaction = self._open(session, orders, stale)
                again = self._decide(transaction, orders, applied)
                again += self._compare(transaction, applied)
                grown = self._write(transaction, applied)
        except BaseException:
            self._table.mark(stale)
            self._table.forget_look()
            for order in reversed(applied):
                transaction.revert(order.change)
            raise
        self._note(transaction, applied, grown)
        return again

    def _open(
        self, session: Session, orders: Sequence[ClaimRequest], stale: set[int]
    ) -> ClaimTransaction:
        fresh = self._table.refresh(session, stale)
        held = claim_rows.find(session, {uuid for order in orders for uuid in order.sees()})
        groups = {claim.group_uuid for claim in held.values()}
        groups |= {order.spec.group.uuid for order in orders if order.spec and order.spec.group}
        self._members.lock(session, [uuid for uuid in groups if uuid])
        return ClaimTransaction(
            session,
            table=self._table,
            driver=self._driver,
            members=self._members,
            held=held,
            fresh=fresh,
        )

    def _decide(
        self,
        transaction: ClaimTransaction,
        orders: Sequence[ClaimRequest],
        applied: list[ClaimRequest],
    ) -> list[ClaimRequest]:
        """Let each order decide; those that want a fresh look are returned."""
        again = []
        for order in orders:
            order.tries += 1
            try:
                order.check_cell(transaction)
                order.change = order.decide(transaction)
            except StaleRead:
                again.append(order)
                continue
            except Exception as error:  # noqa: BLE001 - it is this order's own
                order.error, order.done = error, True
                continue
            transaction.apply(order.change)
            applied.append(order)
        return again

    def _compare(
        self, transaction: ClaimTransaction, applied: list[ClaimRequest]
    ) -> list[ClaimRequest]:
        """Lock the hosts that change, and see to those that are not as they were remembered.

        Orders that no longer fit are taken out of ``applied`` and returned.
        """
        touched = {order: order.change.host_ids(transaction.hosts) for order in applied}
        ids = set().union(*touched.values())
        locked = host_rows.usages(transaction.session, ids, lock=True)
        different = {usage.id: usage for usage in locked if not self._is_known(usage)}
        gone = ids.difference(usage.id for usage in locked)
        if not (different or gone):
            return []
        if gone:
            self._table.forget_look(at_all=True)
        concerned = [
            order for order in applied if not touched[order].isdisjoint({*different, *gone})
        ]
        for order in reversed(concerned):
            transaction.revert(order.change)
            applied.remove(order)
        self._table.take_over(transaction.session, list(different.values()))
        return self._redo(transaction, concerned, applied, gone=gone)

    def _redo(
        self,
        transaction: ClaimTransaction,
        concerned: Sequence[ClaimRequest],
        applied: list[ClaimRequest],
        *,
        gone: set[int],
    ) -> list[ClaimRequest]:
        again = []
        for order in concerned:
            lost = not order.change.host_ids(transaction.hosts).isdisjoint(gone)
            if not lost and transaction.redo(order.change):
                applied.append(order)
                self.counts["rechecked"] += 1
            else:
                again.append(order)
                self.counts["raced"] += 1
        return again

    def _is_known(self, usage: host_rows.Usage) -> bool:
        row = self._table.row(usage.id)
        if row is None:
            return False
        hosts = self._table.hosts
        remembered = (int(hosts.generation[row]), int(hosts.described[row]))
        return remembered == (usage.generation, usage.described)

    def _write(self, transaction: ClaimTransaction, applied: Sequence[ClaimRequest]) -> set[str]:
        """Write all changes; return the groups whose generation grew."""
        session = transaction.session
        gained = [claim for order in applied for claim in order.change.claims(transaction.hosts)]
        lost = [claim for order in applied for claim in order.change.lost]
        grown = {claim.group_uuid for claim in (*gained, *lost) if claim.group_uuid}
        if grown:
            group_rows.grow(session, grown)
        usage_rows.change(session, claim_rows.moved(gained, lost))
        claim_rows.delete(session, lost)
        claim_rows.insert(session, gained, now=self._clock())
        return grown

    def _note(
        self, transaction: ClaimTransaction, applied: Sequence[ClaimRequest], grown: set[str]
    ) -> None:
        changed = set().union(*(order.change.host_ids(transaction.hosts) for order in applied))
        self._table.committed(changed)
        self._members.committed(transaction.joined, grown)
        for order in applied:
            order.committed(transaction)
            order.done = True


def _readable(orders: Iterable[ClaimRequest]) -> list[ClaimRequest]:
    """Fail those that name no instances that anybody could look up: others wait in their batch."""
    found = []
    for order in orders:
        try:
            set(order.sees())
        except Exception as error:  # noqa: BLE001 - it is this order's own
            order.error, order.done = error, True
        else:
            found.append(order)
    return found


def _one_per_instance(
    orders: Sequence[ClaimRequest],
) -> tuple[list[ClaimRequest], list[ClaimRequest]]:
    """Keep an order back that names an instance of one before it, whose outcome it must see."""
    now: list[ClaimRequest] = []
    later: list[ClaimRequest] = []
    named: set[str] = set()
    for order in orders:
        (now if named.isdisjoint(order.sees()) else later).append(order)
        named.update(order.instance_uuids)
    return now, later


def _fail(orders: Iterable[ClaimRequest], error: Exception) -> None:
    for order in orders:
        if not order.done:
            order.error, order.done = error, True


def _without_hopeless(orders: Iterable[ClaimRequest]) -> list[ClaimRequest]:
    """Give up those that lost too often."""
    hopeful = []
    for order in orders:
        if order.tries < TRIES:
            hopeful.append(order)
        else:
            text = f"other schedulers were faster, {TRIES} times"
            order.error, order.done = exception.Unavailable(text), True
    return hopeful
