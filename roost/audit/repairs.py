"""What would put right what an audit found: a pure function from a report.

What is under way sees to itself, so it is left alone; and what nobody can decide but people is left
to them, with the reason.
"""

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from roost import states
from roost.audit.findings import UNMAPPED, Finding, is_old
from roost.audit.snapshot import LiveInstance, Snapshot

RELEASE: Final = "release claim"
RESTORE: Final = "restore claim"
RECOUNT_HOST: Final = "recount host"
RECOUNT_PROJECT: Final = "recount project"
FREE_PORT: Final = "free port"
LET_GO: Final = "let go of port"
RECONCILE: Final = "reconcile host"
MAP: Final = "map"
END: Final = "end"
REMAP: Final = "map elsewhere"
FORGET: Final = "forget mapping"
TELL_CELL: Final = "tell its cell"
CATCH_UP: Final = "let the mapping follow"
END_LEASE: Final = "hand to a super-conductor"
LEAVE: Final = "leave alone"
_TWINS: Final = "instances in two cells"
_STRAYS: Final = "claims without instance"


@dataclasses.dataclass(frozen=True, order=True)
class Repair:
    """One thing to be done: ``subject`` as in the finding, and on which host or in which cell.

    ``why`` says what is wrong; of what is left alone also why it is left. ``instance_uuid`` is
    whose a port must still be.
    """

    subject: str
    action: str
    why: str
    host: str | None = None
    cell_uuid: str | None = None
    before: str | None = None  # the cell that the mapping names
    instance_uuid: str | None = None


def plan(findings: Sequence[Finding], snapshot: Snapshot) -> list[Repair]:
    """Return what would put things right, in the order in which it is to be done.

    Of an instance in two cells nothing is touched, whatever else seems wrong with it.
    """
    facts = _Facts(findings, snapshot)
    made = {
        repair
        for finding in findings
        if finding.kind == _TWINS or finding.subject not in facts.found(_TWINS)
        for repair in _REMEDIES[finding.kind](finding, facts)
    }
    return sorted(made, key=_turn)


def _turn(repair: Repair) -> tuple[object, ...]:
    return (_ORDER.index(repair.action), repair.subject, repair.host or "", repair.why)


