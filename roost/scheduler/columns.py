"""Hosts as NumPy columns, which filters and weighers read, for all hosts or a few.

Values that many hosts share have integer codes (``Interned``), so that a column of them compares as
fast as one of integers.
"""

import dataclasses
import functools
import itertools
import json
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from roost.hardware.providers import FreeProvider
from roost.objects import Aggregate
from roost.objects.allocations import Allocations, Amounts
from roost.objects.bounds import MOST, is_amount
from roost.scheduler.inventory import HostInventory
from roost.scheduler.topology import HeldTopology, HostTopology

T = TypeVar("T", bound=Hashable)
Codes = npt.NDArray[np.int32]
NOWHERE: Final = -1


class Interned(Generic[T]):
    """Integer codes of values, assigned when a value is first learned."""

    def __init__(self) -> None:
        self._codes: dict[T, int] = {}
        self._things: list[T] = []

    def __len__(self) -> int:
        return len(self._things)

    def code(self, thing: T) -> int:
        """Return the code of a value; :data:`NOWHERE`, which no row has, if it has none."""
        return self._codes.get(thing, NOWHERE)

    def learn(self, thing: T) -> int:
        """Return the code of a value, which gets one if it has none."""
        code = self._codes.setdefault(thing, len(self._things))
        if code == len(self._things):
            self._things.append(thing)
        return code

    def codes(self, things: Iterable[T]) -> Codes:
        return np.array([self.learn(thing) for thing in things], dtype=np.int32)

    def only(self, codes: Codes) -> Codes:
        """Drop all values but these, and return their new codes."""
        kept = [self._things[code] for code in codes.tolist()]
        self._codes.clear()
        self._things.clear()
        return self.codes(kept)

    def __getitem__(self, code: int) -> T:
        return self._things[code]

    def map(
        self, codes: Codes, answer: Callable[[T], float | bool], *, kind: type[np.generic]
    ) -> npt.NDArray[np.generic]:
        """Return ``answer`` for every code; it is called once per value, not once per row."""
        if len(codes) < len(self._things):
            return np.array([answer(self._things[code]) for code in codes.tolist()], dtype=kind)
        return np.array([answer(thing) for thing in self._things], dtype=kind).take(codes)


Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
NO_AMOUNTS: Final[Amounts] = {}
_NO_METRICS: Final[Mapping[str, float]] = {}
_NOTHING: Final[frozenset[str]] = frozenset()


@dataclasses.dataclass(frozen=True)
class Profile:
    """The part of a host's report that many hosts have in common."""

    hypervisor_type: str
    hypervisor_version: int
    architectures: frozenset[str]
    capabilities: Mapping[str, str] = dataclasses.field(hash=False)
    traits: frozenset[str]
    labels: frozenset[str]

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def parse(cls, text: str) -> "Profile":
        """Read a profile as the database has it.

        :raises Exception: when it cannot be read, or not compared with others
        """
        values = json.loads(text)
        found = cls(
            hypervisor_type=values.get("hypervisor_type", ""),
            hypervisor_version=values.get("hypervisor_version", 0),
            architectures=frozenset(values.get("architectures", ())),
            capabilities=values.get("capabilities", {}),
            traits=frozenset(values.get("traits", ())),
            labels=frozenset(values.get("labels", ())),
        )
        texts = (found.architectures, found.traits, found.labels, found.capabilities.values())
        for each in itertools.chain([found.hypervisor_type], *texts):
            if not isinstance(each, str):
                raise TypeError(f"{each!r} is no text")
        if not is_amount(found.hypervisor_version):
            raise ValueError(f"hypervisor_version is no number from 0 to {MOST}")
        return found


