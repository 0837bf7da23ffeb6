"""What a host has, what its instances take of it, and which instances are here.

The scheduler decides by its own claims; this is the host's own view, which has the last word before
a build begins and which the host reports.

A report confirms the claims of the instances that it lists, and a confirmed claim of one that is
not listed any more is dropped. So an instance is listed without a gap

- from the moment that this host is told to build it, though the build waits for its turn, or that
  its cell says at a start that it belongs here: how far it got is for its row to say;
- while anything of it is here or under way here;
- until its guest is gone *and* the conductor knows. For one that is deleted this is when the
  conductor has answered that it is deleted. For one whose build came to nothing it is when its row
  is seen to name another host, or none (:meth:`ResourceTracker.settle`): a cast may be lost, and
  one who is told again must still find its claim.

Before its cell has said what belongs here, a host reports nothing at all.

How much it takes is another matter: it is free as soon as the guest is gone, because the conductor
lets go of the claim before the host hears of it, and the next instance may come at once. And what
the report says that it *holds*, from which a lost claim is restored, is only what is built and not
being ended: of all else the conductors may be moving or releasing the claim at this moment.
"""

import collections
import datetime
import enum
import logging
import math
import threading
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from roost import exception, states
from roost.compute.host_report import (
    NOTHING,
    Contents,
    HostSettings,
    Share,
    check,
    compose,
    most,
    share_of,
)
from roost.compute.virt.capabilities import traits_of
from roost.compute.virt.driver import GuestPlacement, Load, MeasuresHost, ReportsLoad, VirtDriver
from roost.objects import HostReport, Instance, Selection

LOG = logging.getLogger(__name__)
_A_MOMENT = datetime.timedelta(microseconds=1)


class Stage(enum.Enum):
    """How far an instance is on this host."""

    EXPECTED = "its row names this host, which has no build of it"
    BUILDING = "it is being built"
    BUILT = "it is there"
    ENDING = "it is being deleted, whatever else goes on"


class _Entry(NamedTuple):
    stage: Stage
    share: Share


class _Said(NamedTuple):
    """Whether the operator lets this host take new instances; the higher version counts."""

    version: int
    enabled: bool


