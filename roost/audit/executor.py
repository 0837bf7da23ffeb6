"""Carries out planned repairs: each is repeatable, and done only if the state has not changed.

Databases are changed by compare-and-swap, claims by the schedulers, guests by their hosts; so
concurrent requests are safe, and an instance that has changed since the audit is left alone.
"""

import dataclasses
import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.audit import repairs
from roost.audit.repairs import Repair
from roost.cells import Cells
from roost.context import admin_context
from roost.db.api import audits as api_level
from roost.db.api import instance_mappings, quota
from roost.db.cell import audits as in_cell
from roost.db.cell import instances
from roost.db.engine import Database
from roost.external.neutron_ports import LeftoverPorts
from roost.objects import Instance, InstanceResources
from roost.objects.allocations import of_host, plus
from roost.objects.topology import sizes_of
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)
LEFT_ALONE: Final = "left alone"
NOT_RESTORED: Final = "not restored"
NO_LONGER_SO: Final = "no longer so"
_AT_ONCE: Final = 500  # claims in a message


@dataclasses.dataclass(frozen=True)
class RepairOutcome:
    """The outcome of a repair; ``done``: nothing is left to do."""

    repair: Repair
    what: str
    done: bool = True
    why: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "why", self.why or self.repair.why)


Some = Sequence[Repair]


class RepairExecutor:
    """Carries out repairs.

    :param outside_ports: the network service that has the ports of instances; None: they are rows
    """

    def __init__(
        self,
        api_database: Database,
        cells: Cells,
        schedulers: SchedulerClient,
        *,
        outside_ports: LeftoverPorts | None = None,
    ) -> None:
        self._api_database = api_database
        self._cells = cells
        self._schedulers = schedulers
        self._outside_ports = outside_ports
        self._context = admin_context()
        self._hands: Mapping[str, Callable[[Some], Iterator[RepairOutcome]]] = {
            repairs.RELEASE: self._release,
            repairs.RESTORE: self._restore,
            repairs.RECONCILE: self._reconcile,
            repairs.RECOUNT_HOST: self._recount_hosts,
            repairs.RECOUNT_PROJECT: self._each(self._recount_project),
            repairs.FREE_PORT: self._each(self._free_port),
            repairs.RELEASE_PORT: self._each(self._release_port),
            repairs.MAP: self._each(self._map),
            repairs.REMAP: self._each(self._remap),
            repairs.END: self._each(self._end),
            repairs.FORGET: self._each(self._forget),
            repairs.USE_AGAIN: self._each(self._use_again),
            repairs.END_LEASE: self._each(self._end_lease),
            repairs.LEAVE: self._each(lambda repair: RepairOutcome(repair, LEFT_ALONE, done=False)),
        }

    def carry_out(self, plan: Iterable[Repair]) -> Iterator[RepairOutcome]:
        """Carry out all repairs, in order; yield failures, too, and go on with the rest."""
        for action, some in itertools.groupby(plan, lambda repair: repair.action):
            for outcome in self._hands[action](list(some)):
                LOG.info("%s: %s: %s", outcome.repair.subject, outcome.what, outcome.why)
                yield outcome

    # with one message per host

    def _release(self, some: Some) -> Iterator[RepairOutcome]:
        for (host,), found in _by(some, "host"):
            for start in range(0, len(found), _AT_ONCE):
                part = found[start : start + _AT_ONCE]
                named = [repair.subject for repair in part]
                send = functools.partial(
                    self._schedulers.release_claims,
                    self._context,
                    instance_uuids=named,
                    host=host,
                )
                yield from _sent(part, send, "released")

    def _reconcile(self, some: Some) -> Iterator[RepairOutcome]:
        for (cell_uuid, host), found in _by(some, "cell_uuid", "host"):
            send = functools.partial(self._notify_host, str(cell_uuid), str(host))
            yield from _sent(found, send, "reconciled by its host")

    def _notify_host(self, cell_uuid: str, host: str) -> None:
        self._cells.get(cell_uuid).compute.on(host).reconcile_guests(self._context)

    def _recount_hosts(self, some: Some) -> Iterator[RepairOutcome]:
        for (host,), found in _by(some, "host"):
            send = functools.partial(self._schedulers.recount, self._context, host=str(host))
            yield from _sent(found, send, "recounted")

    def _restore(self, some: Some) -> Iterator[RepairOutcome]:
        for (cell_uuid, host), found in _by(some, "cell_uuid", "host"):
            try:
                restored = self._restore_on(str(cell_uuid), str(host), found)
            except exception.RoostError as error:
                yield from (_failed(repair, error, what=NOT_RESTORED) for repair in found)
                continue
            for repair in found:
                done = repair.subject in restored
                yield RepairOutcome(repair, "restored" if done else NOT_RESTORED, done=done)

    def _restore_on(self, cell_uuid: str, host: str, found: Some) -> set[str]:
        """Return the instances that got a claim; others have one by now, or were deleted."""
        wanted = {repair.subject for repair in found}
        there = [
            one
            for one in self._cells.get(cell_uuid).database.query(instances.list_on_host, host)
            if one.uuid in wanted
        ]
        restored: set[str] = set()
        for node in {str(one.node) for one in there}:
            restored.update(self._claim(host, node, [one for one in there if one.node == node]))
        return restored

    def _claim(self, host: str, node: str, there: Sequence[Instance]) -> list[str]:
        holdings = {one.uuid: _holding(one) for one in there}
        try:
            return self._schedulers.restore_claims(
                self._context,
                host=host,
                node=node,
                holdings=holdings,
                instance_resources=[
                    found for one in there if (found := _resources(one)) is not None
                ],
            )
        except exception.NotFound as error:
            advice = "Start its roost-compute, or remove the host."
            raise exception.NotFound(f"{error.message} {advice}") from error

    # one by one

    def _each(
        self, carry_out: Callable[[Repair], RepairOutcome]
    ) -> Callable[[Some], Iterator[RepairOutcome]]:
        def carry_out_all(some: Some) -> Iterator[RepairOutcome]:
            for repair in some:
                try:
                    yield carry_out(repair)
                except exception.RoostError as error:
                    yield _failed(repair, error)

        return carry_out_all

    def _recount_project(self, repair: Repair) -> RepairOutcome:
        found = self._api_database.write(quota.recount, repair.subject)
        return _swapped(repair, "recounted", done=found.used != found.counted)

    def _free_port(self, repair: Repair) -> RepairOutcome:
        freed = False
        for cell in self._cells.all():
            freed = freed or cell.database.write(in_cell.free_orphan, repair.subject)
        return _swapped(repair, "freed", done=freed)

    def _release_port(self, repair: Repair) -> RepairOutcome:
        """Release a port of Neutron; its instance cannot be restored, so this is safe."""
        if self._outside_ports is None:
            raise exception.Unavailable("no network service is configured")
        done = self._outside_ports.let_go(repair.subject, instance_uuid=str(repair.instance_uuid))
        return _swapped(repair, "released", done=done)

    def _map(self, repair: Repair) -> RepairOutcome:
        cell_uuid = str(repair.cell_uuid)
        instance = self._cells.get(cell_uuid).database.query(instances.find, repair.subject)
        done = instance is not None and self._api_database.write(
            api_level.adopt, instance, cell_uuid=cell_uuid
        )
        return _swapped(repair, "mapped", done=done)

    def _end(self, repair: Repair) -> RepairOutcome:
        """Delete an instance again that its user deleted and a backup of its cell restored."""
        if self._api_database.query(instance_mappings.find, repair.subject) is not None:
            return RepairOutcome(repair, NO_LONGER_SO)
        cell = self._cells.get(str(repair.cell_uuid))
        return _swapped(repair, "deleted", done=cell.end_instance(self._context, repair.subject))

    def _use_again(self, repair: Repair) -> RepairOutcome:
        mapping = self._api_database.query(instance_mappings.find, repair.subject)
        database = self._cells.get(str(repair.cell_uuid)).database
        instance = database.query(instances.find, repair.subject)
        done = False
        if mapping is not None and instance is not None:
            is_away = states.is_soft_deleted(instance.vm_state, instance.task_state)
            done = self._api_database.write(api_level.use_again, mapping, is_away=is_away)
        return _swapped(repair, "in use again", done=done)

    def _remap(self, repair: Repair) -> RepairOutcome:
        done = self._api_database.write(
            api_level.move, repair.subject, before=repair.before, cell_uuid=str(repair.cell_uuid)
        )
        return _swapped(repair, "mapped", done=done)

    def _forget(self, repair: Repair) -> RepairOutcome:
        if repair.cell_uuid is None:
            return self._forget_unmapped(repair)
        cell_uuid = repair.cell_uuid
        with self._cells.get(cell_uuid).database.read() as session:
            deleted = bool(in_cell.list_deleted(session, [repair.subject]))
            known = bool(instances.list_known(session, [repair.subject]))
        if not known:
            advice = "delete it as its user would, unless that cell's database is to be restored"
            why = f"{repair.why}, and never was; {advice}"
            return RepairOutcome(repair, LEFT_ALONE, done=False, why=why)
        done = deleted and self._api_database.write(
            api_level.forget_deleted, repair.subject, cell_uuid=cell_uuid
        )
        return _swapped(repair, "deleted", done=done)

    def _forget_unmapped(self, repair: Repair) -> RepairOutcome:
        """Delete a mapping unless a cell has the instance; an unavailable cell fails the repair."""
        for cell in self._cells.all():
            if cell.database.query(instances.list_known, [repair.subject]):
                return RepairOutcome(repair, NO_LONGER_SO)
        done = self._api_database.write(api_level.forget_unmapped, repair.subject)
        return _swapped(repair, "deleted", done=done)

    def _end_lease(self, repair: Repair) -> RepairOutcome:
        done = self._api_database.write(api_level.end_lease, repair.subject)
        return _swapped(repair, "left to the next super-conductor", done=done)


