"""What an old copy of a cell says other than its hosts and the API level, and its repair.

Guests know which attempt they are of and whether they were announced; mappings know which servers
there are. So rows that are older than their guests follow them, rows of servers that were deleted
since are buried, and a guest that no row knows of is told, and left.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.cells import Cell
from roost.db import clock
from roost.db.cell import actions, builds, burial, instances
from roost.db.engine import Session, retried
from roost.objects import Instance

SETTLE: Final = "let the row follow its guest"
BURY: Final = "bury the row"
LEAVE: Final = "leave alone"
_BUILT: Final = {
    states.State(states.BUILDING, task): frozenset({states.State(states.ACTIVE)})
    for task in states.BUILD_TASKS
}


@dataclasses.dataclass(frozen=True)
class Difference:
    """One row, or guest, and what would put it right; ``guest`` as its host describes it."""

    uuid: str
    action: str
    why: str
    host: str | None = None
    guest: Mapping[str, Any] | None = None


Guests = Mapping[str, Sequence[Mapping[str, Any]]]


def compare(
    rows: Sequence[Instance], guests: Guests, *, mapped: Collection[str], whole: bool
) -> Iterator[Difference]:
    """Yield what differs in one cell.

    :param guests: of each host that answered
    :param mapped: the instances that the API level has in this cell
    :param whole: whether all hosts have answered, so that who was not seen is nowhere
    """
    found = {
        guest["uuid"]: (host, guest)
        for host, some in guests.items()
        for guest in some
        if guest["announced"]
    }
    for row in rows:
        if row.uuid in found:
            yield from _behind(row, *found[row.uuid])
        elif whole and row.uuid not in mapped and row.vm_state in states.WITH_GUEST:
            yield Difference(row.uuid, BURY, "it has no guest and no mapping", row.host)
    known = {row.uuid for row in rows}
    for uuid, (host, guest) in found.items():
        if uuid not in known:
            yield Difference(uuid, LEAVE, "its row is lost, and its guest stays", host, guest)


def _behind(row: Instance, host: str, guest: Mapping[str, Any]) -> Iterator[Difference]:
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
    return False


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