@dataclasses.dataclass(frozen=True)
class Membership:
    """The aggregates that a host is in, in order of uuid."""

    aggregates: tuple[Aggregate, ...] = dataclasses.field(default=(), hash=False, compare=False)
    key: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, aggregates: Sequence[Aggregate]) -> "Membership":
        ordered = tuple(sorted(aggregates, key=lambda each: each.uuid))
        return cls(ordered, tuple((each.uuid, each.version) for each in ordered))

    def values(self, name: str) -> list[str]:
        """Return the values of this metadata key in all aggregates that have it."""
        return [each.metadata[name] for each in self.aggregates if name in each.metadata]

    def listed(self, name: str) -> frozenset[str]:
        """Return the items of this metadata key in all aggregates, as comma-separated lists."""
        return self._lists.get(name, _NOTHING)

    def names(self) -> Collection[str]:
        """Return the metadata keys of all aggregates."""
        return self._lists.keys()

    @functools.cached_property
    def _lists(self) -> Mapping[str, frozenset[str]]:
        names = {name for each in self.aggregates for name in each.metadata}
        return {name: frozenset(_items(",".join(self.values(name)))) for name in names}

    def smallest(self, name: str) -> float | None:
        """Return the smallest number of this metadata key, or None; other values are ignored."""
        numbers = [_number(text) for text in self.values(name)]
        return min((number for number in numbers if number is not None), default=None)


class Shared:
    """The codes that all rows, and all views of them, share."""

    def __init__(self) -> None:
        self.names: Interned[str] = Interned()
        self.profiles: Interned[str] = Interned()
        self.memberships: Interned[Membership] = Interned()
        self.inventories: Interned[HostInventory] = Interned()
        self.classes: Interned[str] = Interned()
        self._keys: set[str] = set()
        self._scanned = 0
        self._bounds: dict[str, tuple[int, int]] = {}
        self._bounded = 0

    def says(self, name: str) -> bool:
        """Return whether any aggregate has this metadata key; cheap, since keys are cached."""
        for code in range(self._scanned, len(self.memberships)):
            for each in self.memberships[code].aggregates:
                self._keys.update(each.metadata)
        self._scanned = len(self.memberships)
        return name in self._keys

    def restricts(self, resource_class: str, amount: int) -> bool:
        """Return whether some host may not give so much at once, whatever is free; cheap, too."""
        if self._bounded < len(self.inventories):
            self._learn_bounds()
        least, most = self._bounds.get(resource_class, (amount, amount))
        return not least <= amount <= most

    def _learn_bounds(self) -> None:
        """Note what every host gives to one instance; nothing, if one has steps."""
        for code in range(self._bounded, len(self.inventories)):
            for name, one in self.inventories[code].classes.items():
                least, most = self._bounds.get(name, (one.least, one.most))
                most = min(most, one.most) if one.step == 1 else 0
                self._bounds[name] = max(least, one.least), most
        self._bounded = len(self.inventories)

    def rescan(self) -> None:
        """Drop the cached metadata keys and bounds."""
        self._keys.clear()
        self._bounds.clear()
        self._scanned = self._bounded = 0


