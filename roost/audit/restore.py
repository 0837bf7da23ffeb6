"""Compares a cell's restored database with its hosts and the API level, for operators to decide.

For ``roost-manage cell after-restore``, after a backup was restored. It changes nothing. Meanwhile
hosts leave announced guests alone, whatever an old row says, and old tasks wait: so nothing is lost
until an operator has decided.
"""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from roost import states


class CellRow(Protocol):
    """A live instance, by the row of its cell."""

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
    """A difference of one server or host, and what an operator may do about it."""

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
_CHOOSE: Final = "check which one its user works with; end the other with the hypervisor's tools"
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
    deleted: Collection[str] = (),
) -> Iterator[RestoreDifference]:
    """Yield the differences of one cell.

    :param rows: all live instances
    :param guests: the guests of each host that answered
    :param mapped: the instances that have a mapping
    :param silent: hosts that did not answer: missing guests may be there
    :param deleted: guests whose rows are deleted: their hosts end them
    """
    for host in sorted(silent):
        yield RestoreDifference(None, host, "it does not answer: its guests are unknown", _START)
    hosts_of: dict[str, list[str]] = {}
    for host in sorted(guests):
        for uuid in guests[host]:
            hosts_of.setdefault(uuid, []).append(host)
    for row in rows:
        if row.task_state != states.DELETING:
            yield from _of_row(row, hosts_of.get(row.uuid, []), mapped=mapped, silent=silent)
    known = {row.uuid for row in rows}.union(deleted)
    for uuid in sorted(hosts_of.keys() - known):
        found = f"there is a guest on {_listed(hosts_of[uuid])}, and no row"
        yield RestoreDifference(uuid, hosts_of[uuid][0], found, _LOST)


def _of_row(
    row: CellRow, hosts: Sequence[str], *, mapped: Collection[str], silent: Collection[str]
) -> Iterator[RestoreDifference]:
    if len(hosts) > 1:
        found = f"there are guests on {_listed(hosts)}"
        yield RestoreDifference(row.uuid, row.host, found, _CHOOSE)
    elif hosts and row.host != hosts[0]:
        found = f"its guest is on {hosts[0]}"
        yield RestoreDifference(row.uuid, row.host, found, _FETCH)
    elif not hosts and row.host not in silent and row.uuid not in mapped:
        found = "it has neither guest nor mapping: it was deleted since"
        yield RestoreDifference(row.uuid, row.host, found, _END)
    elif not hosts and row.host not in silent and _must_have_guest(row):
        yield RestoreDifference(row.uuid, row.host, "its guest is missing", _REBUILD)


def _must_have_guest(row: CellRow) -> bool:
    return row.task_state is None and row.vm_state in states.WITH_GUEST


def _listed(hosts: Sequence[str]) -> str:
    return " and ".join(hosts)
