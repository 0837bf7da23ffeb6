"""The resource tracker: a host's resources, their use by instances, and the instances listed.

The scheduler decides by its own claims; this is the host's own view, which the host checks before
it begins a build, and which it reports.

A report confirms the claims of the instances that it lists; the scheduler drops a confirmed claim
whose instance is no longer listed. So an instance is listed without a gap

- from the moment that this host receives the cast to build it, even if the build is queued, or that
  its cell lists it here at start; its row has its progress;
- while any part of it, or any operation on it, is on this host;
- until its guest is destroyed *and* the conductor knows. For a deleted instance this is when the
  conductor has answered that it is deleted. For one whose build failed it is when its row names
  another host, or none (:meth:`ResourceTracker.settle`): a cast may be lost, and a host that
  receives it again must still find its claim.

Before its cell has listed the instances of this host, the host reports nothing at all.

Resources are free as soon as the guest is destroyed, because the conductor releases the claim
before it answers the host, and the next instance may arrive at once. The report's *holdings*, from
which a lost claim is restored, are only instances that are built and not being deleted: the
conductors may be moving or releasing the claims of all others.
"""

import collections
import datetime
import enum
import logging
import threading
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from roost import exception, states
from roost.compute.collectors import NO_COLLECTORS, Collectors
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
from roost.compute.virt.driver import (
    GuestResources,
    HostResources,
    Load,
    ReportsLoad,
    VirtDriver,
)
from roost.objects import HostReport, Instance, Selection, report_check

LOG = logging.getLogger(__name__)
_A_MOMENT = datetime.timedelta(microseconds=1)


class Stage(enum.Enum):
    """The stage of an instance on this host."""

    EXPECTED = "its row names this host, which has no build of it"
    BUILDING = "it is being built"
    ARRIVING = "it moves to this host"
    BUILT = "it is there"
    ENDING = "it is being deleted, whatever else goes on"


class _Entry(NamedTuple):
    stage: Stage
    share: Share


class _Enabled(NamedTuple):
    """Whether the operator has enabled this host; the higher version counts."""

    version: int
    enabled: bool


