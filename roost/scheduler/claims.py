"""Makes, moves and deletes claims: the blocking calls behind the schedulers' RPC interface."""

import datetime
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from roost import exception
from roost.db import engine as db_engine
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler.claims import Claim
from roost.group_commit import GroupCommit
from roost.objects import InstanceResources, ResourceRequest, Selection
from roost.objects.allocations import Allocations
from roost.objects.explanation import nearest_misses, verdicts_of
from roost.scheduler.batches import Batches
from roost.scheduler.claim_requests import ClaimRequest, Drop, Move, Release, Restore, Select
from roost.scheduler.topology import HeldTopology

LOG = logging.getLogger(__name__)
_EXPIRED_AT_ONCE: Final = 500


class Claims:
    """Makes, moves and deletes claims, for concurrent callers.

    :param clock: the time by the clock of the database
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        batches: Batches,
        clock: Callable[[], datetime.datetime],
    ) -> None:
        self._database = database
        self._clock = clock
        self._commits = GroupCommit(batches.carry_out)

    def select(
        self,
        spec: ResourceRequest,
        instance_uuids: Sequence[str],
        *,
        alternates: int,
        beside: str | None = None,
        cell_uuid: str | None = None,
    ) -> list[list[Selection]]:
        """Claim a host for each instance, all or none; see :mod:`roost.rpc.scheduler`.

        :param cell_uuid: here and below: refuse to touch claims in any other cell

        :raises roost.exception.NoValidHost: with the reasons
        :raises roost.exception.Unavailable: when it lost every race against other schedulers
        """
        if beside is not None and len(instance_uuids) != 1:
            raise exception.Invalid("Only one instance at a time can have a claim beside another.")
        order = Select(
            instance_uuids, spec=spec, alternates=alternates, beside=beside, cell_uuid=cell_uuid
        )
        try:
            self._submit(order)
        except exception.NoValidHost as error:
            _log_refusal(order, error)
            raise
        _log_claims(order)
        return order.answer

    def select_for_requests(
        self, requests: Iterable[tuple[ResourceRequest, Sequence[str]]], *, alternates: int
    ) -> list[list[list[Selection]] | None]:
        """Claim hosts for several requests at once, as :meth:`select` does for each.

        :param requests: each with its instances
        :returns: None for a request that failed
        """
        orders = [Select(uuids, spec=spec, alternates=alternates) for spec, uuids in requests]
        self._commits.submit(*orders)
        for order in orders:
            if order.error is None:
                _log_claims(order)
            else:
                LOG.debug("%s: not placed with others: %s", order.instance_uuids, order.error)
        return [order.answer if order.error is None else None for order in orders]

    def move(
        self,
        instance_uuid: str,
        spec: ResourceRequest,
        *,
        to: Selection,
        leaving: str | None = None,
        arrived: bool = False,
        cell_uuid: str | None = None,
    ) -> Selection:
        """Give the instance a claim on ``to`` instead of its others (on ``leaving``, if named).

        :param arrived: the claim is confirmed
        :raises roost.exception.NoCapacity: when ``to`` cannot take it; nothing is changed then
        """
        order = Move(
            instance_uuid, spec=spec, to=to, leaving=leaving, arrived=arrived, cell_uuid=cell_uuid
        )
        self._submit(order)
        return order.answer

    def release(
        self,
        instance_uuids: Sequence[str],
        *,
        host: str | None = None,
        reserved: bool = False,
        cell_uuid: str | None = None,
    ) -> None:
        """Delete the claims of these instances (on ``host``, if one is named).

        :param reserved: only those that are still reserved
        """
        self._submit(Release(instance_uuids, host=host, reserved=reserved, cell_uuid=cell_uuid))

    def drop(self, claims: Sequence[Claim]) -> None:
        """Delete claims that have not changed since they were read."""
        self._submit(Drop(claims))

    def restore(
        self,
        host_id: int,
        holdings: Mapping[str, Allocations],
        *,
        instance_resources: Sequence[InstanceResources] = (),
    ) -> list[str]:
        """Create claims for instances of a host that have none there; return those that got one."""
        details = {
            one.instance_uuid: held.to_json()
            for one in instance_resources
            if (held := HeldTopology.of(one.numa_topology, one.pci))
        }
        order = Restore(holdings, host_id=host_id, details=details)
        self._submit(order)
        return [claim.instance_uuid for claim in order.change.given]

    def expire(self, *, lifetime: float) -> int:
        """Drop claims reserved more than ``lifetime`` seconds ago; return how many."""
        before = self._clock() - datetime.timedelta(seconds=lifetime)
        with self._database.read() as session:
            expired = claim_rows.list_expired(
                session, reserved_before=before, limit=_EXPIRED_AT_ONCE
            )
        if expired:
            self.drop(expired)
            for claim in expired:
                LOG.warning(
                    "[instance: %s] claim expired, no host confirmed it", claim.instance_uuid
                )
        return len(expired)

    def _submit(self, order: ClaimRequest) -> None:
        if order.instance_uuids:
            self._commits.submit(order)
            if order.error is not None:
                raise order.error


def _log_claims(order: Select) -> None:
    for uuid, (chosen, *_) in zip(order.asked, order.answer, strict=True):
        if uuid in order.change.gained:
            LOG.info("[instance: %s] claimed on %s", uuid, chosen.host)


def _log_refusal(order: ClaimRequest, error: exception.NoValidHost) -> None:
    """Log in one line which instances got no host, and why."""
    first, *others = order.instance_uuids
    LOG.info(
        "[instance: %s] not placed%s: %s; nearest: %s",
        first,
        f", nor {len(others)} more" if others else "",
        error.message,
        nearest_misses(verdicts_of(error.details)) or "unknown",
    )