class Columns:
    """Element i of each column is the same host.

    ``capacity`` and ``used`` have a line per resource class that any host has, in the order of
    their codes, without the parts of hosts; ``instances`` is the number of claims. Names are stored
    as codes: use :meth:`having` and :meth:`name`. Values that many hosts share are evaluated once
    for each kind of host: :meth:`by_profile`, :meth:`by_inventory`, :meth:`by_membership`. A host
    that is not ``readable`` has nothing: what is stored of it cannot be read.
    """

    shared: Shared
    ids: Ints
    host: Codes
    node: Codes
    cell: Codes
    zone: Codes
    profile: Codes
    inventory: Codes
    membership: Codes
    enabled: Mask
    readable: Mask
    up: Mask
    capacity: Ints
    used: Ints
    instances: Ints
    io_operations: Ints
    failed_builds: Ints
    host_ip: npt.NDArray[np.object_]
    metrics: npt.NDArray[np.object_]
    topology: npt.NDArray[np.object_]
    has_pci: Mask
    has_parts: Mask

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, column: str, row: int) -> str:
        """Return the host, node, cell or zone of one row."""
        return self.shared.names[int(getattr(self, column)[row])]

    def take(
        self, row: int, allocations: Allocations, held: HeldTopology | None = None, *, sign: int = 1
    ) -> None:
        """Add a claim to the usage of a host.

        :param held: the NUMA cells and devices of the claim, if it has any
        :param sign: -1: take it away
        """
        self._add(self.used, row, allocations.get("", NO_AMOUNTS), sign=sign)
        self.instances[row] += sign
        topology = self.topology[row]
        if topology is not None:
            change = topology.taking if sign > 0 else topology.giving_back
            self.topology[row] = change(held, allocations)

    def _add(self, lines: Ints, row: int, amounts: Amounts, *, sign: int = 1) -> None:
        """Add amounts of known classes to the values of a host."""
        code_of = self.shared.classes.code
        for name, amount in amounts.items():
            if (code := code_of(name)) != NOWHERE:
                lines[code, row] += sign * amount

    def having(self, column: str, name: str) -> Mask:
        """Return which rows have this host, node, cell or zone."""
        found: Mask = getattr(self, column) == self.shared.names.code(name)
        return found

    def capacity_of(self, resource_class: str) -> Ints:
        """Return how much of a resource instances may have in all, overcommit included."""
        return self._line(self.capacity, resource_class)

    def used_of(self, resource_class: str) -> Ints:
        """Return how much of a resource is claimed."""
        return self._line(self.used, resource_class)

    def free(self, resource_class: str) -> Ints:
        """Return how much of a resource is free; negative where more is used than there is."""
        code = self.shared.classes.code(resource_class)
        left: Ints = self.capacity[code] - self.used[code] if code != NOWHERE else self._nothing
        return left

    def free_of(self, resource_classes: Sequence[str]) -> Ints:
        """Return a line for each of several classes, as :meth:`free` does for one."""
        codes = [self.shared.classes.code(name) for name in resource_classes]
        if NOWHERE in codes:
            return np.array([self.free(name) for name in resource_classes])
        left: Ints = self.capacity[codes] - self.used[codes]
        return left

    @property
    def _nothing(self) -> Ints:
        return np.zeros(len(self), dtype=np.int64)

    def _line(self, lines: Ints, resource_class: str) -> Ints:
        code = self.shared.classes.code(resource_class)
        line: Ints = lines[code] if code != NOWHERE else self._nothing
        return line

    def is_exact(self, row: int) -> bool:
        """Return whether claims on a host may have certain CPUs, memory or devices of it."""
        topology = self.topology[row]
        return topology is not None and bool(topology.cells or topology.pools)

    def providers(self, row: int) -> tuple[FreeProvider, ...]:
        """Return what is free of a host: of itself, then of its parts."""
        view, topology = self.one(row), self.topology[row]
        free = (self.capacity[:, row] - self.used[:, row]).tolist()
        code = self.shared.classes.code
        stocks = {name: one.stock(free[code(name)]) for name, one in view.inventory.classes.items()}
        own = FreeProvider("", view.profile.traits, stocks)
        return (own, *topology.providers) if topology is not None else (own,)

    def largest(self, resource_class: str) -> int:
        """Return the greatest capacity among all known hosts, also those not in these rows."""
        raise NotImplementedError

    @property
    def whole(self) -> "Columns":
        """All known hosts, also those not in these rows."""
        raise NotImplementedError

    def numbers_at(self, numbers: Mapping[int, int]) -> Ints:
        """Return a column of numbers given by row of :attr:`whole`; 0 elsewhere."""
        raise NotImplementedError

    def by_profile(self, answer: Callable[[Profile], bool]) -> Mask:
        """Return ``answer`` for every host by its profile."""
        profiles = self.shared.profiles
        found = profiles.map(self.profile, lambda text: answer(Profile.parse(text)), kind=np.bool_)
        return found.astype(np.bool_, copy=False)

    def by_inventory(self, answer: Callable[[HostInventory], bool]) -> Mask:
        """Return ``answer`` for every host by what it has of resource classes."""
        found = self.shared.inventories.map(self.inventory, answer, kind=np.bool_)
        return found.astype(np.bool_, copy=False)

    def by_membership(self, answer: Callable[[Membership], bool]) -> Mask:
        """Return ``answer`` for every host by its aggregates."""
        found = self.shared.memberships.map(self.membership, answer, kind=np.bool_)
        return found.astype(np.bool_, copy=False)

    def number_by_membership(self, answer: Callable[[Membership], float]) -> Floats:
        """Return a number for every host by its aggregates."""
        found = self.shared.memberships.map(self.membership, answer, kind=np.float64)
        return found.astype(np.float64, copy=False)

    def number_by_profile(self, answer: Callable[[Profile], float]) -> Floats:
        """Return a number for every host by its profile."""
        profiles = self.shared.profiles
        found = profiles.map(
            self.profile, lambda text: answer(Profile.parse(text)), kind=np.float64
        )
        return found.astype(np.float64, copy=False)

    def metric(self, name: str) -> Floats:
        """Return a metric of each host; NaN where a host does not report it."""
        return np.array([(one or _NO_METRICS).get(name, np.nan) for one in self.metrics])

    def one(self, row: int) -> "HostView":
        """Return one host, for filters that check one at a time."""
        return HostView(self, row)