class ResourceTracker:
    """Tracks the claims on one host; thread-safe.

    :param on_change: called, without arguments, when the report changes
    :param collectors: what the host has beside what its driver reports
    """

    def __init__(
        self,
        driver: VirtDriver,
        *,
        settings: HostSettings,
        on_change: Callable[[], object],
        collectors: Collectors = NO_COLLECTORS,
    ) -> None:
        self._driver = driver
        self._settings = settings
        self._on_change = on_change
        self.collectors = collectors
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._operations: collections.Counter[str] = collections.Counter()
        self._failed_builds = 0
        self._cell_uuid: str | None = None
        self._enabled = _Enabled(version=0, enabled=True)
        self._read_parts: frozenset[str] | None = None
        self._filled = False
        self._reported_at = datetime.datetime.min.replace(tzinfo=datetime.UTC)

    @property
    def claims(self) -> dict[str, Share]:
        """The share of each instance, by uuid; empty shares are left out."""
        with self._lock:
            shares = {uuid: entry.share for uuid, entry in self._entries.items()}
        return {uuid: share for uuid, share in shares.items() if share != NOTHING}

    def resources(self) -> HostResources:
        """Return what the host has, by its driver and its collectors."""
        return self.collectors.added_to(self._driver.resources())

    def locate(self, *, cell_uuid: str) -> None:
        """Note which cell this host is in."""
        if cell_uuid != self._cell_uuid:
            self._cell_uuid = cell_uuid
            self._on_change()

    def ask_collectors(self, names: Iterable[str]) -> None:
        """Ask these collectors again, and report what is new."""
        news = [name for name in names if self.collectors.ask(name)]
        if news:
            self._on_change()

    def set_enabled(self, enabled: bool, *, version: int) -> None:
        """Note whether this host is enabled; an older version than the last is ignored."""
        latest = _Enabled(version, enabled)
        with self._lock:
            is_news = latest != self._enabled and version >= self._enabled.version
            if is_news:
                self._enabled = latest
        if is_news:
            self._on_change()

    def set_read_parts(self, parts: Collection[str] | None) -> None:
        """Note which parts of reports schedulers read; None: not known now.

        Until it is known, reports have all parts.
        """
        if parts is not None and self._read_parts != frozenset(parts):
            self._read_parts = frozenset(parts)
            self._on_change()

    def fill(self, instances: Iterable[Instance]) -> None:
        """Replace all claims by those of these instances, whether they fit or not."""
        with self._lock:
            self._entries = {each.uuid: _entry_of(each) for each in instances}
            self._filled = True
        self._on_change()

    def begin_operation(self, instance_uuid: str) -> None:
        """Count an operation on an instance, which is listed until the operation ends."""
        with self._lock:
            self._operations[instance_uuid] += 1
        self._on_change()

    def end_operation(self, instance_uuid: str) -> None:
        """End an operation: call it once for each :meth:`begin_operation`."""
        with self._lock:
            self._operations[instance_uuid] -= 1
            if not self._operations[instance_uuid]:
                del self._operations[instance_uuid]
        self._on_change()

    def claim(
        self, instance: Instance, selection: Selection | None = None, *, arriving: bool = False
    ) -> None:
        """Claim the resources of an instance; an existing claim is replaced.

        :param selection: the scheduler's choice of resources and limits; None: the resources of the
            row, and this host's own ratios
        :param arriving: it moves to this host; else it is built here
        :raises roost.exception.NoCapacity: with ``resource``, ``asked`` and ``free`` as details
        """
        wanted = share_of(instance, GuestResources.of(selection or instance))
        has = self.resources()
        limit = most(
            has,
            reserved=self._settings.reserved,
            ratios=self._settings.ratios,
            limits=selection.limits if selection else {},
        )
        with self._lock:
            others = [e.share for uuid, e in self._entries.items() if uuid != instance.uuid]
            check(
                self._settings.host,
                wanted,
                others=others,
                has=has,
                limit=limit,
            )
            stage = Stage.ARRIVING if arriving else Stage.BUILDING
            self._set(instance.uuid, stage, wanted)
        self._on_change()

    def note(self, instance: Instance) -> None:
        """Track an instance as its row has it, whether it fits or not."""
        with self._lock:
            entry = _entry_of(instance)
            self._set(instance.uuid, entry.stage, entry.share)
        self._on_change()

    def release(self, instance_uuid: str) -> None:
        """Release the claim of a build; may be repeated."""
        with self._lock:
            found = self._entries.pop(instance_uuid, None)
            if found is not None and found.stage is Stage.ENDING:
                self._entries[instance_uuid] = _Entry(Stage.ENDING, NOTHING)
        if found is not None:
            self._on_change()

    def built(self, instance_uuid: str) -> None:
        """Note that the build of an instance succeeded."""
        with self._lock:
            self._set(instance_uuid, Stage.BUILT, self._share(instance_uuid))
            self._failed_builds = 0
        self._on_change()

    def build_failed(self) -> None:
        """Count a failed build that another host might complete."""
        with self._lock:
            self._failed_builds += 1
        self._on_change()

    def expect(self, instance_uuid: str) -> None:
        """List an instance without resources until its row is read: it may belong here."""
        with self._lock:
            self._entries.setdefault(instance_uuid, _Entry(Stage.EXPECTED, NOTHING))
        self._on_change()

    def ending(self, instance_uuid: str) -> None:
        """Note that an instance is being deleted, also one that was never here."""
        with self._lock:
            share = self._share(instance_uuid)
            self._entries[instance_uuid] = _Entry(Stage.ENDING, share)
        self._on_change()

    def vacate(self, instance_uuid: str) -> None:
        """Release the resources of an instance being deleted: its guest is destroyed."""
        with self._lock:
            self._entries[instance_uuid] = _Entry(Stage.ENDING, NOTHING)
        self._on_change()

    def forget(self, instance_uuid: str) -> None:
        """Stop listing an instance whose row the conductor has deleted."""
        with self._lock:
            found = self._entries.pop(instance_uuid, None)
        if found is not None:
            self._on_change()

    def unsettled(self) -> set[str]:
        """Return the uuids of instances that wait for a message, which may be lost."""
        with self._lock:
            return self._unsettled()

    def settle(self, uuids: Collection[str], instances: Iterable[Instance]) -> None:
        """Apply the rows to instances that were unsettled before the rows were read.

        :param instances: those of them that belong on this host
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
        """Return the current report for the scheduler.

        :raises roost.exception.Unavailable: before the cell has reported its uuid and the instances
            of this host
        :raises roost.exception.Invalid: when schedulers would refuse it, by what the driver, the
            collectors or the options say
        """
        if self._cell_uuid is None or not self._filled:
            raise exception.Unavailable(
                f"host {self._settings.host} does not know its cell and its instances yet"
            )
        reported_at = self._later()  # changes after it are in a later report
        latest = self._enabled
        composed = compose(
            self._contents(),
            settings=self._settings,
            has=self.resources(),
            able=traits_of(self._driver),
            metrics=self.collectors.metrics(),
            load=self._load(),
            cell_uuid=self._cell_uuid,
            enabled=latest.enabled,
            enabled_version=latest.version,
            reported_at=reported_at,
            read_parts=self._read_parts,
            stale_collectors=self.collectors.stale(),
        )
        report_check.check(composed)
        return composed

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

    def _load(self) -> Load | None:
        """Return the load of the node; a failing driver must not prevent the report."""
        if not isinstance(self._driver, ReportsLoad):
            return None
        try:
            return self._driver.load()
        except Exception:
            LOG.exception("the load of this host cannot be read")
            return None

    def _unsettled(self) -> set[str]:
        waiting = (Stage.EXPECTED, Stage.ARRIVING, Stage.ENDING)
        found = {uuid for uuid, entry in self._entries.items() if entry.stage in waiting}
        return found.difference(self._operations)

    def _settle_by(self, uuid: str, row: _Entry | None) -> None:
        if row is None:
            LOG.info("[instance: %s] does not belong on this host any more", uuid)
            del self._entries[uuid]
        elif row.stage is not Stage.EXPECTED and self._entries[uuid].stage is Stage.EXPECTED:
            self._entries[uuid] = row

    def _share(self, instance_uuid: str) -> Share:
        entry = self._entries.get(instance_uuid)
        return entry.share if entry else NOTHING

    def _set(self, instance_uuid: str, stage: Stage, share: Share) -> None:
        """Set the stage of an instance; one that is ending stays so."""
        entry = self._entries.get(instance_uuid)
        if entry is not None and entry.stage is Stage.ENDING:
            stage = Stage.ENDING
        self._entries[instance_uuid] = _Entry(stage, share)


def _entry_of(instance: Instance) -> _Entry:
    return _Entry(_stage_of(instance), share_of(instance, GuestResources.of(instance)))


def _stage_of(instance: Instance) -> Stage:
    if instance.task_state == states.DELETING:
        return Stage.ENDING
    if instance.vm_state == states.BUILDING:
        return Stage.EXPECTED
    return Stage.BUILT
