"""The host table: caches the hosts of the database in memory, with incremental updates.

It also has the effects of aggregates on their hosts (zone, ratios, membership), and the number of
members of each server group by host (``Members``).
"""

import datetime
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from roost.db import clock
from roost.db.engine import Session
from roost.db.scheduler import aggregates as aggregate_rows
from roost.db.scheduler import cells as cell_rows
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import server_groups as group_rows
from roost.db.scheduler.claims import Claim
from roost.db.scheduler.hosts import LOOK_BACK, HostRow, Usage
from roost.objects import Aggregate
from roost.objects.inventory import capacity
from roost.scheduler.changes import HostChanges
from roost.scheduler.columns import Membership, Rows
from roost.scheduler.hosts import HostColumns, words
from roost.scheduler.liveness import (
    AlwaysReceiving,
    LivenessTimeouts,
    ReceiveHorizon,
    ReceiveWindow,
)
from roost.scheduler.topology import HeldTopology

LOG = logging.getLogger(__name__)
ByHost = Mapping[str, Sequence[Aggregate]]
_ZONE: Final = "availability_zone"
_RATIOS: Final = {
    "VCPU": "cpu_allocation_ratio",
    "MEMORY_MB": "ram_allocation_ratio",
    "DISK_GB": "disk_allocation_ratio",
}


def by_host(aggregates: Iterable[Aggregate]) -> ByHost:
    """Return the aggregates of each host, by its name."""
    found: dict[str, list[Aggregate]] = {}
    for aggregate in aggregates:
        for host in aggregate.hosts:
            found.setdefault(host, []).append(aggregate)
    return found


def enrol(hosts: HostColumns, rows: Rows, aggregates: ByHost) -> None:
    """Set the aggregates of hosts, and their zones and capacities.

    The zone of an aggregate overrides the zone that its hosts report; of several ratios the
    smallest applies.
    """
    hosts.membership[rows] = hosts.shared.memberships.learn(Membership())
    hosts.zone[rows] = hosts.reported_zone[rows]
    hosts.reset_capacity(rows)
    names = hosts.shared.names
    members = [names.code(host) for host in aggregates]
    for row in rows[np.isin(hosts.host[rows], members)].tolist():
        _join(hosts, row, Membership.of(aggregates[hosts.name("host", row)]))
    hosts.rescale()


def _join(hosts: HostColumns, row: int, membership: Membership) -> None:
    hosts.membership[row] = hosts.shared.memberships.learn(membership)
    zones = membership.values(_ZONE)
    if zones:
        hosts.zone[row] = hosts.shared.names.learn(zones[0])
    has = hosts.one(row).inventory.classes
    for resource_class, name in _RATIOS.items():
        ratio = membership.smallest(name)
        if ratio is not None and resource_class in has:
            hosts.capacity_of(resource_class)[row] = capacity(has[resource_class].net, ratio)


_CACHED: Final = 10_000  # groups


class Members:
    """Numbers of members by group and host id, cached until the group's generation changes.

    The groups are locked while they are used, so the numbers are exact then.
    """

    def __init__(self) -> None:
        self._generations: dict[str, int] = {}
        self._counts: dict[str, dict[int, int]] = {}

    def lock(self, session: Session, group_uuids: Collection[str]) -> None:
        """Lock these groups until the transaction ends, and read those that changed."""
        if not group_uuids:
            return
        generations = group_rows.lock(session, group_uuids)
        new = [
            uuid
            for uuid, generation in generations.items()
            if self._generations.get(uuid) != generation
        ]
        if len(self._counts) > _CACHED:
            self._generations.clear()
            self._counts.clear()
            new = list(generations)
        found = group_rows.members_by_host(session, new) if new else {}
        for uuid in new:
            self._counts[uuid] = dict(found.get(uuid, {}))
            self._generations[uuid] = generations[uuid]

    def on(self, group_uuid: str) -> Mapping[int, int]:
        """Return the number of members by host id."""
        return self._counts[group_uuid]

    def committed(self, changes: Mapping[tuple[str, int], int], grown: Collection[str]) -> None:
        """Apply a commit of this process: members by group and host, raised generations."""
        for (uuid, host_id), more in changes.items():
            counts = self._counts[uuid]
            counts[host_id] = counts.get(host_id, 0) + more
        for uuid in grown:
            self._generations[uuid] += 1

    def forget(self, group_uuids: Collection[str]) -> None:
        """Drop these groups from the cache."""
        for uuid in group_uuids:
            self._generations.pop(uuid, None)


