"""The scheduler's claims of servers that are built, that move, and that are deleted.

The claim of a build is reserved when a host is chosen, and expires unless that host confirms it by
listing the instance in its reports. So before the conductor casts a build it makes sure that the
claim exists. A server that moves has one claim on each host, until the user decides. On the same
host it is one claim, for the larger of both flavors meanwhile.
"""

import dataclasses
import logging
from collections.abc import Sequence
from typing import NamedTuple, Self

from roost import exception
from roost.conductor.placement_query import PlacementQuery
from roost.context import RequestContext
from roost.db.cell import identity, instances, migrations
from roost.db.engine import Database, retried
from roost.group_commit import GroupCommit
from roost.objects import (
    InstanceResources,
    Migration,
    Operation,
    RequestSpec,
    Selection,
    TriedHost,
)
from roost.objects.migration import COMING
from roost.objects.request import Retry
from roost.operations import kinds
from roost.operations.steps import DESTINATION, SOURCE
from roost.rpc.notifications import Notifier
from roost.rpc.scheduler import RESERVATION_LIFETIME
from roost.scheduler.client import CellSchedulerClient

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class MoveClaims:
    """Keeps, confirms and releases the claims of moves; each call may be repeated.

    Each raises :class:`roost.exception.Unavailable` when no scheduler answers.

    :param max_attempts: destinations that a server is tried on
    """

    database: Database
    scheduler: CellSchedulerClient
    max_attempts: int

    def may_have_expired(self, operation: Operation) -> bool:
        """Return whether a move begins so late that its claim may have expired.

        :param operation: as its row is
        """
        arrival = kinds.get(operation.kind).arrival
        if arrival is None or operation.step != arrival.name:
            return False
        assert operation.created_at is not None, "it is as its row is"
        age = self.database.now() - operation.created_at
        return age.total_seconds() >= RESERVATION_LIFETIME / 2

    def keep(self, context: RequestContext, migration: Migration, spec: RequestSpec | None) -> None:
        """Claim the destination of a move again.

        :raises roost.exception.NoCapacity: when there is no capacity any more
        """
        if spec is None or migration.stays_on_host:
            return  # there it has grown, and its host confirms it
        claimed = self._claim(context, migration, spec)
        resources = InstanceResources.of_holder(claimed, instance_uuid=migration.instance_uuid)
        if resources is not None:
            self._note_resources(migration, resources)

    def confirm(
        self, context: RequestContext, migration: Migration, spec: RequestSpec | None
    ) -> None:
        """Confirm the claim on the host that a server has come to, as its reports would.

        They may be refused for long, and no report brings a claim back beside another one.
        """
        if spec is None or migration.stays_on_host:
            return
        try:
            self._claim(context, migration, spec, arrived=True)
        except exception.NoCapacity as error:
            LOG.warning("[instance: %s] it has no claim where it is: %s",
                        migration.instance_uuid, error.message)  # fmt: skip

    def release(self, context: RequestContext, migration: Migration, stays_at: str) -> None:
        """Release what was claimed for where the server will not be."""
        uuid = migration.instance_uuid
        if not migration.stays_on_host:
            host = migration.host_at(DESTINATION if stays_at == SOURCE else SOURCE)
            self.scheduler.release_claims(context, instance_uuids=[uuid], host=host)
            return
        with self.database.read() as session:
            instance = migration.instance_at(stays_at, instances.get(session, uuid))
            cell_uuid, _name = identity.get(session)
        spec = RequestSpec.of(
            request_uuid=uuid,
            project_id=instance.project_id,
            user_id=instance.user_id,
            num_instances=1,
            flavor=instance.flavor,
            image=instance.image,
            requested_cell=cell_uuid,
        )
        self._claim(context, migration, spec)

    def choose_another(
        self, context: RequestContext, migration: Migration, spec: RequestSpec | None
    ) -> Selection | None:
        """Claim another destination for a move whose last one refused the server.

        :returns: None: there is none, or the move failed later than that
        """
        if spec is None or migration.dest_host not in spec.ignore_hosts:
            return None
        if spec.requested_host or len(spec.ignore_hosts) > self.max_attempts:
            return None
        try:
            ((chosen, *_),) = self.scheduler.select_destinations(
                context,
                request_spec=spec,
                instance_uuids=[migration.instance_uuid],
                alternates=0,
                beside=migration.source_host,
            )
        except (exception.NoValidHost, exception.Conflict) as error:
            LOG.warning("[instance: %s] no other host takes it: %s",
                        migration.instance_uuid, error.message)  # fmt: skip
            return None
        found: Selection = chosen
        return found

    def _claim(
        self,
        context: RequestContext,
        migration: Migration,
        spec: RequestSpec,
        *,
        arrived: bool = False,
    ) -> Selection:
        """Claim the destination of a migration, if that is not claimed."""
        to = Selection.of(
            host=migration.dest_host,
            node=migration.dest_node,
            cell_uuid=spec.requested_cell,
            availability_zone=migration.dest_zone,
            claimed=False,
        )
        return self.scheduler.move_claim(
            context,
            instance_uuid=migration.instance_uuid,
            request_spec=spec,
            to=to,
            arrived=arrived,
        )

    @retried
    def _note_resources(self, migration: Migration, resources: InstanceResources) -> None:
        """Note the CPUs and devices of a claim, which may have been made again."""
        with self.database.begin() as session:
            migrations.update(
                session, migration.uuid, {"dest_resources": resources}, expected=COMING
            )


