"""Collectors: what a host has beside what its driver describes, and what of that changes.

A collector is an entry point of ``roost.collectors``, or offered by the driver. It is asked again
and again, each in a thread of its own, so one that hangs or fails affects no other, and what it
said last stays. What it says goes to the schedulers with the host's next report.
"""

import dataclasses
import datetime
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from typing import Any, Final, Protocol, Self, runtime_checkable

from oslo_config import cfg

from roost import concurrency, exception, plugins
from roost.compute.virt.driver import HostResources
from roost.objects import NUMACell, PciPool, ResourceInventory, ResourceProvider
from roost.objects.bounds import LONGEST, MOST, is_amount, is_name, is_number
from roost.objects.inventory import complaint_about, orphans_among
from roost.objects.report_check import wrong_numa_cells, wrong_pci_pools

LOG = logging.getLogger(__name__)
GROUP: Final = "roost.collectors"
_PATIENCE: Final = 10.0  # seconds for one answer
_REPLACED: Final = ("vcpus", "pcpus", "memory_mb", "disk_gb", "numa_cells", "pci_pools")
_FRESH: Final = 3  # intervals after which an answer is too old


@dataclasses.dataclass(frozen=True)
class Collected:
    """What a collector has found: the same terms as in a HostReport.

    ``inventories`` and ``traits`` are those of the host as a whole, ``providers`` its parts.
    ``additions`` are more of them for parts that others announce, by their names. Only drivers say
    the rest, which replaces what they described before (``HostResources``); None: that stays.
    """

    inventories: tuple[ResourceInventory, ...] = ()
    traits: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
    providers: tuple[ResourceProvider, ...] = ()
    additions: tuple[ResourceProvider, ...] = ()
    vcpus: int | None = None
    pcpus: int | None = None
    memory_mb: int | None = None
    disk_gb: int | None = None
    numa_cells: tuple[NUMACell, ...] | None = None
    pci_pools: tuple[PciPool, ...] | None = None


class HostCollector(Protocol):
    """Finds out something about a host. An entry point names the class.

    :ivar interval: seconds from one answer to the next question
    """

    interval: float

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, node: str) -> Self:
        """Make one for a node, from options.

        :raises roost.exception.Invalid: when it cannot work; the daemon does not start then
        """

    def collect(self) -> Collected:
        """Return what there is now; it may take up to ten seconds.

        :raises Exception: when it cannot be found out now: the last answer stays
        """


@dataclasses.dataclass
class DriverCollector:
    """A collector that a driver offers; see :class:`HostCollector`."""

    collect: Callable[[], Collected]
    interval: float


@runtime_checkable
class OffersCollectors(Protocol):
    """A driver with collectors of what changes, or takes time to find out.

    Its ``resources()`` answers at once.
    """

    def collectors(self) -> dict[str, DriverCollector]:
        """Return them by name."""


AnyCollector = HostCollector | DriverCollector


class _Asked:
    """A collector with its last answer."""

    def __init__(self, name: str, collector: AnyCollector, clock: Callable[[], float]) -> None:
        self.name = name
        self.collector = collector
        self.answer = Collected()
        self._clock = clock
        self._asked_at: float | None = None  # at first
        self._answered_at: float | None = None
        self._answered: datetime.datetime | None = None
        self._running: futures.Future[Collected] | None = None

    def ask(self) -> bool:
        """Ask it, unless it has not answered the last time; return whether the answer is news.

        Metrics are no news: they go with the next report.
        """
        if self._asked_at is None:
            self._asked_at = self._clock()
        if self._running is None:
            self._running = concurrency.abandonable(
                self.collector.collect, name=f"roost-collector-{self.name}"
            )
        try:
            found = self._running.result(timeout=_PATIENCE)
            _check(found)
        except futures.TimeoutError:
            LOG.warning("the collector %s does not answer; its last answer stays", self.name)
            return False
        except exception.RoostError as error:
            LOG.warning("the collector %s failed; its last answer stays: %s",
                        self.name, error.message)  # fmt: skip
        except Exception:
            LOG.exception("the collector %s failed; its last answer stays", self.name)
        else:
            before, self.answer, self._answered_at = self.answer, found, self._clock()
            self._answered = datetime.datetime.now(datetime.UTC)
            self._running = None
            return dataclasses.replace(found, metrics=before.metrics) != before
        self._running = None
        return False

    @property
    def is_fresh(self) -> bool:
        return self._answered_at is not None and self._is_recent(self._answered_at)

    @property
    def stale_since(self) -> str | None:
        """The time of the last answer, if that is too old; empty: there was none. Else None."""
        latest = self._asked_at if self._answered_at is None else self._answered_at
        if latest is None or self._is_recent(latest):
            return None
        return "" if self._answered is None else self._answered.isoformat(timespec="seconds")

    def _is_recent(self, then: float) -> bool:
        return self._clock() - then <= _FRESH * self.collector.interval + _PATIENCE


