"""All hosts in memory, as columns that can be changed.

A ``ChangeLog`` records changed rows, so that cached results are updated only for these.
"""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from roost.db.scheduler.hosts import HostRow, Usage
from roost.objects import NUMACell, PciPool
from roost.objects.allocations import Allocations
from roost.objects.bounds import is_amount
from roost.objects.inventory import LARGEST
from roost.scheduler.columns import (
    NO_AMOUNTS,
    NOWHERE,
    Codes,
    Columns,
    Floats,
    Ints,
    Mask,
    Membership,
    Profile,
    Rows,
    Shared,
    SomeHosts,
)
from roost.scheduler.inventory import HostInventory
from roost.scheduler.topology import HeldTopology, HostTopology
from roost.scheduler.topology.numa import FreeCell
from roost.scheduler.topology.pci import FreePool

_LONGEST: Final = 65536


class Position(NamedTuple):
    """A position in a change log."""

    epoch: int
    used: int
    described: int


class ChangeLog:
    """Rows whose usage changed, and rows of which anything may have changed, in order.

    An epoch ends when all rows may have changed, or when the log is too long.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._used: list[int] = []
        self._described: list[int] = []

    def now(self) -> Position:
        return Position(self._epoch, len(self._used), len(self._described))

    def used(self, row: int) -> None:
        if len(self._used) >= _LONGEST:
            self.restart()
        self._used.append(row)

    def described(self, rows: list[int]) -> None:
        if len(self._described) >= _LONGEST:
            self.restart()
        self._described += rows

    def restart(self) -> None:
        """Begin a new epoch: cached results of all rows are stale."""
        self._epoch += 1
        self._used.clear()
        self._described.clear()

    def since(self, position: Position) -> tuple[list[int], list[int]] | None:
        """Return the rows used and the rows described since; None: all rows may have changed."""
        if position.epoch != self._epoch:
            return None
        return self._used[position.used :], self._described[position.described :]


_WORDS: Final = 200  # characters of a reason
_SPARE: Final = 100  # unused codes that are tolerated
_PLAIN: Final = (
    "ids", "generation", "described", "host", "node", "cell", "reported_zone", "zone", "profile",
    "inventory", "membership", "enabled", "readable", "problem", "told_down", "up", "reported_at",
    "capacity", "used", "instances", "io_operations", "failed_builds", "host_ip", "metrics",
    "topology", "has_pci", "has_parts",
)  # fmt: skip


class HostColumns(Columns):
    """All known hosts. Changes of their usage are recorded in the ``journal``.

    ``generation`` and ``described`` are those of the rows in the database; ``reported_at`` is in
    seconds since the epoch; ``problem`` is why a row cannot be read, or None.
    """

    generation: Ints
    described: Ints
    reported_zone: Codes
    told_down: Mask
    problem: npt.NDArray[np.object_]
    reported_at: Floats

    def __init__(self, rows: Sequence[HostRow] = (), *, shared: Shared | None = None) -> None:
        self.shared = shared or Shared()
        self.journal = ChangeLog()
        self._largest: tuple[int, ...] | None = None
        self._read(rows)

    def take(
        self, row: int, allocations: Allocations, held: HeldTopology | None = None, *, sign: int = 1
    ) -> None:
        if self.readable[row]:
            super().take(row, allocations, held, sign=sign)
        self.journal.used(row)

    def use(self, row: int, usage: Usage) -> None:
        """Set the usage of a host without topology, as the database has it.

        :raises Exception: when it cannot be counted; the generation is as before then, and the host
            must be read again
        """
        self.used[:, row] = 0
        self._add(self.used, row, usage.used.get("", NO_AMOUNTS))
        self.instances[row] = usage.instances
        self.generation[row] = usage.generation
        self.reported_at[row] = usage.reported_at
        self.journal.used(row)

    def is_plain(self, row: int) -> bool:
        """Return whether a host's usage is all that its claims change in memory."""
        return self.topology[row] is None and bool(self.readable[row])

    def some(self, rows: Rows) -> "SomeHosts":
        """Return a view of some rows, as they are now."""
        return SomeHosts(self, rows)

    def largest(self, resource_class: str) -> int:
        code = self.shared.classes.code(resource_class)
        return self.scale[code] if code < len(self.scale) and code != NOWHERE else 0

    @property
    def whole(self) -> Columns:
        return self

    def numbers_at(self, numbers: Mapping[int, int]) -> Ints:
        column = np.zeros(len(self), dtype=np.int64)
        if numbers:
            column[list(numbers)] = list(numbers.values())
        return column

    @property
    def scale(self) -> tuple[int, ...]:
        """The greatest capacity of each resource class."""
        if self._largest is None:
            self._largest = tuple(self.capacity.max(axis=1, initial=0).tolist())
        return self._largest

    def add(self, rows: Sequence[HostRow]) -> None:
        """Append hosts."""
        new = HostColumns(rows, shared=self.shared)
        self._widen()
        for name in _PLAIN:
            columns = (getattr(self, name), getattr(new, name))
            setattr(self, name, np.concatenate(columns, axis=-1))
        self.changed_throughout()

    def keep(self, rows: Rows) -> None:
        """Remove all other rows."""
        for name in _PLAIN:
            setattr(self, name, getattr(self, name)[..., rows])
        self.changed_throughout()

    def overwrite(self, at: Rows, rows: Sequence[HostRow]) -> None:
        """Replace rows by newer ones."""
        new = HostColumns(rows, shared=self.shared)
        self._widen()
        for name in _PLAIN:
            getattr(self, name)[..., at] = getattr(new, name)
        self._largest = None
        self.journal.described(at.tolist())

    def clear(self, at: int, row: HostRow, problem: str) -> None:
        """Leave nothing of a host that cannot be read."""
        self.overwrite(np.array([at], dtype=np.intp), [_without_contents(row)])
        self.problem[at], self.readable[at] = problem, False

    def rescale(self) -> None:
        """Drop the cached greatest capacities."""
        self._largest = None

    def forget_past(self) -> None:
        """Drop codes of profiles and the like that no host has, once they are the most."""
        shared, many = self.shared, 2 * len(self) + _SPARE
        if len(shared.profiles) > many:
            self.profile = shared.profiles.only(self.profile)
        if len(shared.inventories) > many:
            self.inventory = shared.inventories.only(self.inventory)
            shared.rescan()
        if len(shared.memberships) > many:
            self.membership = shared.memberships.only(self.membership)
            shared.rescan()

    def changed_throughout(self) -> None:
        """Mark all rows as changed, so that no cached result is used."""
        self.rescale()
        self.journal.restart()

    def _read(self, stored: Sequence[HostRow]) -> None:
        parsed = [_parsed(row) for row in stored]
        rows = [each.row for each in parsed]
        self.problem = _things([each.problem for each in parsed])
        self.readable = np.array([each.problem is None for each in parsed], dtype=np.bool_)
        names, count = self.shared.names, len(rows)
        self.ids = _ints([row.id for row in rows])
        self.generation = _ints([row.generation for row in rows])
        self.described = _ints([row.described for row in rows])
        self.host = names.codes(row.host for row in rows)
        self.node = names.codes(row.node for row in rows)
        self.cell = names.codes(row.cell_uuid for row in rows)
        self.reported_zone = names.codes(row.availability_zone for row in rows)
        self.zone = self.reported_zone.copy()
        self.profile = self.shared.profiles.codes(row.profile for row in rows)
        alone = self.shared.memberships.learn(Membership())
        self.membership = np.full(count, alone, dtype=np.int32)
        self.enabled = np.array([row.enabled for row in rows], dtype=np.bool_)
        self.told_down = np.array([row.told_down for row in rows], dtype=np.bool_)
        self.up = ~self.told_down
        self.reported_at = np.array([row.reported_at for row in rows], dtype=np.float64)
        inventories = [each.inventory for each in parsed]
        self.inventory = self.shared.inventories.codes(inventories)
        for name in dict.fromkeys(name for each in inventories for name in each.classes):
            self.shared.classes.learn(name)
        self.capacity, self.used = np.zeros((2, len(self.shared.classes), count), dtype=np.int64)
        self.reset_capacity(np.arange(count))
        for at, row in enumerate(rows):
            self._add(self.used, at, row.used.get("", NO_AMOUNTS))
        self.instances = _ints([row.instances for row in rows])
        self.io_operations = _ints([row.io_operations for row in rows])
        self.failed_builds = _ints([row.failed_builds for row in rows])
        self.host_ip = _things([row.host_ip for row in rows])
        self.metrics = _things([each.metrics for each in parsed])
        self.topology = _things([each.topology for each in parsed])
        self.has_pci = np.array(
            [each is not None and each.has_pci for each in self.topology], dtype=np.bool_
        )
        self.has_parts = np.array([bool(each.parts) for each in inventories], dtype=np.bool_)

    def reset_capacity(self, rows: Rows) -> None:
        """Set the capacities of hosts to those that they report."""
        self.capacity[:, rows] = 0
        for row in rows.tolist():
            classes = self.one(row).inventory.classes
            capacities = {name: each.capacity for name, each in classes.items()}
            self._add(self.capacity, row, capacities)

    def _widen(self) -> None:
        """Make room for classes that were learned since."""
        more = len(self.shared.classes) - len(self.capacity)
        if more:
            room = np.zeros((more, len(self)), dtype=np.int64)
            self.capacity = np.concatenate((self.capacity, room))
            self.used = np.concatenate((self.used, room))