def _holding(instance: Instance) -> dict[str, dict[str, int]]:
    sizes = sizes_of(instance.flavor, instance.image, instance.numa_topology)
    return plus(of_host(sizes), instance.allocations)


def _resources(instance: Instance) -> InstanceResources | None:
    """Return the NUMA cells and devices of an instance; None: it has none."""
    return InstanceResources.of_holder(instance, instance_uuid=instance.uuid)


def _swapped(repair: Repair, what: str, *, done: bool) -> RepairOutcome:
    return RepairOutcome(repair, what if done else NO_LONGER_SO)


def _failed(repair: Repair, error: exception.RoostError, *, what: str = "failed") -> RepairOutcome:
    return RepairOutcome(repair, what, done=False, why=f"{repair.why}; {error.message}")


def _sent(some: Some, send: Callable[[], object], what: str) -> Iterator[RepairOutcome]:
    """Send one message for several repairs, and yield their outcomes."""
    try:
        send()
    except exception.RoostError as error:
        yield from (_failed(repair, error) for repair in some)
    else:
        yield from (RepairOutcome(repair, what) for repair in some)


def _by(some: Some, *names: str) -> Iterator[tuple[tuple[Any, ...], list[Repair]]]:
    """Yield repairs grouped by the values of these fields."""

    def common(repair: Repair) -> tuple[Any, ...]:
        return tuple(str(getattr(repair, name)) for name in names)

    for key, found in itertools.groupby(sorted(some, key=common), common):
        yield key, list(found)
