"""Compares a cell's restored database with its hosts and the API level, and repairs its rows.

For ``roost-manage cell after-restore``, once a backup was put back. Guests know which attempt made
them, whether they were announced and how they are; mappings know which servers there are, daemons
which they are. So rows that are older follow those, and rows of servers that were deleted since are
deleted. Of what two hosts have, or one that does not answer may have, nothing is decided.

A row that is lost is made again: the API level knows whose a server is and what its request asked
for, its host what its guest is. What only the row knew is lost: name, metadata, tags, key pair,
addresses that are rows.
"""

import dataclasses
import datetime
import operator
import uuid as uuids
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from roost import exception, states
from roost.cells import Cell
from roost.db import clock
from roost.db.api.soft_delete import TakenBack
from roost.db.cell import actions, builds, instances, purge, services
from roost.db.engine import Session, retried
from roost.objects import Instance, InstanceMapping, RequestSpec, stale_rows

LOCKED_BY: Final = "owner"  # who of its project needs can unlock it


@dataclasses.dataclass(frozen=True)
class ApiRecord:
    """What the API level knows of a server."""

    mapping: InstanceMapping
    spec: RequestSpec
    locked: bool

    @property
    def is_enough(self) -> bool:
        """Whether a row can be made of it: only the lost one knew its CPUs and devices."""
        return self.spec.numa_topology is None and not self.spec.pci_requests


def remade(
    asked: ApiRecord, *, host: str, guest: stale_rows.DescribedGuest, now: datetime.datetime
) -> Instance:
    """Return the instance that a guest on a host is of, named after its uuid."""
    mapping, spec, uuid = asked.mapping, asked.spec, str(asked.mapping.instance_uuid)
    made, name = stale_rows.origin(guest), f"restored-{uuid}"
    return Instance.of(
        uuid=uuid,
        project_id=mapping.project_id,
        user_id=mapping.user_id,
        reservation_id=f"r-{uuid[:8]}",
        launch_index=0,
        display_name=name,
        display_description=None,
        hostname=name,
        flavor=spec.flavor,
        image=made.get("image", spec.image),
        key_name=None,
        keypair=None,
        user_data=None,
        config_drive=False,
        metadata={},
        tags=[],
        access_ip_v4=None,
        access_ip_v6=None,
        availability_zone=spec.availability_zone,
        host=host,
        node=host,
        attempt=made.get("attempt", 1),
        vm_state=states.as_found(guest.power_state, rescued=guest.rescued) or states.ACTIVE,
        task_state=None,
        power_state=guest.power_state,
        locked=asked.locked,
        locked_by=LOCKED_BY if asked.locked else None,
        networks=[],
        network_info=None,
        created_at=mapping.created_at,
        updated_at=None,
        launched_at=now,
        deleted_at=None,
        fault=None,
    )


SETTLE: Final = "let the row follow its guest"
BURY: Final = "bury the row"
REMAKE: Final = "make the row anew"
KNOW: Final = "know its daemon"
LEAVE: Final = "leave alone"
COMPUTE: Final = "roost-compute"
_SEEN: Final = ("host", "attempt", "vm_state", "task_state")


