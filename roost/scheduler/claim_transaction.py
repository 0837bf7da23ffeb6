"""The state of hosts and claims within one transaction, which its requests change one by one."""

import collections
import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from roost import exception
from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler.claims import Claim
from roost.objects import ResourceRequest, Selection
from roost.objects.inventory import handed_out
from roost.scheduler import engine
from roost.scheduler.drivers import Driver
from roost.scheduler.engine import Placement
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request, hinted_instances
from roost.scheduler.table import HostTable, Members
from roost.scheduler.topology import HeldTopology


class StaleRead(exception.Conflict):
    """The request would fail, but by cached data that may be stale."""


@dataclasses.dataclass
class ClaimChange:
    """The changes of an order: instances that get hosts, given claims, and deleted ones.

    They are applied in memory already; the transaction writes them to the database later.

    :param given: claims that are created as they are; no driver has chosen their hosts
    :param redoable: whether the given claims may be created whatever else their hosts hold now
    """

    request: Request | None = None
    gained: dict[str, Placement] = dataclasses.field(default_factory=dict)
    given: list[Claim] = dataclasses.field(default_factory=list)
    lost: list[Claim] = dataclasses.field(default_factory=list)
    redoable: bool = True

    def host_ids(self, hosts: HostColumns) -> set[int]:
        """Return the ids of the hosts whose usage changes."""
        gaining = {int(hosts.ids[place.row]) for place in self.gained.values()}
        return gaining.union(claim.host_id for claim in (*self.given, *self.lost))