class HostView:
    """One host, as plain values."""

    def __init__(self, hosts: Columns, row: int) -> None:
        self._hosts = hosts
        self._row = row

    @property
    def host(self) -> str:
        return self._hosts.name("host", self._row)

    @property
    def node(self) -> str:
        return self._hosts.name("node", self._row)

    @property
    def cell_uuid(self) -> str:
        return self._hosts.name("cell", self._row)

    @property
    def availability_zone(self) -> str:
        return self._hosts.name("zone", self._row)

    @property
    def enabled(self) -> bool:
        return bool(self._hosts.enabled[self._row])

    @property
    def up(self) -> bool:
        return bool(self._hosts.up[self._row])

    @property
    def profile(self) -> Profile:
        return Profile.parse(self._hosts.shared.profiles[int(self._hosts.profile[self._row])])

    @property
    def inventory(self) -> HostInventory:
        return self._hosts.shared.inventories[int(self._hosts.inventory[self._row])]

    @property
    def membership(self) -> Membership:
        return self._hosts.shared.memberships[int(self._hosts.membership[self._row])]

    @property
    def io_operations(self) -> int:
        return int(self._hosts.io_operations[self._row])

    @property
    def failed_builds(self) -> int:
        return int(self._hosts.failed_builds[self._row])

    @property
    def host_ip(self) -> str | None:
        found: str | None = self._hosts.host_ip[self._row]
        return found

    @property
    def metrics(self) -> Mapping[str, float]:
        return self._hosts.metrics[self._row] or _NO_METRICS

    @property
    def topology(self) -> HostTopology | None:
        """Its free NUMA cells, PCI devices and parts; None: it has reported none."""
        found: HostTopology | None = self._hosts.topology[self._row]
        return found

    def capacity(self, resource_class: str) -> int:
        return int(self._hosts.capacity_of(resource_class)[self._row])

    def used(self, resource_class: str) -> int:
        return int(self._hosts.used_of(resource_class)[self._row])

    def free(self, resource_class: str) -> int:
        return self.capacity(resource_class) - self.used(resource_class)


class SomeHosts(Columns):
    """Some rows of all hosts; each column is copied on first access."""

    def __init__(self, hosts: Columns, rows: Rows) -> None:
        self.shared = hosts.shared
        self._hosts = hosts
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getattr__(self, name: str) -> Any:
        column = getattr(self._hosts, name)[..., self._rows]
        setattr(self, name, column)
        return column

    def largest(self, resource_class: str) -> int:
        return self._hosts.largest(resource_class)

    @property
    def whole(self) -> Columns:
        return self._hosts.whole

    def numbers_at(self, numbers: Mapping[int, int]) -> Ints:
        return self._hosts.numbers_at(numbers)[self._rows]


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