class CellRow(stale_rows.InstanceRow, Protocol):
    """A live instance, as its cell has it."""

    @property
    def uuid(self) -> str: ...

    @property
    def host(self) -> str | None: ...

    @property
    def turns(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class RestoreDifference:
    """One row, guest or daemon, and what would put it right.

    ``row`` and ``state_id`` are what the cell says; ``changes`` what its row is to say instead.
    ``asked``: what the API level knows of a server whose row is lost.
    """

    uuid: str | None
    action: str
    why: str
    host: str | None = None
    row: CellRow | None = None
    guest: stale_rows.DescribedGuest | None = None
    asked: ApiRecord | None = None
    state_id: str | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


Guests = Mapping[str, Sequence[Mapping[str, Any]]]
Homes = Mapping[str, stale_rows.DescribedGuest]


def check_told(guests: Any, state: Any) -> None:
    """Make sure that what a host says of its guests and of itself can be read.

    :raises roost.exception.Invalid: when it cannot; the host is one that does not answer then
    """
    try:
        for said in guests:
            guest = stale_rows.ReportedGuests.of(said)
            operator.index(guest.power_state)
            operator.index(guest.attempt or 0)
            uuids.UUID(said["uuid"])
            stale_rows.origin(guest)
        if state:
            operator.index(services.of_start(state)["starts"])
    except Exception as error:
        raise exception.Invalid(f"what it says of itself cannot be read: {error!r}") from error


def announced(guests: Guests) -> dict[str, dict[str, stale_rows.DescribedGuest]]:
    """Return the guests that are somebody's servers, each by the hosts that have it."""
    found: dict[str, dict[str, stale_rows.DescribedGuest]] = {}
    for host, some in guests.items():
        for said in some:
            if said["announced"]:
                found.setdefault(said["uuid"], {})[host] = stale_rows.ReportedGuests.of(said)
    return found


def compare(
    rows: Sequence[CellRow],
    guests: Guests,
    *,
    mapped: Collection[str],
    silent: Collection[str] = (),
    buried: Collection[str] = (),
    asked: Mapping[str, ApiRecord] | None = None,
    back: Mapping[str, TakenBack] | None = None,
) -> Iterator[RestoreDifference]:
    """Yield what differs in one cell.

    :param rows: all that live
    :param guests: of each host that answered
    :param mapped: the instances that somebody has
    :param silent: hosts that did not answer: who was not seen may be there
    :param buried: guests whose rows say deleted: their hosts end them
    :param asked: what the API level knows of guests in this cell that have no row
    :param back: instances that are not put away (any more), for rows that say otherwise
    """
    for host in sorted(silent):
        why = "it does not answer, so its servers are not compared, and no row is buried"
        yield RestoreDifference(None, LEAVE, why, host)
    found, unclear = announced(guests), _unclear(guests)
    for row in rows:
        if row.host in unclear.get(row.uuid, ()):
            why = "its host has a guest of it and cannot say how that is"
            yield RestoreDifference(row.uuid, LEAVE, why, row.host)
        elif row.uuid in found:
            yield from _behind(row, found[row.uuid], silent, (back or {}).get(row.uuid))
        elif not silent and row.uuid not in mapped:
            yield RestoreDifference(row.uuid, BURY, "it has no guest and no mapping", row.host, row)
    known = {row.uuid for row in rows}.union(buried)
    for uuid, homes in found.items():
        if uuid not in known:
            yield _lost(uuid, homes, (asked or {}).get(uuid))


def _unclear(guests: Guests) -> dict[str, set[str]]:
    """Return, of guests that their hosts could not describe, the hosts."""
    found: dict[str, set[str]] = {}
    for host, some in guests.items():
        for said in some:
            if not said["announced"] and said["power_state"] == states.NOSTATE:
                found.setdefault(said["uuid"], set()).add(host)
    return found


def strangers(
    known: Mapping[str, str], told: Mapping[str, Mapping[str, Any]]
) -> Iterator[RestoreDifference]:
    """Yield the hosts that were replaced since: no twin could begin while no conductor was up.

    :param known: the ids of state paths that the cell knows, by host
    :param told: what each host that answered says which daemon it is
    """
    for host, state in told.items():
        if state and known.get(host, state["state_id"]) != state["state_id"]:
            why = "its row knows the machine or state path before this one"
            yield RestoreDifference(None, KNOW, why, host, state_id=known[host], changes=state)


def _lost(uuid: str, homes: Homes, asked: ApiRecord | None) -> RestoreDifference:
    (host, guest), *others = homes.items()
    if others:
        why = f"its row is lost, and there are guests of it on {_listed(homes)}"
    elif asked is None:
        why = "its row is lost, nobody knows whose it is, and its guest stays"
    elif not asked.is_enough:
        why = "its row is lost, with the CPUs and devices that it has, and its guest stays"
    else:
        return RestoreDifference(uuid, REMAKE, "its row is lost", host, guest=guest, asked=asked)
    return RestoreDifference(uuid, LEAVE, why, host)


def _behind(
    row: CellRow, homes: Homes, silent: Collection[str], back: TakenBack | None
) -> Iterator[RestoreDifference]:
    """Yield a row that is older than its guest, unless it is about to end."""
    if row.task_state == states.DELETING:
        return
    host = row.host if row.host is not None and row.host in homes else next(iter(homes))
    guest = homes[host]
    if row.host not in homes:
        why = _why_not(row, homes, silent)
        if why is not None:
            yield RestoreDifference(row.uuid, LEAVE, f"its row is on {row.host}, {why}", host)
            return
    changes = _changes(row, guest, back)
    if row.host != host:
        changes |= {"host": host, "node": host}
    if changes:
        why = ", ".join(f"{name} {value}" for name, value in _told(row).items() if name in changes)
        why = f"its row says {why}" if why else "its row does not know what its guest is of"
        yield RestoreDifference(row.uuid, SETTLE, why, host, row, guest, changes=changes)


def _told(row: CellRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _SEEN}


def _why_not(row: CellRow, homes: Homes, silent: Collection[str]) -> str | None:
    """Say why a row may not go to a guest elsewhere; None: it may."""
    (guest, *others) = homes.values()
    if others:
        return f"and there are guests of it on {_listed(homes)}"
    if row.host in silent and not stale_rows.is_old(row, guest):
        return f"which does not answer, and there is a guest of it on {_listed(homes)}"
    return None


def _listed(homes: Homes) -> str:
    return " and ".join(sorted(homes))


def _changes(
    row: CellRow, guest: stale_rows.DescribedGuest, back: TakenBack | None
) -> dict[str, Any]:
    """Return what a row lacks; of one that was taken back the guest must have heard, too.

    Where it has not, the super-conductors tell the cell of the latest turn.
    """
    if back is None or back.turn <= row.turns:
        return stale_rows.lacking(row, guest)
    heard = not (back.unheard and guest.power_state == states.SHUTDOWN)
    changes = stale_rows.lacking(row, guest, restored=heard)
    return changes | ({"turns": back.turn} if "vm_state" in changes else {})


def repair(cell: Cell, difference: RestoreDifference) -> bool:
    """Put one right, if what the cell says still is as it was found; tell whether it was."""
    try:
        return _repair(cell, difference)
    except (exception.Conflict, exception.NotFound):
        return False


@retried
def _repair(cell: Cell, difference: RestoreDifference) -> bool:
    do = _REPAIRS.get(difference.action)
    if do is None:
        return False
    with cell.database.begin() as session:
        return do(session, difference)


def _bury(session: Session, difference: RestoreDifference) -> bool:
    row = _unchanged(difference)
    instances.update(session, row.uuid, {}, expected=_told(row))
    return purge.delete_with_record(session, row.uuid, [])


def _unchanged(difference: RestoreDifference) -> CellRow:
    if difference.row is None:
        raise exception.Internal(f"{difference.action}: there is no row")
    return difference.row


def _settle(session: Session, difference: RestoreDifference) -> bool:
    row, guest, changes = _unchanged(difference), difference.guest, {**difference.changes}
    if guest is not None and guest.power_state != states.NOSTATE:
        changes["power_state"] = guest.power_state
    is_over = "task_state" in changes
    if is_over:
        changes["launched_at"] = clock.now(session)
    before = states.State(str(row.vm_state), row.task_state)
    after = states.State(changes.get("vm_state", before.vm), None if is_over else before.task)
    moves = {before: frozenset({after})}
    instances.update(session, row.uuid, changes, expected=_told(row), moves=moves)
    if is_over:
        builds.end(session, row.uuid)
        actions.add_events(session, row.uuid, [], finish=True)
    return True


def _remake(session: Session, difference: RestoreDifference) -> bool:
    asked, host, guest = difference.asked, difference.host, difference.guest
    if asked is None or host is None or guest is None:
        return False
    made = remade(asked, host=host, guest=guest, now=clock.now(session))
    return instances.create(session, made)


def _know(session: Session, difference: RestoreDifference) -> bool:
    return services.note_state(
        session,
        str(difference.host),
        binary=COMPUTE,
        state=difference.changes,
        instead_of=str(difference.state_id),
    )


_REPAIRS: Final[Mapping[str, Callable[[Session, RestoreDifference], bool]]] = {
    BURY: _bury,
    SETTLE: _settle,
    REMAKE: _remake,
    KNOW: _know,
}