K = TypeVar("K")
_AT_ONCE: Final = 5000  # hosts
CATCH_UP: Final = 10.0  # seconds between two updates of a table that is fed
JUDGE_EVERY: Final = 1.0  # seconds between two looks at the liveness of all hosts


class HostTable:
    """The hosts as cached in this process.

    Changes of this process are visible at once. Changes of other schedulers become visible when
    they are received (:meth:`learn`), at the latest by the next update, and before a request is
    refused; until then it may choose a host that has become too full, which its commit detects. An
    update is due after ``max_age`` seconds; while the table is fed, after ``CATCH_UP`` seconds,
    since it only finds what was lost. All but :meth:`mark` is for one thread at a time.

    An update reads the hosts touched since the previous one, by the database's clock and with a
    margin of ``LOOK_BACK``, since transactions may commit in any order. Changes of even longer
    transactions are found by reading every generation, once in ``whole_every`` seconds.

    :param silence: timeouts after which hosts and cells are down
    :param hearing: for how long this process has received reports
    :param is_fed: whether this process receives the changes of others now
    """

    def __init__(
        self,
        *,
        silence: LivenessTimeouts | None = None,
        hearing: ReceiveWindow | None = None,
        max_age: float = 1.0,
        is_fed: Callable[[], bool] = lambda: False,
        whole_every: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self.hosts = HostColumns()
        silence, hearing = silence or LivenessTimeouts(), hearing or AlwaysReceiving()
        self._host_horizon = ReceiveHorizon(silence.host, hearing)
        self._cell_horizon = ReceiveHorizon(silence.cell, hearing)
        self._max_age = max_age
        self._is_fed = is_fed
        self._whole_every = whole_every
        self._clock = clock
        self._now = now
        self._rows: dict[int, int] = {}
        self._problems: dict[int, str] = {}  # of hosts that cannot be read
        self._looked_at: float | None = None
        self._looked_whole_at: float | None = None
        self._judged_at = 0.0
        self._cells: dict[str, float] = {}
        self._since: datetime.datetime | None = None
        self._aggregates: ByHost = {}
        self._revision = 0
        self._marked: set[int] = set()
        self._marking = threading.Lock()

    def row(self, host_id: int) -> int | None:
        """Return the row of a host, or None when it is not known (yet)."""
        return self._rows.get(host_id)

    def rows_of(self, claims: Mapping[str, Iterable[Claim]]) -> dict[str, list[int]]:
        """Return the rows of hosts with these claims, as far as they are known, by instance."""
        return {
            uuid: [self._rows[claim.host_id] for claim in some if claim.host_id in self._rows]
            for uuid, some in claims.items()
        }

    def by_row(self, by_host: Mapping[int, int]) -> dict[int, int]:
        """Return numbers by row instead of by host id, for the known hosts."""
        return {self._rows[id_]: number for id_, number in by_host.items() if id_ in self._rows}

    def row_of(self, host: str, node: str) -> int | None:
        """Return the row of a host by its names, or None when it is not known (yet)."""
        found = np.flatnonzero(self.hosts.having("host", host) & self.hosts.having("node", node))
        return int(found[0]) if len(found) else None

    def mark(self, host_ids: Iterable[int]) -> None:
        """Mark hosts as changed by a committed transaction. Thread-safe."""
        with self._marking:
            self._marked.update(host_ids)

    def forget_look(self, *, at_all: bool = False) -> None:
        """Make the next refresh read changed hosts, or with ``at_all`` the list of all hosts."""
        self._looked_at = None
        if at_all:
            self._looked_whole_at = None

    def stale(self) -> set[int]:
        """Return, once, the hosts marked so far.

        Call it before the transaction of the refresh begins, which then sees those changes.
        """
        with self._marking:
            marked, self._marked = self._marked, set()
        return marked

    def refresh(self, session: Session, stale: Collection[int]) -> bool:
        """Read stale hosts, or all changes if the last update is too long ago.

        :returns: whether all changes were read
        """
        max_age = CATCH_UP if self._is_fed() else self._max_age
        if self._looked_at is None or self._clock() - self._looked_at >= max_age:
            self.look(session)
            return True
        if stale:
            self.take_over(session, host_rows.usages(session, stale))
        if self._clock() - self._judged_at >= JUDGE_EVERY:
            self.judge_liveness()
        return False

    def learn(self, changes: HostChanges) -> None:
        """Apply what others have committed, and mark hosts that must be read for it.

        What is older than the hosts in memory, or has come before, changes nothing.
        """
        if self._looked_whole_at is None:
            return  # the first update reads all
        hosts, used, stale = self.hosts, [], set(changes.stale)
        for usage in changes.usages.values():
            row = self._rows.get(usage.id)
            if row is None or self._is_described(row, usage):
                stale.add(usage.id)
            elif hosts.generation[row] < usage.generation:
                reported_at = float(hosts.reported_at[row])
                used.append((row, usage._replace(reported_at=reported_at)))
        stale.update(usage.id for row, usage in used if not self._use(row, usage))
        self._hear(changes)
        self._drop(changes.removed)
        self.mark(stale)
        if changes.aggregates:
            self.forget_look()

    def _hear(self, changes: HostChanges) -> None:
        """Apply the times of reports; look again at hosts that may be up by them."""
        hosts, is_news = self.hosts, bool(changes.cells)
        for host_id, at in changes.heard.items():
            row = self._rows.get(host_id)
            if row is not None and hosts.reported_at[row] < at:
                hosts.reported_at[row] = at
                is_news |= not hosts.up[row]
        for cell_uuid, at in changes.cells.items():
            self._cells[cell_uuid] = max(self._cells.get(cell_uuid, at), at)
        if is_news:
            self.judge_liveness()

    def _is_described(self, row: int, usage: Usage) -> bool:
        """Return whether a newer usage of a known host is not all that changed of it."""
        hosts = self.hosts
        if usage.generation <= hosts.generation[row]:
            return False
        return usage.described != hosts.described[row] or not hosts.is_plain(row)

    def _use(self, row: int, usage: Usage) -> bool:
        """Set the usage of a host; return whether it can be counted: else it must be read again."""
        try:
            self.hosts.use(row, usage)
        except Exception:  # noqa: BLE001 - to read the host again names what is wrong
            return False
        return True

    def look(self, session: Session) -> None:
        """Read the hosts that changed since the last update."""
        began = self._clock()
        now = clock.now(session)
        if self._looked_whole_at is None or began - self._looked_whole_at >= self._whole_every:
            self._look_at_all(session)
            self._looked_whole_at = began
        else:
            self.take_over(session, host_rows.touched_since(session, self._since))
        self._since = now - LOOK_BACK
        self._look_at_aggregates(session)
        reported = cell_rows.last_reports(session)
        self._cells = {cell_uuid: at.timestamp() for cell_uuid, at in reported.items()}
        self.judge_liveness()
        self._looked_at = began

    def take_over(self, session: Session, usages: Sequence[Usage]) -> None:
        """Update hosts to their usage in the database, and read again those that changed more."""
        described: list[int] = []
        hosts = self.hosts
        for usage in usages:
            row = self._rows.get(usage.id)
            if row is None or hosts.described[row] != usage.described:
                described.append(usage.id)
            elif hosts.generation[row] == usage.generation:
                hosts.reported_at[row] = usage.reported_at
            elif not (hosts.is_plain(row) and self._use(row, usage)):
                described.append(usage.id)
        self._read(session, described)

    def committed(self, usages: Iterable[Usage]) -> None:
        """Set generations after a commit of this process, whose usage is in memory already."""
        for usage in usages:
            if usage.id in self._rows:
                self.hosts.generation[self._rows[usage.id]] = usage.generation

    def is_up(self, *, told_down: bool, reported_at: float, cell_at: float | None) -> bool:
        """Return whether a host is up, by the last reports of it and its cell (since the epoch)."""
        now = self._now().timestamp()
        cell_is_up = cell_at is None or cell_at >= self._cell_horizon.at(now)
        return not told_down and cell_is_up and reported_at >= self._host_horizon.at(now)

    def _look_at_all(self, session: Session) -> None:
        usages = host_rows.touched_since(session, None)
        current = {usage.id for usage in usages}
        self._drop({host_id for host_id in self._rows if host_id not in current})
        self.take_over(session, usages)
        self.hosts.forget_past()

    def _drop(self, host_ids: Collection[int]) -> None:
        if not self._rows.keys().isdisjoint(host_ids):
            self.hosts.keep(np.flatnonzero(~np.isin(self.hosts.ids, list(host_ids))))
            self._number_rows()

    def _read(self, session: Session, host_ids: Sequence[int]) -> None:
        """Read whole hosts in chunks, since rows take several times the memory of columns."""
        for start in range(0, len(host_ids), _AT_ONCE):
            self._read_some(session, host_ids[start : start + _AT_ONCE])

    def _read_some(self, session: Session, host_ids: Sequence[int]) -> None:
        found = host_rows.read(session, host_ids)
        if not found:
            return
        known = [row for row in found if row.id in self._rows]
        if known:
            at = np.array([self._rows[row.id] for row in known], dtype=np.intp)
            self.hosts.overwrite(at, known)
        new = [row for row in found if row.id not in self._rows]
        if new:
            self.hosts.add(new)
            self._number_rows()
        rows = [self._rows[row.id] for row in found]
        self._hold(session, found)
        enrol(self.hosts, np.array(rows, dtype=np.intp), self._aggregates)
        self._note_problems(rows)

    def _hold(self, session: Session, found: Sequence[HostRow]) -> None:
        """Subtract the NUMA cells and devices of claims from those of the hosts."""
        hosts, rows = self.hosts, {row.id: row for row in found}
        exact = {host_id for host_id in rows if hosts.is_exact(self._rows[host_id])}
        for host_id, details in claim_rows.details_on(session, exact) if exact else ():
            at = self._rows[host_id]
            if hosts.readable[at]:
                try:
                    held = HeldTopology.from_json(details)
                    hosts.topology[at] = hosts.topology[at].taking(held)
                except Exception as error:  # noqa: BLE001 - it is no matter of other hosts
                    hosts.clear(at, rows[host_id], words(error))

    def _note_problems(self, rows: Iterable[int]) -> None:
        """Log which hosts can be read no more, or again."""
        hosts = self.hosts
        for row in rows:
            host_id, problem = int(hosts.ids[row]), hosts.problem[row]
            if problem == self._problems.get(host_id):
                continue
            named = hosts.name("host", row), hosts.name("node", row)
            if problem is None:
                del self._problems[host_id]
                LOG.info("what is stored of the host %s, node %s, can be read again", *named)
            else:
                self._problems[host_id] = problem
                LOG.warning("what is stored of the host %s, node %s, cannot be read, so it gets"
                            " nothing: %s", *named, problem)  # fmt: skip

    def _number_rows(self) -> None:
        self._rows = {host_id: row for row, host_id in enumerate(self.hosts.ids.tolist())}

    def _look_at_aggregates(self, session: Session) -> None:
        revision = aggregate_rows.revision(session)
        if revision != self._revision:
            self._aggregates = by_host(aggregate_rows.read_all(session))
            self._revision = revision
            enrol(self.hosts, np.arange(len(self.hosts)), self._aggregates)
            self.hosts.changed_throughout()

    def judge_liveness(self) -> None:
        """Update which hosts are up, by the last reports of their cells and their own."""
        self._judged_at = self._clock()
        hosts, now = self.hosts, self._now().timestamp()
        horizon = self._cell_horizon.at(now)
        silent = np.zeros(len(hosts), dtype=np.bool_)
        for cell_uuid, reported_at in self._cells.items():
            if reported_at < horizon:
                silent |= hosts.having("cell", cell_uuid)
        up = ~hosts.told_down & ~silent & (hosts.reported_at >= self._host_horizon.at(now))
        changed = np.flatnonzero(up != hosts.up)
        hosts.up = up
        hosts.journal.described(changed.tolist())
