"""Compares the states of the parts of a deployment: pure functions from a snapshot to findings."""

import collections
import dataclasses
import datetime
from collections.abc import Callable, Iterator
from typing import Final

from roost import states
from roost.audit.snapshot import Snapshot
from roost.db.api.quota import RESOURCES
from roost.external.neutron_ports import ServerPort

UNMAPPED: Final = "instances without mapping"
STUCK_AFTER: Final = datetime.timedelta(minutes=2)


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    """One inconsistency: its kind, its subject (a uuid or project), and details."""

    kind: str
    subject: str
    detail: str


def compare(snapshot: Snapshot) -> list[Finding]:
    """Return all findings, by kind and subject."""
    return sorted(
        Finding(kind, subject, detail)
        for kind, check in _CHECKS.items()
        for subject, detail in check(snapshot)
    )


def _claims_without_instance(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield claims that no instance needs."""
    live = {instance.uuid: instance for instance in snapshot.instances}
    for uuid, hosts in (snapshot.claims or {}).items():
        for host in hosts:
            if uuid in live:
                own, task_state = live[uuid].host, live[uuid].task_state
                if own is None and live[uuid].vm_state == states.ERROR:
                    yield uuid, f"has a claim on {host}, but is in ERROR without a host"
                elif host in (own, live[uuid].other_host) or own not in hosts:
                    continue
                elif task_state is None:
                    yield uuid, f"has a claim on {host}, but is on {own}"
            elif uuid not in snapshot.build_requests and not _unknown(snapshot, uuid):
                yield uuid, f"has a claim on {host}, but does not exist"


def stray_ports(snapshot: Snapshot) -> Iterator[ServerPort]:
    """Yield ports of Neutron whose instance does not exist; none, if a cell cannot be read.

    A port without Roost's mark may be another service's, unless a cell has deleted the instance
    that it names. A mapping without instance is a finding of its own, and decides nothing here.
    """
    if snapshot.unknown_cells:
        return
    expected = {one.uuid for one in snapshot.instances} | snapshot.build_requests.keys()
    for port in snapshot.outside_ports.values():
        uuid = port.instance_uuid
        unmapped = port.made is not None and uuid not in snapshot.mappings
        if uuid not in expected and (uuid in snapshot.deleted_in_cell or unmapped):
            yield port


def _instances_without_claim(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for instance in snapshot.instances:
        claimed = None if snapshot.claims is None else snapshot.claims.get(instance.uuid, [])
        if claimed is None or instance.host in (None, *claimed):
            continue
        on = f"its claim on {' and '.join(claimed)}" if claimed else "the scheduler has no claim"
        yield instance.uuid, f"is on {instance.host}, {on}"


def _usage_differs(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for (host, node), (used, held) in snapshot.miscounted.items():
        amounts = ", ".join(
            f"{name} {used.get(name, 0)} for {held.get(name, 0)}"
            for name in sorted({**used, **held})
            if used.get(name, 0) != held.get(name, 0)
        )
        yield host if host == node else f"{host} {node}", f"counts as in use: {amounts}"


def _claims_overdue(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for uuid, since in snapshot.overdue.items():
        hosts = " and ".join((snapshot.claims or {})[uuid])
        yield uuid, f"is reserved on {hosts} since {since:%Y-%m-%d %H:%M:%S} UTC, and never ended"


def _quota_differs(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    nothing = dict.fromkeys(RESOURCES, 0)
    for project in sorted({*snapshot.quota_used, *snapshot.quota_counted}):
        used = snapshot.quota_used.get(project, nothing)
        counted = snapshot.quota_counted.get(project, nothing)
        if used != counted:
            amounts = [f"{name} {used[name]} for {counted[name]}" for name in nothing]
            yield project, f"is charged {', '.join(amounts)}"


def _ports_without_instance(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for port, instance in snapshot.orphaned_ports:
        yield port, f"is allocated to instance {instance}, which does not exist"
    for stray in stray_ports(snapshot):
        yield (
            stray.id,
            f"is bound in Neutron for instance {stray.instance_uuid}, which does not exist",
        )


def _guests_without_instance(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    live = {(instance.uuid, instance.cell_uuid) for instance in snapshot.instances}
    for (cell, host), guests in snapshot.guests.items():
        if cell not in snapshot.unknown_cells:
            for uuid in guests:
                if (uuid, cell) not in live:
                    yield uuid, f"runs on {host}, but is not in that cell"


def _instances_without_guest(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for instance in snapshot.instances:
        guests = snapshot.guests.get((instance.cell_uuid, instance.host or ""))
        at_rest = instance.vm_state in states.WITH_GUEST and instance.task_state is None
        if at_rest and guests is not None and instance.uuid not in guests:
            yield instance.uuid, f"should be on {instance.host}, which has no such guest"


def _instances_on_two_hosts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    hosts_of: dict[str, set[str]] = collections.defaultdict(set)
    for (_cell, host), guests in snapshot.guests.items():
        for uuid in guests:
            hosts_of[uuid].add(host)
    for instance in snapshot.instances:
        if instance.uuid in hosts_of and instance.host:
            hosts_of[instance.uuid].add(instance.host)
            hosts_of[instance.uuid].discard(instance.other_host or "")
    for uuid, hosts in hosts_of.items():
        if len(hosts) > 1:
            yield uuid, f"is on {' and '.join(sorted(hosts))}"


def _instances_in_two_cells(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    cells: dict[str, list[str]] = collections.defaultdict(list)
    for instance in snapshot.instances:
        cells[instance.uuid].append(instance.cell_uuid)
    for uuid, found in cells.items():
        if len(found) > 1:
            yield uuid, f"is in the cells {' and '.join(sorted(found))}"


def _instances_without_mapping(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for instance in snapshot.instances:
        mapping = snapshot.mappings.get(instance.uuid)
        if mapping is None:
            yield instance.uuid, f"is in cell {instance.cell_uuid}, but is not mapped"
        elif mapping.cell_uuid is None and instance.uuid not in snapshot.build_requests:
            why = "but is mapped to none, and has no build request"
            yield instance.uuid, f"is in cell {instance.cell_uuid}, {why}"
        elif mapping.cell_uuid not in (instance.cell_uuid, None):
            yield (
                instance.uuid,
                f"is in cell {instance.cell_uuid}, but is mapped to {mapping.cell_uuid}",
            )


def _mappings_without_instance(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """A mapping that is queued for delete may outlive its instance, until the next sweep."""
    live = {instance.uuid for instance in snapshot.instances}
    for uuid, mapping in snapshot.mappings.items():
        if uuid in live or mapping.queued_for_delete or _unknown(snapshot, uuid):
            continue
        if mapping.cell_uuid is not None:
            yield uuid, f"is mapped to cell {mapping.cell_uuid}, but is not there"
        elif uuid not in snapshot.build_requests:
            yield uuid, "is mapped to no cell, and has no build request"


def _soft_deleted_unlike_mapping(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """A soft-deleted server counts against no quota, so mapping and cell must agree."""
    for instance in snapshot.instances:
        mapping = snapshot.mappings.get(instance.uuid)
        if mapping is None or mapping.queued_for_delete or mapping.unsettled:
            continue
        is_soft_deleted = instance.vm_state == states.SOFT_DELETED
        if instance.task_state is None and is_soft_deleted and not mapping.put_away:
            yield instance.uuid, "is soft-deleted, but its mapping counts it as in use"
        elif instance.task_state is None and mapping.put_away and not is_soft_deleted:
            yield instance.uuid, f"is {instance.vm_state}, but its mapping says it is soft-deleted"


def _build_requests_stuck(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for uuid, since in snapshot.build_requests.items():
        if snapshot.now - since > STUCK_AFTER:
            yield uuid, f"has waited for a host since {since:%Y-%m-%d %H:%M:%S} UTC"


def _unknown(snapshot: Snapshot, uuid: str) -> bool:
    mapping = snapshot.mappings.get(uuid)
    return mapping is not None and mapping.cell_uuid in snapshot.unknown_cells


Check = Callable[[Snapshot], Iterator[tuple[str, str]]]
_CHECKS: Final[dict[str, Check]] = {
    "instances without claim": _instances_without_claim,
    "claims without instance": _claims_without_instance,
    "usage other than the claims": _usage_differs,
    "reservations overdue": _claims_overdue,
    "quota usage other than the mappings": _quota_differs,
    "ports without instance": _ports_without_instance,
    "guests without instance": _guests_without_instance,
    "instances without guest": _instances_without_guest,
    "instances on two hosts": _instances_on_two_hosts,
    "instances in two cells": _instances_in_two_cells,
    UNMAPPED: _instances_without_mapping,
    "mappings without instance": _mappings_without_instance,
    "soft-deleted other than the mappings": _soft_deleted_unlike_mapping,
    "build requests stuck": _build_requests_stuck,
}
KINDS: Final = tuple(_CHECKS)
