"""Does what a plan of repairs says: each one repeatable, and only if things still are as they were.

Databases are changed by compare-and-swap, claims by the schedulers, guests by their hosts; so what
runs meanwhile is safe, and an instance that moved on since it was looked at is left alone.
"""

import dataclasses
import datetime
import functools
import itertools
import logging
import uuid as uuids
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from roost import exception
from roost.audit import repairs
from roost.audit.repairs import Repair
from roost.cells import Cells
from roost.context import RequestContext, admin_context
from roost.db.api import audits as api_level
from roost.db.api import instance_mappings, quota
from roost.db.cell import audits as in_cell
from roost.db.cell import instances, soft_delete
from roost.db.engine import Database, Session, retried
from roost.objects import Instance
from roost.objects.topology import sizes_of

LOG = logging.getLogger(__name__)
LEFT_ALONE: Final = "left alone"
NOT_RESTORED: Final = "not restored"
NO_LONGER_SO: Final = "no longer so"
_AT_ONCE: Final = 500  # claims that one message names


class ClaimRepairs(Protocol):
    """What repairs need of the schedulers' client."""

    def release_claims(
        self, context: RequestContext, *, instance_uuids: list[str], host: str | None = None
    ) -> None: ...

    def restore_claims(
        self, context: RequestContext, *, host: str, node: str, holdings: dict[str, list[int]]
    ) -> list[str]: ...

    def recount(self, context: RequestContext, *, host: str) -> bool: ...


class PortRepairs(Protocol):
    """What repairs need of a network service."""

    def let_go(self, port_id: str, *, instance_uuid: str) -> bool: ...


@dataclasses.dataclass(frozen=True)
class RepairOutcome:
    """What became of a repair; ``done``: there is nothing left to do about it."""

    repair: Repair
    what: str
    done: bool = True
    why: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "why", self.why or self.repair.why)


Some = Sequence[Repair]