class Collectors:
    """The collectors of a host, by name; thread-safe, if each is asked by one thread at a time."""

    def __init__(
        self, by_name: Mapping[str, AnyCollector], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._asked = {name: _Asked(name, one, clock) for name, one in by_name.items()}
        self._orphans: set[str] = set()

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, node: str, driver: object = None) -> Self:
        """Load those that ``[compute] collectors`` names, and add those of the driver.

        :raises roost.exception.Invalid: when one does not exist, or cannot work
        """
        found: dict[str, AnyCollector] = dict(offered_by(driver))
        for name in conf.compute.collectors:
            plugin = plugins.find(GROUP, name, option="[compute] collectors")
            found[name] = plugin.from_conf(conf, node=node)
        return cls(found)

    def intervals(self) -> dict[str, float]:
        """Return how often each is to be asked, in seconds."""
        return {name: one.collector.interval for name, one in self._asked.items()}

    def ask(self, name: str) -> bool:
        """Ask a collector; return whether its answer is another one than before."""
        return self._asked[name].ask()

    def added_to(self, has: HostResources) -> HostResources:
        """Return the resources of a node with all that collectors have found.

        Of two inventories of one class the later collector's counts, and the hypervisor's least;
        so it is with two providers of one name. Additions to parts count least.
        """
        answers = [one.answer for one in self._asked.values()]
        replaced = {
            name: value
            for each in answers
            for name in _REPLACED
            if (value := getattr(each, name)) is not None
        }
        both = [*has.inventories, *(one for each in answers for one in each.inventories)]
        parts = [*has.providers, *(one for each in answers for one in each.providers)]
        return dataclasses.replace(
            has,
            **replaced,
            inventories=tuple({one.resource_class: one for one in both}.values()),
            providers=self._connected({one.name: _completed(one, answers) for one in parts}),
            traits=(*has.traits, *(trait for each in answers for trait in each.traits)),
            labels=(*has.labels, *(label for each in answers for label in each.labels)),
        )

    def _connected(self, parts: Mapping[str, ResourceProvider]) -> tuple[ResourceProvider, ...]:
        """Leave out the parts of a host that do not belong to any known part, and log them once."""
        without = orphans_among(parts.values())
        for name in sorted(without - self._orphans):
            LOG.warning("the provider %s is left out: its parent %s is unknown",
                        name, parts[name].parent)  # fmt: skip
        self._orphans = without
        return tuple(one for name, one in parts.items() if name not in without)

    def metrics(self) -> dict[str, float]:
        """Return the measurements that are not too old."""
        return dict(self._measured())

    def stale(self) -> dict[str, str]:
        """Return those whose last answer is too old, each with its time; empty: there was none."""
        found = {name: one.stale_since for name, one in self._asked.items()}
        return {name: since for name, since in found.items() if since is not None}

    def _measured(self) -> Iterator[tuple[str, float]]:
        for one in self._asked.values():
            if one.is_fresh:
                yield from one.answer.metrics.items()


NO_COLLECTORS: Final = Collectors({})


def _completed(part: ResourceProvider, answers: Iterable[Collected]) -> ResourceProvider:
    """Return a part with what collectors add to it."""
    more = [one for each in answers for one in each.additions if one.name == part.name]
    if not more:
        return part
    added = [inventory for one in more for inventory in one.inventories]
    by_class = {one.resource_class: one for one in (*added, *part.inventories)}
    traits = dict.fromkeys([*part.traits, *(trait for one in more for trait in one.traits)])
    values = {"inventories": list(by_class.values()), "traits": list(traits)}
    return ResourceProvider.of(**{**part.values(), **values})


def offered_by(driver: object) -> dict[str, DriverCollector]:
    """Return the collectors of a driver, by names that no entry point has."""
    if not isinstance(driver, OffersCollectors):
        return {}
    return {f"driver.{name}": one for name, one in driver.collectors().items()}


def _check(found: Any) -> None:
    """Make sure that an answer may go to the schedulers.

    :raises roost.exception.Invalid: naming what is wrong with it
    """
    if not isinstance(found, Collected):
        raise exception.Invalid(f"it answered {type(found).__name__}, not Collected")
    complaint = complaint_about(found.inventories, found.traits, found.providers)
    for one in found.additions:
        complaint = complaint or complaint_about(one.inventories, one.traits)
    complaint = complaint or next(_wrong_values(found), None)
    if complaint is not None:
        raise exception.Invalid(complaint)


def _wrong_values(found: Collected) -> Iterator[str]:
    """Yield what is wrong beside inventories and traits."""
    for name in ("vcpus", "pcpus", "memory_mb", "disk_gb"):
        if not is_amount(getattr(found, name) or 0):
            yield f"{name} is no number from 0 to {MOST}"
    for label in found.labels:
        if not is_name(label):
            yield f"the label {str(label)[:20]!r} is no text of 1 to {LONGEST} characters"
    for name, value in found.metrics.items():
        if not is_name(name):
            yield f"the metric {str(name)[:20]!r} has no name of 1 to {LONGEST} characters"
        if not is_number(value):
            yield f"the metric {name} is no number: {str(value)[:20]!r}"
    topology = wrong_numa_cells(found.numa_cells or ()), wrong_pci_pools(found.pci_pools or ())
    yield from filter(None, topology)
