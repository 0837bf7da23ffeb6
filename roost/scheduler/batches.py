"""Carries out claim requests: decided one after another in memory, written in one transaction.

Concurrent requests share a transaction (``group_commit.py``).

Decisions use the hosts as cached in this process; the transaction locks the hosts and compares.
Where another scheduler has changed a host meanwhile, its requests are checked again with the
current values, and decided again if they no longer fit. So any number of schedulers may run, and
none claims more than there is.
"""

import collections
import datetime
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from roost import exception
from roost.db import engine as db_engine
from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import server_groups as group_rows
from roost.db.scheduler import usage as usage_rows
from roost.db.scheduler.hosts import Usage
from roost.scheduler.changes import HostChanges
from roost.scheduler.claim_requests import ClaimRequest
from roost.scheduler.claim_transaction import ClaimTransaction, StaleRead
from roost.scheduler.drivers import Driver
from roost.scheduler.table import HostTable, Members

LOG = logging.getLogger(__name__)
TRIES: Final = 25  # each lost race means that another scheduler has committed


class Batches:
    """Carries out batches of orders, one batch at a time.

    ``counts`` has the numbers of transactions, of orders, of those repeated, and of lost races.

    :param table: the hosts in memory; nothing else may claim from them
    :param clock: the time by the clock of the database
    :param publish: called with the changes of each commit
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        table: HostTable,
        clock: Callable[[], datetime.datetime],
        publish: Callable[[HostChanges], object] = lambda _: None,
    ) -> None:
        self._database = database
        self._publish = publish
        self._deciding = threading.Lock()  # the table is for one thread at a time
        self._driver = driver
        self._table = table
        self._members = Members()
        self._clock = clock
        self.counts: collections.Counter[str] = collections.Counter()

    def carry_out(self, orders: Sequence[ClaimRequest]) -> list[ClaimRequest]:
        """Carry out a batch; return the orders to repeat, which have changed nothing."""
        now, later = _one_per_instance(_readable(orders))
        self.counts["orders"] += len(now)
        return [*_without_hopeless(self._carry_out(now)), *later]

    def _carry_out(self, now: Sequence[ClaimRequest]) -> list[ClaimRequest]:
        """Carry out orders in one transaction; return those to repeat.

        After an unexpected error, each is carried out alone: it may be the error of one of them.
        """
        self.counts["transactions"] += 1
        again: list[ClaimRequest] = []
        try:
            with self._deciding:
                again = self._transact(now)
        except (claim_rows.ClaimMoved, exception.Deadlock) as error:
            LOG.debug("lost a race against another scheduler: %s", error)
            self.counts["raced"] += 1
            again = [order for order in now if not order.done]
        except Exception as error:  # noqa: BLE001 - the waiting threads raise it
            left = [order for order in now if not order.done]
            if len(left) > 1 and not isinstance(error, exception.RoostError):
                return [each for order in left for each in self._carry_out([order])]
            _fail(now, error)
        if again:
            self.counts["redone"] += len(again)
            self._table.forget_look()
        return again

    def learn(self, changes: HostChanges) -> None:
        """Apply what others have committed to the hosts in memory; read what only the rows have."""
        with self._deciding:
            self._table.learn(changes)
            stale = self._table.stale()
            if stale:
                self._read(stale)

    def _read(self, stale: set[int]) -> None:
        try:
            with self._database.read() as session:
                self._table.take_over(session, host_rows.usages(session, stale))
            self._table.judge_liveness()
        except BaseException:
            self._table.mark(stale)
            raise

    @db_engine.retried
    def _transact(self, orders: Sequence[ClaimRequest]) -> list[ClaimRequest]:
        orders = [order for order in orders if not order.done]  # a retry may find some done
        stale = self._table.stale()
        applied: list[ClaimRequest] = []
        try:
            with self._database.begin() as session:
                transaction = self._open(session, orders, stale)
                again = self._decide(transaction, orders, applied)
                locked = self._lock(transaction, applied)
                again += self._compare(transaction, applied, locked)
                grown, usages = self._write(transaction, applied, locked)
        except BaseException:
            self._table.mark(stale)
            self._table.forget_look()
            for order in reversed(applied):
                transaction.revert(order.change)
            raise
        self._note(transaction, applied, grown=grown, usages=usages)
        return again

    def _open(
        self, session: Session, orders: Sequence[ClaimRequest], stale: set[int]
    ) -> ClaimTransaction:
        fresh = self._table.refresh(session, stale)
        held = claim_rows.find(session, {uuid for order in orders for uuid in order.sees()})
        groups = {claim.group_uuid for claims in held.values() for claim in claims}
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
        """Decide each order; return those that need fresh data."""
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

    def _lock(
        self, transaction: ClaimTransaction, applied: Sequence[ClaimRequest]
    ) -> Mapping[int, Usage]:
        """Lock the hosts that change; return their usage."""
        ids = set().union(*(order.change.host_ids(transaction.hosts) for order in applied))
        usages = host_rows.usages(transaction.session, ids, lock=True)
        return {usage.id: usage for usage in usages}

    def _compare(
        self,
        transaction: ClaimTransaction,
        applied: list[ClaimRequest],
        locked: Mapping[int, Usage],
    ) -> list[ClaimRequest]:
        """Check orders again whose hosts differ from the cache.

        Orders that no longer fit are removed from ``applied`` and returned.
        """
        touched = {order: order.change.host_ids(transaction.hosts) for order in applied}
        different = {id_: usage for id_, usage in locked.items() if not self._is_known(usage)}
        gone = set().union(*touched.values()).difference(locked)
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

    def _is_known(self, usage: Usage) -> bool:
        row = self._table.row(usage.id)
        if row is None:
            return False
        hosts = self._table.hosts
        cached = (int(hosts.generation[row]), int(hosts.described[row]))
        return cached == (usage.generation, usage.described)

    def _write(
        self,
        transaction: ClaimTransaction,
        applied: Sequence[ClaimRequest],
        locked: Mapping[int, Usage],
    ) -> tuple[set[str], list[Usage]]:
        """Write all changes; return the groups whose generation grew, and the hosts as written."""
        session = transaction.session
        gained = [claim for order in applied for claim in transaction.claims(order.change)]
        lost = [claim for order in applied for claim in order.change.lost]
        grown = {claim.group_uuid for claim in (*gained, *lost) if claim.group_uuid}
        if grown:
            group_rows.grow(session, grown)
        usages = usage_rows.changed(locked, gained=gained, lost=lost)
        usage_rows.write(session, usages)
        claim_rows.delete(session, lost)
        claim_rows.insert(session, gained, now=self._clock())
        return grown, usages

    def _note(
        self,
        transaction: ClaimTransaction,
        applied: Sequence[ClaimRequest],
        *,
        grown: set[str],
        usages: Sequence[Usage],
    ) -> None:
        self._table.committed(usages)
        self._publish(HostChanges(usages={usage.id: usage for usage in usages}))
        self._members.committed(transaction.joined, grown)
        for order in applied:
            order.committed(transaction)
            order.done = True


def _readable(orders: Iterable[ClaimRequest]) -> list[ClaimRequest]:
    """Fail orders with malformed instances, so that they do not fail their batch."""
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
    """Defer orders that name an instance of an earlier one, whose outcome they must see."""
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
    """Fail orders that lost a race too often."""
    hopeful = []
    for order in orders:
        if order.tries < TRIES:
            hopeful.append(order)
        else:
            text = f"lost {TRIES} races against other schedulers"
            order.error, order.done = exception.Unavailable(text), True
    return hopeful
