"""The state of hosts and claims within one transaction, which its requests change one by one."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence

from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler.claims import Claim
from roost.objects import RequestSpec, Selection
from roost.scheduler import engine
from roost.scheduler.drivers import Driver
from roost.scheduler.engine import Placement
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request, hinted_instances
from roost.scheduler.table import HostTable, Members
from roost.scheduler.topology import HeldTopology

_LIMITED = ("vcpus", "pcpus", "memory_mb", "disk_gb")


@dataclasses.dataclass
class ClaimChange:
    """The changes of an order: instances that get hosts, restored claims, and deleted ones.

    They are applied in memory already; the transaction writes them to the database later.
    """

    request: Request | None = None
    gained: dict[str, Placement] = dataclasses.field(default_factory=dict)
    restored: list[Claim] = dataclasses.field(default_factory=list)
    lost: list[Claim] = dataclasses.field(default_factory=list)

    def claims(self, hosts: HostColumns) -> list[Claim]:
        """Return the claims to create."""
        made = [
            _claim(uuid, place, request=self.request, hosts=hosts)
            for uuid, place in self.gained.items()
            if self.request is not None
        ]
        return made + self.restored

    def host_ids(self, hosts: HostColumns) -> set[int]:
        """Return the ids of the hosts whose usage changes."""
        gaining = {int(hosts.ids[place.row]) for place in self.gained.values()}
        return gaining.union(claim.host_id for claim in (*self.restored, *self.lost))


class ClaimTransaction:
    """Hosts, claims and groups as one transaction sees them.

    :param held: the existing claims of all instances that the orders name
    :param fresh: whether all changes of other schedulers were read in this transaction
    """

    def __init__(
        self,
        session: Session,
        *,
        table: HostTable,
        driver: Driver,
        members: Members,
        held: Mapping[str, Claim],
        fresh: bool,
    ) -> None:
        self.session = session
        self.table = table
        self.driver = driver
        self.held = held
        self.fresh = fresh
        self._members = members
        self.joined: collections.Counter[tuple[str, int]] = collections.Counter()

    @property
    def hosts(self) -> HostColumns:
        return self.table.hosts

    def request(
        self,
        spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        placed: Sequence[int | None],
        alternates: int = 0,
    ) -> Request:
        """Return the request for a driver; group counts leave out the instances that move."""
        moving = [uuid for uuid, row in zip(instance_uuids, placed, strict=True) if row is None]
        named = (*hinted_instances(spec), *instance_uuids)
        hosts = {uuid: self.held[uuid].host_id for uuid in named if uuid in self.held}
        return Request.of(
            spec,
            placed=placed,
            alternates=alternates,
            group_counts=self._group_counts(spec, moving),
            rows_of=self.table.rows(hosts),
        )

    def apply(self, change: ClaimChange) -> None:
        """Apply deleted and restored claims and group members; gained hosts are taken already."""
        for claim in change.lost:
            self._in_memory(claim, -1)
        for claim in change.restored:
            self._in_memory(claim, 1)
        self._count(change, 1)

    def revert(self, change: ClaimChange) -> None:
        """Undo :meth:`apply`, and free the resources of the gained hosts."""
        if change.request is not None:
            engine.undo(change.request, self.hosts, list(change.gained.values()))
        for claim in change.lost:
            self._in_memory(claim, 1)
        for claim in change.restored:
            self._in_memory(claim, -1)
        self._count(change, -1)

    def redo(self, change: ClaimChange) -> bool:
        """Apply a reverted change again on freshly read hosts; return whether it still fits."""
        if change.request is not None and not self._take_again(change, change.request):
            return False
        self.apply(change)
        return True

    def _take_again(self, change: ClaimChange, request: Request) -> bool:
        again, change.gained = change.gained, {}
        for uuid, place in again.items():
            if self.driver.why_not(request, self.hosts, place.row) is not None:
                engine.undo(request, self.hosts, list(change.gained.values()))
                return False
            change.gained[uuid] = engine.take(request, self.hosts, place.row)
        return True

    def _group_counts(self, spec: RequestSpec, moving: Sequence[str]) -> dict[int, int]:
        if spec.group is None:
            return {}
        uuid = spec.group.uuid
        counts = collections.Counter(self._members.on(uuid))
        for (group_uuid, host_id), more in self.joined.items():
            if group_uuid == uuid:
                counts[host_id] += more
        for claim in filter(None, map(self.held.get, moving)):
            if claim.group_uuid == uuid:
                counts[claim.host_id] -= 1
        return self.table.by_row(+counts)  # without zero counts

    def _in_memory(self, claim: Claim, sign: int) -> None:
        row = self.table.row(claim.host_id)
        if row is None:
            return
        self.hosts.take(row, tuple(sign * size for size in claim.sizes))
        topology = self.hosts.topology[row]
        if claim.details and topology is not None:
            held = HeldTopology.from_json(claim.details)
            self.hosts.topology[row] = (
                topology.taking(held) if sign > 0 else topology.giving_back(held)
            )

    def _count(self, change: ClaimChange, sign: int) -> None:
        """Count members that join and leave groups; restored claims have no group."""
        group = change.request.spec.group if change.request else None
        if group is not None:
            for place in change.gained.values():
                self.joined[group.uuid, int(self.hosts.ids[place.row])] += sign
        for claim in change.lost:
            if claim.group_uuid:
                self.joined[claim.group_uuid, claim.host_id] -= sign


def selection(hosts: HostColumns, row: int, *, claimed: Placement | None = None) -> Selection:
    """Return the Selection of a host; ``claimed`` is the placement that a claim holds there."""
    one = hosts.one(row)
    held = claimed.held if claimed else None
    return Selection.of(
        host=one.host,
        node=one.node,
        cell_uuid=one.cell_uuid,
        availability_zone=one.availability_zone,
        claimed=claimed is not None,
        limits={resource: one.capacity(resource) for resource in _LIMITED},
        numa_topology=held.numa if held else None,
        pci=list(held.pci) if held else [],
    )


def _claim(uuid: str, place: Placement, *, request: Request, hosts: HostColumns) -> Claim:
    spec = request.spec
    return Claim(
        instance_uuid=uuid,
        host_id=int(hosts.ids[place.row]),
        sizes=request.asked,
        state=claim_rows.RESERVED,
        request_uuid=spec.request_uuid,
        project_id=spec.project_id,
        group_uuid=spec.group.uuid if spec.group else None,
        details=place.held.to_json() if place.held else None,
    )
