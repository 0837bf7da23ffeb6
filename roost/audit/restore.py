"""What an old copy of a cell says other than its hosts and the API level, and its repair.

Guests know which attempt they are of and whether they were announced; mappings know which servers
there are. So rows that are older than their guests follow them, rows of servers that were deleted
since are buried, and rows that are lost are made anew, as far as others know of their servers.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from roost import exception, states
from roost.audit.lost_rows import Asked, remade
from roost.cells import Cell
from roost.db import clock
from roost.db.cell import actions, builds, burial, instances
from roost.db.engine import Session, retried

SETTLE: Final = "let the row follow its guest"
BURY: Final = "bury the row"
REMAKE: Final = "make the row anew"
LEAVE: Final = "leave alone"
_BUILT: Final = {
    states.State(states.BUILDING, task): frozenset({states.State(states.ACTIVE)})
    for task in states.BUILD_TASKS
}


@dataclasses.dataclass(frozen=True)
class Difference:
    """One row, or guest, and what would put it right; ``guest`` as its host describes it.

    ``asked``: what the API level knows of a server whose row is lost.
    """

    uuid: str
    action: str
    why: str
    host: str | None = None
    guest: Mapping[str, Any] | None = None
    asked: Asked | None = None


class Row(Protocol):
    """A live instance, as its cell has it."""

    @property
    def uuid(self) -> str: ...

    @property
    def host(self) -> str | None: ...

    @property
    def vm_state(self) -> str: ...

    @property
    def task_state(self) -> str | None: ...


Guests = Mapping[str, Sequence[Mapping[str, Any]]]


def announced(guests: Guests) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the guests that are somebody's servers, each with its host."""
    return {
        guest["uuid"]: (host, guest)
        for host, some in guests.items()
        for guest in some
        if guest["announced"]
    }


def compare(
    rows: Sequence[Row],
    guests: Guests,
    *,
    mapped: Collection[str],
    whole: bool,
    buried: Collection[str] = (),
    asked: Mapping[str, Asked] | None = None,
) -> Iterator[Difference]:
    """Yield what differs in one cell.

    :param rows: all that live
    :param guests: of each host that answered
    :param mapped: the instances that somebody has
    :param whole: whether all hosts have answered, so that who was not seen is nowhere
    :param buried: guests whose rows say deleted: their hosts end them
    :param asked: what the API level knows of guests in this cell that have no row
    """
    found = announced(guests)
    for row in rows:
        if row.uuid in found:
            yield from _behind(row, *found[row.uuid])
        elif whole and row.uuid not in mapped:
            yield Difference(row.uuid, BURY, "it has no guest and no mapping", row.host)
    known = {row.uuid for row in rows}.union(buried)
    for uuid, (host, guest) in found.items():
        if uuid not in known:
            yield _lost(uuid, host, guest, (asked or {}).get(uuid))


def _lost(uuid: str, host: str, guest: Mapping[str, Any], asked: Asked | None) -> Difference:
    if asked is None:
        why = "its row is lost, nobody knows whose it is, and its guest stays"
    elif not asked.is_enough:
        why = "its row is lost, with the CPUs and devices that it has, and its guest stays"
    else:
        return Difference(uuid, REMAKE, "its row is lost", host, guest, asked)
    return Difference(uuid, LEAVE, why, host, guest)


def _behind(row: Row, host: str, guest: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield a row that is older than its guest, unless it is about to end."""
    if row.task_state == states.DELETING:
        return
    if row.vm_state == states.BUILDING:
        yield Difference(row.uuid, SETTLE, "its row is being built", host, guest)
    elif row.host != host:
        yield Difference(row.uuid, SETTLE, f"its row is on {row.host}", host, guest)


def repair(cell: Cell, difference: Difference) -> bool:
    """Put one right, if the row still is as it was found; tell whether it was."""
    try:
        return _repair(cell, difference)
    except (exception.Conflict, exception.NotFound):
        return False


@retried
def _repair(cell: Cell, difference: Difference) -> bool:
    with cell.database.begin() as session:
        if difference.action == BURY:
            return burial.bury(session, difference.uuid, [])
        if difference.action == SETTLE:
            _settle(session, difference)
            return True
        if difference.action == REMAKE:
            return _remake(session, difference)
    return False


def _remake(session: Session, difference: Difference) -> bool:
    asked, host, guest = difference.asked, difference.host, difference.guest
    if asked is None or host is None or guest is None:
        return False
    made = remade(asked, host=host, guest=guest, now=clock.now(session))
    return instances.create(session, made)


def _settle(session: Session, difference: Difference) -> None:
    guest = difference.guest or {}
    row = instances.get(session, difference.uuid)
    changes = {"host": difference.host, "node": difference.host, "attempt": guest["attempt"]}
    if row.vm_state == states.BUILDING:
        changes |= {
            "vm_state": states.ACTIVE,
            "task_state": None,
            "launched_at": clock.now(session),
        }
        changes["power_state"] = guest["power_state"]
    seen = ("host", "attempt", "vm_state", "task_state")
    expected = {name: getattr(row, name) for name in seen}
    instances.update(session, row.uuid, changes, expected=expected, moves=_BUILT)
    builds.end(session, row.uuid)
    actions.add_events(session, row.uuid, [], finish=True)
