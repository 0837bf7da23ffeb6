"""All hosts in memory, as columns: what filters and weighers look at.

``Hosts`` is the columns, a value to whoever decides. ``HostTable`` keeps one up to date from the
database: by increments, never by reading everything again.
"""

import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from roost.db.engine import Session
from roost.db.scheduler import hosts as rows_of
from roost.db.scheduler.hosts import RESOURCES, Amounts, HostRow

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_NOWHERE: Final = -1


class Words:
    """Numbers for names, so that a column of names compares as fast as one of numbers."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._names: list[str] = []

    def code(self, name: str) -> int:
        """Return the number of a name, or one that no row has when it was never seen."""
        return self._codes.get(name, _NOWHERE)

    def codes(self, names: Iterable[str]) -> Ints:
        """Return the numbers of names; new names get one."""
        return np.array([self._learn(name) for name in names], dtype=np.int64)

    def name(self, code: int) -> str:
        return self._names[code]

    def _learn(self, name: str) -> int:
        code = self._codes.setdefault(name, len(self._names))
        if code == len(self._names):
            self._names.append(name)
        return code


@dataclasses.dataclass(frozen=True)
class Hosts:
    """Columns: element i of each is the same host.

    ``capacity`` and ``used`` have a line per resource, in the order of ``RESOURCES``;
    ``reported_at`` is in seconds since the epoch. Names are kept as numbers: use :meth:`having` and
    :meth:`name`.
    """

    words: Words
    ids: Ints
    generation: Ints
    host: Ints
    node: Ints
    cell: Ints
    zone: Ints
    enabled: Mask
    reported_at: Floats
    capacity: Ints
    used: Ints

    @classmethod
    def of(cls, rows: Sequence[HostRow], words: Words | None = None) -> Self:
        """Make columns of rows."""
        words = Words() if words is None else words
        return cls(
            words=words,
            ids=np.array([row.id for row in rows], dtype=np.int64),
            generation=np.array([row.generation for row in rows], dtype=np.int64),
            host=words.codes(row.host for row in rows),
            node=words.codes(row.node for row in rows),
            cell=words.codes(row.cell_uuid for row in rows),
            zone=words.codes(row.availability_zone for row in rows),
            enabled=np.array([row.enabled for row in rows], dtype=np.bool_),
            reported_at=np.array([row.reported_at.timestamp() for row in rows], dtype=np.float64),
            capacity=_by_resource([row.capacity for row in rows]),
            used=_by_resource([row.used for row in rows]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, column: str, row: int) -> str:
        """Return the host, node, cell or zone of one row."""
        return self.words.name(int(getattr(self, column)[row]))

    def having(self, column: str, name: str) -> Mask:
        """Tell which rows have this host, node, cell or zone."""
        found: Mask = getattr(self, column) == self.words.code(name)
        return found

    def free(self, resource: str) -> Ints:
        """Return what is left of a resource; negative where more is used than there is."""
        line = RESOURCES.index(resource)
        left: Ints = self.capacity[line] - self.used[line]
        return left

    def take(self, rows: Ints) -> Self:
        """Return a copy of some rows."""
        return self._with({name: array[..., rows] for name, array in self._columns().items()})

    def joined(self, other: Self) -> Self:
        """Return these rows and then those of ``other``, which must share the words."""
        theirs = other._columns()
        return self._with(
            {
                name: np.concatenate((array, theirs[name]), axis=-1)
                for name, array in self._columns().items()
            }
        )

    def overwrite(self, rows: Ints, other: Self) -> None:
        """Replace rows, in place, by those of ``other``, which must share the words."""
        theirs = other._columns()
        for name, array in self._columns().items():
            array[..., rows] = theirs[name]

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {name: value for name, value in vars(self).items() if name != "words"}

    def _with(self, columns: dict[str, npt.NDArray[Any]]) -> Self:
        return type(self)(words=self.words, **columns)


class HostTable:
    """The hosts as this process knows them.

    What this process itself changed it sees at once. What other schedulers changed it sees within
    ``max_age`` seconds, and before it refuses anything; until then it may choose a host that has
    become too full, which its commit finds out. All but :meth:`mark` is for one thread at a time.

    A row is read again when its generation is not the one remembered. Generations are compared, not
    times or sequence numbers, so transactions may commit in any order and none is missed.
    """

    def __init__(
        self, *, max_age: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.hosts = Hosts.of([])
        self._max_age = max_age
        self._clock = clock
        self._rows: dict[int, int] = {}
        self._looked_at: float | None = None
        self._marked: set[int] = set()
        self._marking = threading.Lock()

    def row(self, host_id: int) -> int | None:
        """Return where a host is, or None when it is not known yet."""
        return self._rows.get(host_id)

    def mark(self, host_ids: Iterable[int]) -> None:
        """Note that hosts were changed in a transaction that is committed. Any thread may."""
        with self._marking:
            self._marked.update(host_ids)

    def forget_look(self) -> None:
        """Let the next refresh look at every host."""
        self._looked_at = None

    def stale(self) -> set[int]:
        """Return, once, the hosts marked so far.

        To be asked before the transaction of the refresh begins, which then sees those changes.
        """
        with self._marking:
            marked, self._marked = self._marked, set()
        return marked

    def refresh(self, session: Session, stale: Collection[int]) -> None:
        """Read what is stale, or whatever changed when the last look is too long ago."""
        if self._looked_at is None or self._clock() - self._looked_at >= self._max_age:
            self.look(session)
        elif stale:
            self._read(session, stale)

    def look(self, session: Session) -> bool:
        """Read every host that changed since it was read last; tell whether any did."""
        began = self._clock()
        current = dict(rows_of.generations(session))
        known = self.hosts.generation.tolist()
        rows = self._rows
        changed = [
            host_id
            for host_id, generation in current.items()
            if host_id not in rows or known[rows[host_id]] != generation
        ]
        gone = [host_id for host_id in rows if host_id not in current]
        self._read(session, changed)
        self._drop(gone)
        self._looked_at = began
        return bool(changed or gone)

    def apply(self, changes: Mapping[int, Amounts]) -> None:
        """Take over what a commit of this process did: each host's use and generation."""
        rows = np.array([self._rows[host_id] for host_id in changes], dtype=np.int64)
        self.hosts.used[:, rows] += _by_resource(list(changes.values()))
        self.hosts.generation[rows] += 1

    def _read(self, session: Session, host_ids: Collection[int]) -> None:
        found = rows_of.read(session, host_ids) if host_ids else []
        known = [row for row in found if row.id in self._rows]
        if known:
            at = np.array([self._rows[row.id] for row in known], dtype=np.int64)
            self.hosts.overwrite(at, Hosts.of(known, self.hosts.words))
        new = [row for row in found if row.id not in self._rows]
        if new:
            self._replace(self.hosts.joined(Hosts.of(new, self.hosts.words)))

    def _drop(self, host_ids: Collection[int]) -> None:
        if host_ids:
            kept = np.flatnonzero(~np.isin(self.hosts.ids, list(host_ids)))
            self._replace(self.hosts.take(kept))

    def _replace(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self._rows = {host_id: row for row, host_id in enumerate(hosts.ids.tolist())}


def _by_resource(amounts: Sequence[Amounts]) -> Ints:
    """Turn a line per host into a line per resource."""
    return np.array(amounts, dtype=np.int64).reshape(-1, len(RESOURCES)).T.copy()