class RepairExecutor:
    """Carries repairs out. All it needs arrives here.

    :param outside_ports: the network service that has the ports of instances; None: they are rows
    """

    def __init__(
        self,
        api_database: Database,
        cells: Cells,
        schedulers: ClaimRepairs,
        *,
        outside_ports: PortRepairs | None = None,
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
            repairs.LET_GO: self._each(self._let_go),
            repairs.MAP: self._each(self._map),
            repairs.REMAP: self._each(self._remap),
            repairs.END: self._each(self._end),
            repairs.FORGET: self._each(self._forget),
            repairs.TELL_CELL: self._each(self._notify_cell),
            repairs.CATCH_UP: self._each(self._catch_up),
            repairs.END_LEASE: self._each(self._end_lease),
            repairs.LEAVE: self._each(lambda repair: RepairOutcome(repair, LEFT_ALONE, done=False)),
        }

    def carry_out(self, plan: Iterable[Repair]) -> Iterator[RepairOutcome]:
        """Do all of it, in order; what fails is told, and the rest done all the same."""
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
                tell = functools.partial(
                    self._schedulers.release_claims,
                    self._context,
                    instance_uuids=named,
                    host=host,
                )
                yield from _sent(part, tell, "released")

    def _reconcile(self, some: Some) -> Iterator[RepairOutcome]:
        for (cell_uuid, host), found in _by(some, "cell_uuid", "host"):
            tell = functools.partial(self._notify_host, str(cell_uuid), str(host))
            yield from _sent(found, tell, "seen to by its host")

    def _notify_host(self, cell_uuid: str, host: str) -> None:
        self._cells.get(cell_uuid).compute.on(host).reconcile_guests(self._context)

    def _recount_hosts(self, some: Some) -> Iterator[RepairOutcome]:
        for (host,), found in _by(some, "host"):
            tell = functools.partial(self._schedulers.recount, self._context, host=str(host))
            yield from _sent(found, tell, "recounted")

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
        """Return the instances that got a claim; others may have got one or gone meanwhile."""
        wanted = {repair.subject for repair in found}
        with self._cells.get(cell_uuid).database.read() as session:
            there = [one for one in instances.list_on_host(session, host) if one.uuid in wanted]
        restored: set[str] = set()
        for node in {str(one.node) for one in there}:
            holdings = {
                one.uuid: list(sizes_of(one.flavor, one.image, one.numa_topology))
                for one in there
                if one.node == node
            }
            restored.update(self._claim(host, node, holdings))
        return restored

    def _claim(self, host: str, node: str, holdings: dict[str, list[int]]) -> list[str]:
        try:
            return self._schedulers.restore_claims(
                self._context, host=host, node=node, holdings=holdings
            )
        except exception.NotFound as error:
            advice = "Start its roost-compute, or remove the host."
            raise exception.NotFound(f"{error.message} {advice}") from error

    # one by one

    def _each(
        self, mend: Callable[[Repair], RepairOutcome]
    ) -> Callable[[Some], Iterator[RepairOutcome]]:
        def mend_all(some: Some) -> Iterator[RepairOutcome]:
            for repair in some:
                try:
                    yield mend(repair)
                except exception.RoostError as error:
                    yield _failed(repair, error)

        return mend_all

    def _recount_project(self, repair: Repair) -> RepairOutcome:
        found = self._write(lambda session: quota.recount(session, repair.subject))
        return _swapped(repair, "recounted", done=found.used != found.counted)

    def _free_port(self, repair: Repair) -> RepairOutcome:
        freed = False
        for cell in self._cells.all():
            freed = freed or _write(
                cell.database, lambda session: in_cell.free_orphan(session, repair.subject)
            )
        return _swapped(repair, "freed", done=freed)

    def _let_go(self, repair: Repair) -> RepairOutcome:
        """Let a port of Neutron go; its instance is buried, and nobody comes back from there."""
        if self._outside_ports is None:
            raise exception.Unavailable("there is no network service to ask")
        done = self._outside_ports.let_go(repair.subject, instance_uuid=str(repair.instance_uuid))
        return _swapped(repair, "let go", done=done)

    def _map(self, repair: Repair) -> RepairOutcome:
        cell_uuid = str(repair.cell_uuid)
        found = self._heard(repair)
        if found is None:
            return RepairOutcome(repair, NO_LONGER_SO)
        instance, put_away_at, turns = found
        request = str(uuids.uuid4())  # the one it came with is not known any more
        done = self._write(
            lambda session: api_level.adopt(
                session,
                instance,
                cell_uuid=cell_uuid,
                request_uuid=request,
                put_away_at=put_away_at,
                turns=turns,
            )
        )
        return _swapped(repair, "mapped", done=done)

    def _end(self, repair: Repair) -> RepairOutcome:
        """Delete again what its user deleted and a backup of its cell brought back."""
        with self._api_database.read() as session:
            if instance_mappings.find(session, repair.subject) is not None:
                return RepairOutcome(repair, NO_LONGER_SO)
        cell = self._cells.get(str(repair.cell_uuid))
        return _swapped(repair, "ended", done=cell.end_instance(self._context, repair.subject))

    def _catch_up(self, repair: Repair) -> RepairOutcome:
        found = self._heard(repair)
        if found is None:
            return RepairOutcome(repair, NO_LONGER_SO)
        _instance, put_away_at, turns = found
        done = self._write(
            lambda session: api_level.catch_up(
                session, repair.subject, put_away_at=put_away_at, turns=turns
            )
        )
        return _swapped(repair, "caught up", done=done)

    def _heard(self, repair: Repair) -> tuple[Instance, datetime.datetime | None, int] | None:
        """Return an instance that lives, since when its cell has it put away, and which turn."""
        with self._cells.get(str(repair.cell_uuid)).database.read() as session:
            instance = instances.find(session, repair.subject)
            heard = soft_delete.find(session, repair.subject)
        if instance is None or heard is None:
            return None
        since = instance.soft_deleted_at or self._api_database.now()
        return instance, since if heard.is_soft_deleted else None, heard.turn

    def _notify_cell(self, repair: Repair) -> RepairOutcome:
        with self._cells.get(str(repair.cell_uuid)).database.read() as session:
            heard = soft_delete.find(session, repair.subject)
        if heard is None:
            return RepairOutcome(repair, NO_LONGER_SO)
        done = self._write(
            lambda session: api_level.say_again(
                session, repair.subject, but_put_away=heard.is_soft_deleted, heard=heard.turn
            )
        )
        return _swapped(repair, "left to the next super-conductor", done=done)

    def _remap(self, repair: Repair) -> RepairOutcome:
        if repair.before is not None and self._lives_in(repair.before, repair.subject):
            return RepairOutcome(repair, NO_LONGER_SO)
        done = self._write(
            lambda session: api_level.move(
                session, repair.subject, before=repair.before, cell_uuid=str(repair.cell_uuid)
            )
        )
        return _swapped(repair, "mapped", done=done)

    def _lives_in(self, cell_uuid: str, uuid: str) -> bool:
        try:
            cell = self._cells.get(cell_uuid)
        except exception.NotFound:  # that cell is no more
            return False
        with cell.database.read() as session:
            return bool(in_cell.list_live(session, [uuid]))

    def _forget(self, repair: Repair) -> RepairOutcome:
        if repair.cell_uuid is None:
            return self._forget_unplaced(repair)
        cell_uuid = repair.cell_uuid
        with self._cells.get(cell_uuid).database.read() as session:
            buried = bool(in_cell.list_deleted(session, [repair.subject]))
            known = in_cell.knows(session, repair.subject)
        if not known:
            advice = "delete it as its user would, unless that cell's database is to be restored"
            why = f"{repair.why}, nor ever did; {advice}"
            return RepairOutcome(repair, LEFT_ALONE, done=False, why=why)
        done = buried and self._write(
            lambda session: api_level.forget_buried(session, repair.subject, cell_uuid=cell_uuid)
        )
        return _swapped(repair, "forgotten", done=done)

    def _forget_unplaced(self, repair: Repair) -> RepairOutcome:
        """No cell may have it: all are asked, and one that is away keeps it as it is."""
        for cell in self._cells.all():
            with cell.database.read() as session:
                if in_cell.knows(session, repair.subject):
                    return RepairOutcome(repair, NO_LONGER_SO)
        done = self._write(lambda session: api_level.forget_unplaced(session, repair.subject))
        return _swapped(repair, "forgotten", done=done)

    def _end_lease(self, repair: Repair) -> RepairOutcome:
        done = self._write(lambda session: api_level.end_lease(session, repair.subject))
        return _swapped(repair, "left to the next super-conductor", done=done)

    def _write(self, step: Callable[[Session], Any]) -> Any:
        return _write(self._api_database, step)


@retried
def _write(database: Database, step: Callable[[Session], Any]) -> Any:
    with database.begin() as session:
        return step(session)


def _swapped(repair: Repair, what: str, *, done: bool) -> RepairOutcome:
    return RepairOutcome(repair, what if done else NO_LONGER_SO)


def _failed(repair: Repair, error: exception.RoostError, *, what: str = "failed") -> RepairOutcome:
    return RepairOutcome(repair, what, done=False, why=f"{repair.why}; {error.message}")


def _sent(some: Some, tell: Callable[[], object], what: str) -> Iterator[RepairOutcome]:
    """Tell somebody of several repairs at once."""
    try:
        tell()
    except exception.RoostError as error:
        yield from (_failed(repair, error) for repair in some)
    else:
        yield from (RepairOutcome(repair, what) for repair in some)


def _by(some: Some, *names: str) -> Iterator[tuple[tuple[Any, ...], list[Repair]]]:
    """Return repairs by what they have in common."""

    def common(repair: Repair) -> tuple[Any, ...]:
        return tuple(str(getattr(repair, name)) for name in names)

    for key, found in itertools.groupby(sorted(some, key=common), common):
        yield key, list(found)