class WantedBuild(NamedTuple):
    """What a build has asked for, the host that it was given, and what is left to try."""

    spec: RequestSpec
    selection: Selection
    alternates: Sequence[Selection]
    tried: Sequence[TriedHost]

    @classmethod
    def of(cls, build: Operation) -> Self:
        """Return that of an operation as its row is."""
        params = build.params
        assert params is not None, "it is as its row is"
        spec, selection = params.spec, params.selection
        assert spec is not None, "it is a build"
        assert selection is not None, "it is a build"
        return cls(spec, selection, params.alternates, params.tried)


@dataclasses.dataclass(frozen=True)
class BuildClaims:
    """Makes, moves and releases the claims of this cell's builds.

    :param max_attempts: number of hosts that an instance is tried on
    """

    database: Database
    scheduler: CellSchedulerClient
    notifier: Notifier
    max_attempts: int

    def keep(self, context: RequestContext, build: Operation) -> Selection:
        """Make sure that the build has a claim on its host; return the claimed selection.

        :raises roost.exception.NoCapacity: when the claim expired and the host has no capacity left
        """
        wanted = WantedBuild.of(build)
        return self.scheduler.move_claim(
            context,
            instance_uuid=build.instance_uuid,
            request_spec=wanted.spec,
            to=wanted.selection,
        )

    def take_next(
        self, context: RequestContext, build: Operation
    ) -> tuple[Selection, Sequence[Selection]]:
        """Claim the next alternate with capacity; without one, request a host of this cell.

        :returns: the claimed selection, and the alternates that are left
        :raises roost.exception.NoValidHost: when no host of this cell can take it
        """
        wanted = WantedBuild.of(build)
        for at, alternate in enumerate(wanted.alternates):
            try:
                claimed = self.scheduler.move_claim(
                    context,
                    instance_uuid=build.instance_uuid,
                    request_spec=wanted.spec,
                    to=alternate,
                    leaving=wanted.selection.host,
                )
            except exception.NoCapacity:
                LOG.info(
                    "[instance: %s] no room on %s any more", build.instance_uuid, alternate.host
                )
            else:
                return claimed, wanted.alternates[at + 1 :]
        return self._ask_scheduler(context, build)

    def release(
        self, context: RequestContext, instance_uuid: str, *, host: str | None = None
    ) -> None:
        """Release the instance's claim (on ``host``, if one is named).

        If the schedulers are unavailable, the claim expires: no host lists the instance any more.
        """
        try:
            self.scheduler.release_claims(context, instance_uuids=[instance_uuid], host=host)
        except exception.Unavailable as error:
            LOG.warning("[instance: %s] claim is left to expire: %s", instance_uuid, error.message)

    def _ask_scheduler(
        self, context: RequestContext, build: Operation
    ) -> tuple[Selection, Sequence[Selection]]:
        wanted = WantedBuild.of(build)
        chosen, *alternates = PlacementQuery(self.scheduler, self.notifier).select(
            context,
            request_spec=self._narrowed(wanted),
            instance_uuids=[build.instance_uuid],
            alternates=self.max_attempts - len(wanted.tried) - 1,
        )[0]
        return chosen, alternates

    def _narrowed(self, wanted: WantedBuild) -> RequestSpec:
        """Return the request spec limited to this cell, without the hosts already tried."""
        tried = list(wanted.tried)
        spec: RequestSpec = wanted.spec.obj_clone()
        spec.num_instances = 1
        spec.requested_cell = self._own_cell()
        spec.ignore_hosts = [*spec.ignore_hosts, *(one.host for one in tried)]
        spec.retry = Retry(max_attempts=self.max_attempts, tried=tried)
        return spec

    def _own_cell(self) -> str:
        return self.database.query(identity.get)[0]


@dataclasses.dataclass(eq=False)
class _Release:
    context: RequestContext
    instance_uuid: str
    done: bool = False
    error: Exception | None = None


class ClaimReleases:
    """Releases claims, those of concurrent deletes with one message."""

    def __init__(self, scheduler: CellSchedulerClient) -> None:
        self._scheduler = scheduler
        self._group = GroupCommit(self._carry_out)

    def release(self, context: RequestContext, instance_uuid: str) -> None:
        """Release the claims of an instance.

        :raises roost.exception.Unavailable: when no scheduler answers
        """
        asked = _Release(context, instance_uuid)
        self._group.submit(asked)
        if asked.error is not None:
            raise asked.error

    def _carry_out(self, asked: list[_Release]) -> list[_Release]:
        uuids = [each.instance_uuid for each in asked]
        error: Exception | None = None
        try:
            self._scheduler.release_claims(asked[0].context, instance_uuids=uuids)
        except exception.Unavailable as unheard:
            error = unheard
        except Exception as refused:  # noqa: BLE001 - the thread that waits for it raises it
            if len(asked) > 1:  # it may be about one of them
                for each in asked:
                    self._carry_out([each])
                return []
            error = refused
        for each in asked:
            each.error, each.done = error, True
        return []
