"""Plans the repairs of an audit's findings: a pure function from findings and a snapshot.

Instances with a task under way are left alone, since the task corrects them; findings that need a
human decision are left to operators, with the reason.
"""

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from roost import states
from roost.audit.findings import UNMAPPED, Finding
from roost.audit.snapshot import LiveInstance, Snapshot

RELEASE: Final = "release claim"
RESTORE: Final = "restore claim"
RECOUNT_HOST: Final = "recount host"
RECOUNT_PROJECT: Final = "recount project"
FREE_PORT: Final = "free port"
RELEASE_PORT: Final = "release Neutron port"
RECONCILE: Final = "reconcile host"
MAP: Final = "map"
END: Final = "delete"
REMAP: Final = "map elsewhere"
FORGET: Final = "delete mapping"
USE_AGAIN: Final = "have it in use again"
END_LEASE: Final = "leave to a super-conductor"
LEAVE: Final = "leave alone"
_TWINS: Final = "instances in two cells"
_STRAYS: Final = "claims without instance"


@dataclasses.dataclass(frozen=True, order=True)
class Repair:
    """One repair: ``subject`` as in the finding, and its host or cell.

    ``why``: the finding's detail, and the reason if it is left alone. ``instance_uuid``: the
    expected owner of a port.
    """

    subject: str
    action: str
    why: str
    host: str | None = None
    cell_uuid: str | None = None
    before: str | None = None  # the cell that the mapping names
    instance_uuid: str | None = None


def plan(findings: Sequence[Finding], snapshot: Snapshot) -> list[Repair]:
    """Return the repairs of findings, in the order in which they must be carried out.

    An instance in two cells is left alone, whatever other findings it has.
    """
    facts = _Facts(findings, snapshot)
    planned = {
        repair
        for finding in findings
        if finding.kind == _TWINS or finding.subject not in facts.found(_TWINS)
        for repair in _REMEDIES[finding.kind](finding, facts)
    }
    return sorted(planned, key=_sort_key)


def _sort_key(repair: Repair) -> tuple[object, ...]:
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
        """Return the subjects of a kind of findings."""
        return self._subjects.get(kind, ())

    def claimed(self, uuid: str) -> Sequence[str]:
        """Return the hosts of the claims of an instance."""
        return (self.snapshot.claims or {}).get(uuid, ())

    def guest_hosts(self, uuid: str) -> set[tuple[str, str]]:
        """Return the cells and hosts that have a guest of this instance."""
        return {where for where, guests in self.snapshot.guests.items() if uuid in guests}


_Remedy = Callable[[Finding, _Facts], Iterator[Repair]]


def _restore_claim(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    instance = facts.live[finding.subject]
    if instance.task_state is not None:
        yield _left(finding, f"{instance.task_state} is under way", host=instance.host)
        return
    for host in facts.claimed(finding.subject):
        yield Repair(finding.subject, RELEASE, finding.detail, host=host)
    yield Repair(
        finding.subject,
        RESTORE,
        finding.detail,
        host=instance.host,
        cell_uuid=instance.cell_uuid,
    )


def _release_claim(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    own = facts.live[finding.subject].host if finding.subject in facts.live else None
    for host in facts.claimed(finding.subject):
        if host != own:
            yield Repair(finding.subject, RELEASE, finding.detail, host=host)


def _recount_host(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
    host = finding.subject.partition(" ")[0]
    yield Repair(finding.subject, RECOUNT_HOST, finding.detail, host=host)


def _free_port(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    port = facts.snapshot.outside_ports.get(finding.subject)
    if port is None:
        yield Repair(finding.subject, FREE_PORT, finding.detail)
    elif port.made is None:
        yield _left(finding, "it has no mark of Roost: its project may unbind or delete it")
    elif port.instance_uuid not in facts.snapshot.deleted_in_cell:
        yield _left(finding, "no cell has ever had that instance: it may be another deployment's")
    else:
        uuid = port.instance_uuid
        yield Repair(finding.subject, RELEASE_PORT, finding.detail, instance_uuid=uuid)


def _simply(action: str) -> _Remedy:
    """Return a remedy that needs only the subject of its finding."""

    def remedy(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
        yield Repair(finding.subject, action, finding.detail)

    return remedy


def _reconcile(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    """Reconcile the hosts with misplaced guests, or the host that lacks a guest."""
    instance = facts.live.get(finding.subject)
    hosts = facts.guest_hosts(finding.subject)
    if instance is not None and instance.host is not None:
        own = (instance.cell_uuid, instance.host)
        hosts = hosts - {own} or {own}
    for cell_uuid, host in sorted(hosts):
        yield Repair(finding.subject, RECONCILE, finding.detail, host=host, cell_uuid=cell_uuid)


def _map(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    instance = facts.live[finding.subject]
    mapping = facts.snapshot.mappings.get(finding.subject)
    if instance.task_state == states.DELETING:
        yield _left(finding, "it is being deleted", host=instance.host)
        return
    in_cell = functools.partial(Repair, finding.subject, cell_uuid=instance.cell_uuid)
    if mapping is not None and mapping.cell_uuid in facts.snapshot.unknown_cells:
        yield _left(finding, "that cell cannot be read", host=instance.host)
    elif mapping is not None:
        yield in_cell(REMAP, finding.detail, before=mapping.cell_uuid)
    elif finding.subject in facts.snapshot.deleted:
        yield in_cell(END, f"{finding.detail}: its user deleted it")
    else:
        yield in_cell(MAP, finding.detail)


def _use_again(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    """Have a server in use: its mapping or its row is an old copy, and its user can delete it."""
    cell_uuid = facts.live[finding.subject].cell_uuid
    yield Repair(finding.subject, USE_AGAIN, finding.detail, cell_uuid=cell_uuid)


def _forget(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    mapping = facts.snapshot.mappings[finding.subject]
    yield Repair(finding.subject, FORGET, finding.detail, cell_uuid=mapping.cell_uuid)


def _leave_overdue(finding: Finding, facts: _Facts) -> Iterator[Repair]:
    if finding.subject in facts.found(_STRAYS):
        return  # it is released as such
    if finding.subject in facts.live:
        yield _left(finding, "its host must confirm it: check that its roost-compute reports")
    else:
        yield _left(finding, "schedulers release it: check that one runs")


def _leave_in_two_cells(finding: Finding, _facts: _Facts) -> Iterator[Repair]:
    yield _left(finding, "an operator must decide which one its user works with: check both guests")


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
    "soft-deleted other than the mappings": _use_again,
    "build requests stuck": _simply(END_LEASE),
}
# Claims are released before others are created; counting comes after all changes of the counts.
_ORDER: Final[Sequence[str]] = (
    *(MAP, REMAP, END, FORGET, RELEASE, RESTORE, FREE_PORT, RELEASE_PORT),
    *(RECONCILE, USE_AGAIN, END_LEASE, RECOUNT_HOST, RECOUNT_PROJECT, LEAVE),
)