class _Parsed(NamedTuple):
    """A row, and what its JSON says."""

    row: HostRow
    inventory: HostInventory
    topology: HostTopology | None
    metrics: Mapping[str, float] | None
    problem: str | None = None

    @classmethod
    def of(cls, row: HostRow) -> "_Parsed":
        """Parse a row.

        :raises Exception: when it cannot be read, or not compared with others
        """
        Profile.parse(row.profile)
        metrics = json.loads(row.metrics) if row.metrics else {}
        if not (is_amount(row.io_operations) and is_amount(row.failed_builds)):
            raise ValueError("io_operations or failed_builds is no amount")
        for amounts in row.used.values():
            for name, amount in amounts.items():
                if not -LARGEST <= amount <= LARGEST:
                    raise ValueError(f"{name}: more is used than can be counted")
        inventory = HostInventory.parse(row.inventories)
        measured = {name: float(value) for name, value in metrics.items()}
        return cls(row, inventory, _topology(row, inventory), measured or None)


def problem_of(row: HostRow) -> str | None:
    """Return why a row cannot be read; None: it can."""
    return _parsed(row).problem


def words(error: Exception) -> str:
    """Return why something stored cannot be read."""
    return str(error)[:_WORDS] or type(error).__name__


def _parsed(row: HostRow) -> _Parsed:
    """Parse a row; the host of one that cannot be read has nothing."""
    try:
        return _Parsed.of(row)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other hosts can be read
        return _Parsed.of(_without_contents(row))._replace(problem=words(error))


def _without_contents(row: HostRow) -> HostRow:
    """Return a row as of a host that has nothing, and on which nothing is."""
    return dataclasses.replace(
        row,
        used={},
        io_operations=0,
        failed_builds=0,
        profile="{}",
        inventories="[]",
        topology=None,
        metrics=None,
    )


def _topology(row: HostRow, inventory: HostInventory) -> HostTopology | None:
    """Return the NUMA cells and devices of a host, all of them free, and what is of its parts."""
    if not row.topology and not inventory.parts:
        return None
    cells, pools = _read_topology(row.topology) if row.topology else ((), ())
    return HostTopology(cells, pools, inventory.parts).taking(None, row.used)


@functools.lru_cache(maxsize=1024)
def _read_topology(text: str) -> tuple[tuple[FreeCell, ...], tuple[FreePool, ...]]:
    cells, pools = json.loads(text)
    found = HostTopology.of(
        [NUMACell.obj_from_primitive(cell) for cell in cells],
        [PciPool.obj_from_primitive(pool) for pool in pools],
    )
    return found.cells, found.pools


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _things(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    column = np.empty(len(values), dtype=np.object_)
    column[:] = values
    return column