class ResourceTracker:
    """Counts what is claimed on one host; any thread may ask.

    :param on_change: called, without arguments, when the next report would say something new
    """

    def __init__(
        self, driver: VirtDriver, *, settings: HostSettings, on_change: Callable[[], object]
    ) -> None:
        self._driver = driver
        self._settings = settings
        self._on_change = on_change
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._operations: collections.Counter[str] = collections.Counter()
        self._failed_builds = 0
        self._cell_uuid: str | None = None
        self._enabled = _Said(version=0, enabled=True)
        self._filled = False
        self._reported_at = datetime.datetime.min.replace(tzinfo=datetime.UTC)

    @property
    def claims(self) -> dict[str, Share]:
        """What each instance takes, by uuid; those that take nothing are left out."""
        with self._lock:
            shares = {uuid: entry.share for uuid, entry in self._entries.items()}
        return {uuid: share for uuid, share in shares.items() if share != NOTHING}

    def locate(self, *, cell_uuid: str) -> None:
        """Note which cell this host is in."""
        if cell_uuid != self._cell_uuid:
            self._cell_uuid = cell_uuid
            self._on_change()

    def set_enabled(self, enabled: bool, *, version: int) -> None:
        """Note whether this host takes new instances; what was said earlier does not count."""
        said = _Said(version, enabled)
        with self._lock:
            is_news = said != self._enabled and version >= self._enabled.version
            if is_news:
                self._enabled = said
        if is_news:
            self._on_change()

    def fill(self, instances: Iterable[Instance]) -> None:
        """Begin anew with what belongs here by its row, whether it fits or not."""
        with self._lock:
            self._entries = {each.uuid: _entry_of(each) for each in instances}
            self._filled = True
        self._on_change()

    def begin_operation(self, instance_uuid: str) -> None:
        """Something is under way for an instance from now on, which is listed meanwhile."""
        with self._lock:
            self._operations[instance_uuid] += 1
        self._on_change()

    def end_operation(self, instance_uuid: str) -> None:
        """It is over: once for each :meth:`begin_operation`."""
        with self._lock:
            self._operations[instance_uuid] -= 1
            if not self._operations[instance_uuid]:
                del self._operations[instance_uuid]
        self._on_change()

    def claim(self, instance: Instance, selection: Selection | None = None) -> None:
        """Set aside what the instance needs; one that has a claim keeps it.

        :param selection: where it goes here and how much there is to give, as the scheduler chose;
            without it, by its row and by this host's own ratios
        :raises roost.exception.NoCapacity: naming resource, asked and free
        """
        wanted = share_of(instance, GuestPlacement.of(selection or instance))
        has = self._driver.resources()
        limit = most(
            has,
            reserved=self._settings.reserved,
            ratios=self._settings.ratios,
            limits=selection.limits if selection else {},
        )
        with self._lock:
            others = [e.share for uuid, e in self._entries.items() if uuid != instance.uuid]
            check(self._settings.host, wanted, others=others, has=has, limit=limit)
            self._set(instance.uuid, Stage.BUILDING, wanted)
        self._on_change()

    def release(self, instance_uuid: str) -> None:
        """Give back what a build had; safe to repeat."""
        with self._lock:
            found = self._entries.pop(instance_uuid, None)
            if found is not None and found.stage is Stage.ENDING:
                self._entries[instance_uuid] = _Entry(Stage.ENDING, NOTHING)
        if found is not None:
            self._on_change()

    def built(self, instance_uuid: str) -> None:
        """Note that an instance that was claimed for is there now: a build succeeded."""
        with self._lock:
            self._set(instance_uuid, Stage.BUILT, self._share(instance_uuid))
            self._failed_builds = 0
        self._on_change()

    def build_failed(self) -> None:
        """Count a build that another host might have done better."""
        with self._lock:
            self._failed_builds += 1
        self._on_change()

    def expect(self, instance_uuid: str) -> None:
        """List an instance until its row is read: nothing of it is here, but it may belong here."""
        with self._lock:
            self._entries.setdefault(instance_uuid, _Entry(Stage.EXPECTED, NOTHING))
        self._on_change()

    def ending(self, instance_uuid: str) -> None:
        """Note that an instance is to go, also one that was never here."""
        with self._lock:
            share = self._share(instance_uuid)
            self._entries[instance_uuid] = _Entry(Stage.ENDING, share)
        self._on_change()

    def vacate(self, instance_uuid: str) -> None:
        """Give back what an instance had that is ending: its guest is gone."""
        with self._lock:
            self._entries[instance_uuid] = _Entry(Stage.ENDING, NOTHING)
        self._on_change()

    def forget(self, instance_uuid: str) -> None:
        """List an instance no more: it is gone, and the conductor knows."""
        with self._lock:
            found = self._entries.pop(instance_uuid, None)
        if found is not None:
            self._on_change()

    def unsettled(self) -> set[str]:
        """Return the uuids of those that wait for a message, which may never come."""
        with self._lock:
            return self._unsettled()

    def settle(self, uuids: Collection[str], instances: Iterable[Instance]) -> None:
        """Let the rows decide of those that were unsettled before the rows were read.

        :param instances: all that belong here by their rows
        """
        belonging = {each.uuid: _entry_of(each) for each in instances}
        with self._lock:
            before = dict(self._entries)
            for uuid in self._unsettled().intersection(uuids):
                self._settle_by(uuid, belonging.get(uuid))
            changed = self._entries != before
        if changed:
            self._on_change()

    def report(self) -> HostReport:
        """Return what the scheduler should know of this host now.

        :raises roost.exception.Unavailable: before the cell has told where this host is, and what
            belongs on it
        """
        if self._cell_uuid is None or not self._filled:
            raise exception.Unavailable(
                f"host {self._settings.host} does not know yet where it is and what it holds"
            )
        reported_at = self._later()  # what changes after it is in a later report
        said = self._enabled
        return compose(
            self._contents(),
            settings=self._settings,
            has=self._driver.resources(),
            able=traits_of(self._driver),
            metrics=self._metrics(),
            load=self._load(),
            cell_uuid=self._cell_uuid,
            enabled=said.enabled,
            enabled_version=said.version,
            reported_at=reported_at,
        )

    def _later(self) -> datetime.datetime:
        """Return the time, or, where the clock was set back, a moment after the last one."""
        with self._lock:
            now = datetime.datetime.now(datetime.UTC)
            self._reported_at = max(now, self._reported_at + _A_MOMENT)
            return self._reported_at

    def _contents(self) -> Contents:
        with self._lock:
            return Contents(
                shares={uuid: entry.share for uuid, entry in self._entries.items()},
                built=frozenset(u for u, e in self._entries.items() if e.stage is Stage.BUILT),
                listed=frozenset({*self._entries, *self._operations}),
                operations=self._operations.total(),
                failed_builds=self._failed_builds,
            )

    def _metrics(self) -> dict[str, float]:
        """Return what the driver measures; a driver that cannot must not silence its host."""
        if not isinstance(self._driver, MeasuresHost):
            return {}
        try:
            found = self._driver.metrics()
        except Exception:
            LOG.exception("the metrics of this host cannot be had")
            return {}
        return {name: value for name, value in found.items() if math.isfinite(value)}

    def _load(self) -> Load | None:
        """Return how busy the node is; a driver that cannot tell must not silence its host."""
        if not isinstance(self._driver, ReportsLoad):
            return None
        try:
            return self._driver.load()
        except Exception:
            LOG.exception("how busy this host is cannot be had")
            return None

    def _unsettled(self) -> set[str]:
        waiting = (Stage.EXPECTED, Stage.ENDING)
        found = {uuid for uuid, entry in self._entries.items() if entry.stage in waiting}
        return found.difference(self._operations)

    def _settle_by(self, uuid: str, row: _Entry | None) -> None:
        if row is None:
            LOG.info("instance %s does not belong on this host any more", uuid)
            del self._entries[uuid]
        elif row.stage is not Stage.EXPECTED and self._entries[uuid].stage is Stage.EXPECTED:
            self._entries[uuid] = row

    def _share(self, instance_uuid: str) -> Share:
        entry = self._entries.get(instance_uuid)
        return entry.share if entry else NOTHING

    def _set(self, instance_uuid: str, stage: Stage, share: Share) -> None:
        """Note how far an instance is; nothing brings back one that is ending."""
        entry = self._entries.get(instance_uuid)
        if entry is not None and entry.stage is Stage.ENDING:
            stage = Stage.ENDING
        self._entries[instance_uuid] = _Entry(stage, share)


def _entry_of(instance: Instance) -> _Entry:
    return _Entry(_stage_of(instance), share_of(instance, GuestPlacement.of(instance)))


def _stage_of(instance: Instance) -> Stage:
    if instance.task_state == states.DELETING:
        return Stage.ENDING
    if instance.vm_state == states.BUILDING:
        return Stage.EXPECTED
    return Stage.BUILT