class _Facts:
    """Findings by kind, and a snapshot by instance."""

    def __init__(self, findings: Iterable[Finding], snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._subjects: dict[str, set[str]] = {}
        for finding in findings:
            self._subjects.setdefault(finding.kind, set()).add(finding.subject)
        self.live: Mapping[str, LiveInstance] = {one.uuid: one for one in snapshot.instances}

    def found(self, kind: str) -> Collection[str]:
        """Return what a kind of finding is about."""
        return self._subjects.get(kind, ())

    def claimed(self, uuid: str) -> str | None:
        return (self.snapshot.claims or {}).get(uuid)

    def homes(self, uuid: str) -> set[tuple[str, str]]:
        """Return the cells and hosts that have a guest of this instance."""
        return {place for place, guests in self.snapshot.guests.items() if uuid in guests}


_Remedy = Callable[[Finding, _Facts], Iterator[Repair]]


def _restore_claim(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    instance = facts.live[finding.subject]
    if instance.task_state is not None:
        yield _left(finding, f"{instance.task_state} is under way", host=instance.host)
        return
    claimed = facts.claimed(finding.subject)
    if claimed is not None:
        yield Repair(finding.subject, RELEASE, finding.detail, host=claimed)
    yield Repair(
        finding.subject,
        RESTORE,
        finding.detail,
        host=instance.host,
        cell_uuid=instance.cell_uuid,
    )


def _release_claim(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    host = facts.claimed(finding.subject)
    yield Repair(finding.subject, RELEASE, finding.detail, host=host)


def _recount_host(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
    host = finding.subject.partition(" ")[0]
    yield Repair(finding.subject, RECOUNT_HOST, finding.detail, host=host)


def _free_port(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    port = facts.snapshot.outside_ports.get(finding.subject)
    if port is None:
        yield Repair(finding.subject, FREE_PORT, finding.detail)
    elif port.made is None:
        yield _left(finding, "it bears no mark of Roost: its project may unbind or delete it")
    elif port.instance_uuid not in facts.snapshot.buried:
        yield _left(finding, "no cell has ever had that instance: it may be another deployment's")
    else:
        uuid = port.instance_uuid
        yield Repair(finding.subject, LET_GO, finding.detail, instance_uuid=uuid)


def _simply(action: str) -> _Remedy:
    """Return the remedy for what needs nothing but the subject of its finding."""

    def remedy(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
        yield Repair(finding.subject, action, finding.detail)

    return remedy


def _reconcile(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    """Let hosts see to guests that are not where they belong, and to those that are missing."""
    instance = facts.live.get(finding.subject)
    homes = facts.homes(finding.subject)
    if instance is not None and instance.host is not None:
        home = (instance.cell_uuid, instance.host)
        homes = homes - {home} or {home}
    for cell_uuid, host in sorted(homes):
        yield Repair(finding.subject, RECONCILE, finding.detail, host=host, cell_uuid=cell_uuid)


def _map(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    instance = facts.live[finding.subject]
    mapping = facts.snapshot.mappings.get(finding.subject)
    if instance.task_state == states.DELETING:
        yield _left(finding, "it is being deleted", host=instance.host)
        return
    in_cell = functools.partial(Repair, finding.subject, cell_uuid=instance.cell_uuid)
    if mapping is not None:
        yield in_cell(REMAP, finding.detail, before=mapping.cell_uuid)
    elif facts.homes(finding.subject):
        yield in_cell(MAP, finding.detail)
    elif finding.subject in facts.snapshot.deleted:
        yield in_cell(END, f"{finding.detail}: its user deleted it")
    elif instance.host is None or instance.task_state is not None:
        yield in_cell(MAP, finding.detail)
    elif (instance.cell_uuid, instance.host) in facts.snapshot.guests:
        yield in_cell(END, f"{finding.detail}, and has no guest: it was deleted")
    else:
        yield _left(finding, "its host does not answer, and may have its guest", host=instance.host)


def _forget(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    mapping = facts.snapshot.mappings[finding.subject]
    yield Repair(finding.subject, FORGET, finding.detail, cell_uuid=mapping.cell_uuid)


def _tell_cell(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    """The later word is what users were answered by: the mapping's, unless it is an old copy."""
    instance = facts.live[finding.subject]
    old = is_old(facts.snapshot.mappings[finding.subject], instance)
    action = CATCH_UP if old else TELL_CELL
    yield Repair(finding.subject, action, finding.detail, cell_uuid=instance.cell_uuid)


def _leave_overdue(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    if finding.subject in facts.found(_STRAYS):
        return  # it is released as such
    if finding.subject in facts.live:
        yield _left(finding, "its host must confirm it: see that its roost-compute reports")
    else:
        yield _left(finding, "schedulers let go of it: see that one runs")


def _leave_held(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
    yield _left(finding, "it waits for an operator: see roost-manage cell held-tasks")


def _leave_in_two_cells(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
    yield _left(finding, "which one is its user's is for people to say: look at both guests")


def _left(finding: Finding, why: str, *, host: str | None = None) -> Repair:
    return Repair(finding.subject, LEAVE, f"{finding.detail}; {why}", host=host)


_REMEDIES: Final[dict[str, _Remedy]] = {
    "instances without claim": _restore_claim,
    _STRAYS: _release_claim,
    "usage other than the claims": _recount_host,
    "reservations overdue": _leave_overdue,
    "quota usage other than the mappings": _simply(RECOUNT_PROJECT),
    "ports without instance": _free_port,
    "guests without instance": _reconcile,
    "instances without guest": _reconcile,
    "instances on two hosts": _reconcile,
    _TWINS: _leave_in_two_cells,
    UNMAPPED: _map,
    "mappings without instance": _forget,
    "put away other than the mappings": _tell_cell,
    "build requests stuck": _simply(END_LEASE),
    "tasks held": _leave_held,
}
# Claims go before others are made; counting comes after all that changes what is counted.
_ORDER: Final[Sequence[str]] = (
    *(MAP, REMAP, END, FORGET, RELEASE, RESTORE, FREE_PORT, LET_GO),
    *(RECONCILE, TELL_CELL, CATCH_UP, END_LEASE, RECOUNT_HOST, RECOUNT_PROJECT, LEAVE),
)
