"""Compares a cell's restored database with its hosts and the API level: what people have to decide.

For ``roost-manage cell after-restore``, once a backup was put back. Nothing is changed by it: hosts
leave guests that were announced alone, whatever an old row says, and old tasks wait. So of what
differs nothing is lost until somebody has looked at it.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from roost import states


class CellRow(Protocol):
    """A live instance, as its cell has it."""

    @property
    def uuid(self) -> str: ...

    @property
    def host(self) -> str | None: ...

    @property
    def vm_state(self) -> str: ...

    @property
    def task_state(self) -> str | None: ...


@dataclasses.dataclass(frozen=True)
class RestoreDifference:
    """What differs about one server or host, and what an operator may do about it."""

    uuid: str | None
    host: str | None
    found: str
    advice: str


_START: Final = "start its roost-compute and compare again, or roost-manage cell remove-host"
_END: Final = (
    "roost-manage audit --repair deletes it again; one with a task it maps: openstack server delete"
)
_REBUILD: Final = "it will be in ERROR: openstack server rebuild or delete"
_FETCH: Final = (
    "it will be in ERROR: save what its user needs from the guest, then openstack server rebuild"
    " (a new guest where its row is) or delete (which ends both)"
)
_CHOOSE: Final = "look which one its user works with, and end the other with the hypervisor's tools"
_LOST: Final = (
    "it is of a build, or was created since: save what its user needs from the guest, then DELETE"
    " /servers/UUID, end the guest with the hypervisor's tools and restart its host's roost-compute"
)


def compare(
    rows: Sequence[CellRow],
    guests: Mapping[str, Collection[str]],
    *,
    mapped: Collection[str],
    silent: Collection[str] = (),
    buried: Collection[str] = (),
) -> Iterator[RestoreDifference]:
    """Yield what differs in one cell.

    :param rows: all that live
    :param guests: of each host that answered
    :param mapped: the instances that somebody has
    :param silent: hosts that did not answer: who was not seen may be there
    :param buried: guests whose rows say deleted: their hosts end them
    """
    for host in sorted(silent):
        yield RestoreDifference(None, host, "it does not answer: its guests are unknown", _START)
    homes: dict[str, list[str]] = {}
    for host in sorted(guests):
        for uuid in guests[host]:
            homes.setdefault(uuid, []).append(host)
    for row in rows:
        if row.task_state != states.DELETING:
            yield from _of_row(row, homes.get(row.uuid, []), mapped=mapped, silent=silent)
    known = {row.uuid for row in rows}.union(buried)
    for uuid in sorted(homes.keys() - known):
        found = f"there is a guest on {_listed(homes[uuid])}, and no row"
        yield RestoreDifference(uuid, homes[uuid][0], found, _LOST)


def _of_row(
    row: CellRow, homes: Sequence[str], *, mapped: Collection[str], silent: Collection[str]
) -> Iterator[RestoreDifference]:
    if len(homes) > 1:
        found = f"there are guests on {_listed(homes)}"
        yield RestoreDifference(row.uuid, row.host, found, _CHOOSE)
    elif homes and row.host != homes[0]:
        found = f"its guest is on {homes[0]}"
        yield RestoreDifference(row.uuid, row.host, found, _FETCH)
    elif not homes and row.host not in silent and row.uuid not in mapped:
        found = "it has neither guest nor mapping: it was deleted since"
        yield RestoreDifference(row.uuid, row.host, found, _END)
    elif not homes and row.host not in silent and _is_to_have_guest(row):
        yield RestoreDifference(row.uuid, row.host, "its guest is gone", _REBUILD)


def _is_to_have_guest(row: CellRow) -> bool:
    return row.task_state is None and row.vm_state in states.WITH_GUEST


def _listed(homes: Sequence[str]) -> str:
    return " and ".join(homes)