class ClaimTransaction:
    """Hosts, claims and groups as one transaction sees them.

    :param held: the existing claims of each instance that the orders name
    :param fresh: whether all changes of other schedulers were read in this transaction
    """

    def __init__(
        self,
        session: Session,
        *,
        table: HostTable,
        driver: Driver,
        members: Members,
        held: Mapping[str, Sequence[Claim]],
        fresh: bool,
    ) -> None:
        self.session = session
        self.table = table
        self.driver = driver
        self._held = held
        self.fresh = fresh
        self._members = members
        self.joined: collections.Counter[tuple[str, int]] = collections.Counter()

    @property
    def hosts(self) -> HostColumns:
        return self.table.hosts

    def held(self, instance_uuid: str) -> Sequence[Claim]:
        return self._held.get(instance_uuid, ())

    def row_of(self, claim: Claim) -> int | None:
        """Return the row of a claim's host; None: the host was removed.

        :raises StaleRead: when only fresh data can have it
        """
        row = self.table.row(claim.host_id)
        if row is None and not self.fresh:
            raise StaleRead("a claim is on a host not seen yet")
        return row

    def is_on(self, claim: Claim, host: str) -> bool:
        """Return whether a claim is on this host.

        :raises StaleRead: when only fresh data can show it
        """
        row = self.row_of(claim)
        return row is not None and self.hosts.one(row).host == host

    def free_number(self, instance_uuid: str, lost: Sequence[Claim]) -> int:
        """Return the number for one more claim of an instance, once ``lost`` are deleted.

        :raises roost.exception.Conflict: when it has two already
        """
        taken = {claim.number for claim in self.held(instance_uuid) if claim not in lost}
        for number in range(claim_rows.MOST):
            if number not in taken:
                return number
        raise exception.Conflict(f"{instance_uuid} has two claims already")

    def claims(self, change: ClaimChange) -> list[Claim]:
        """Return the claims to create."""
        made = [
            _claim(
                uuid,
                place,
                number=self.free_number(uuid, change.lost),
                request=change.request,
                hosts=self.hosts,
            )
            for uuid, place in change.gained.items()
            if change.request is not None
        ]
        return made + change.given

    def request(
        self,
        spec: ResourceRequest,
        instance_uuids: Sequence[str],
        *,
        placed: Sequence[int | None],
        alternates: int = 0,
    ) -> Request:
        """Return the request for a driver; group counts leave out the instances that move."""
        moving = [uuid for uuid, row in zip(instance_uuids, placed, strict=True) if row is None]
        named = (*hinted_instances(spec), *instance_uuids)
        return Request.of(
            spec,
            placed=placed,
            alternates=alternates,
            group_counts=self._group_counts(spec, moving),
            rows_of=self.table.rows_of({uuid: self.held(uuid) for uuid in named}),
        )

    def apply(self, change: ClaimChange) -> None:
        """Apply deleted and given claims and group members; gained hosts are taken already."""
        for claim in change.lost:
            self.in_memory(claim, -1)
        for claim in change.given:
            self.in_memory(claim, 1)
        self._count(change, 1)

    def revert(self, change: ClaimChange) -> None:
        """Undo :meth:`apply`, and free the resources of the gained hosts."""
        if change.request is not None:
            engine.undo(change.request, self.hosts, list(change.gained.values()))
        for claim in change.lost:
            self.in_memory(claim, 1)
        for claim in change.given:
            self.in_memory(claim, -1)
        self._count(change, -1)

    def redo(self, change: ClaimChange) -> bool:
        """Apply a reverted change again on freshly read hosts; return whether it still fits."""
        if not change.redoable:
            return False
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

    def _group_counts(self, spec: ResourceRequest, moving: Sequence[str]) -> dict[int, int]:
        if spec.group is None:
            return {}
        uuid = spec.group.uuid
        counts = collections.Counter(self._members.on(uuid))
        for (group_uuid, host_id), more in self.joined.items():
            if group_uuid == uuid:
                counts[host_id] += more
        for claim in itertools.chain.from_iterable(map(self.held, moving)):
            if claim.group_uuid == uuid:
                counts[claim.host_id] -= 1
        return self.table.by_row(+counts)  # without zero counts

    def in_memory(self, claim: Claim, sign: int) -> None:
        """Take the resources of a claim in memory, or free them."""
        row = self.table.row(claim.host_id)
        if row is None:
            return
        held = None
        if claim.details and self.hosts.topology[row] is not None:
            held = HeldTopology.from_json(claim.details)
        self.hosts.take(row, claim.allocations, held, sign=sign)

    def _count(self, change: ClaimChange, sign: int) -> None:
        """Count members that join and leave groups."""
        group = change.request.spec.group if change.request else None
        if group is not None:
            for place in change.gained.values():
                self.joined[group.uuid, int(self.hosts.ids[place.row])] += sign
        for claims, more in ((change.given, sign), (change.lost, -sign)):
            for claim in claims:
                if claim.group_uuid:
                    self.joined[claim.group_uuid, claim.host_id] += more


def selection(hosts: HostColumns, row: int, *, claimed: Placement | None = None) -> Selection:
    """Return the Selection of a host; ``claimed`` is the placement that a claim holds there."""
    one = hosts.one(row)
    held = claimed.held if claimed else None
    return Selection.of(
        host=one.host,
        host_ip=one.host_ip,
        node=one.node,
        cell_uuid=one.cell_uuid,
        availability_zone=one.availability_zone,
        claimed=claimed is not None,
        limits={name: one.capacity(name) for name in one.inventory.classes},
        numa_topology=held.numa if held else None,
        pci=list(held.pci) if held else [],
        allocations=handed_out(claimed.allocations) if claimed else {},
    )


def _claim(
    uuid: str, place: Placement, *, number: int, request: Request, hosts: HostColumns
) -> Claim:
    spec = request.spec
    return Claim(
        instance_uuid=uuid,
        host_id=int(hosts.ids[place.row]),
        allocations=place.allocations,
        number=number,
        state=claim_rows.RESERVED,
        request_uuid=spec.request_uuid,
        project_id=spec.project_id,
        group_uuid=spec.group.uuid if spec.group else None,
        details=place.held.to_json() if place.held else None,
    )
