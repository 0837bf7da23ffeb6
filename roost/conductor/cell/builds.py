"""Build progress as hosts report it, each step a compare-and-swap; and the claims of builds.

A claim is reserved when a host is chosen, and expires unless that host confirms it by listing the
instance in its reports. So before the conductor casts a build it makes sure that the claim exists.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from roost import exception, states
from roost.conductor.placement_query import PlacementQuery
from roost.context import RequestContext
from roost.db.cell import (
    actions,
    builds,
    guest_config,
    identity,
    instances,
    leases,
    left_behind,
    operations,
    ports,
    services,
)
from roost.db.cell.builds import BuildRow
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.networks import LocalNetwork
from roost.objects import (
    ImageMeta,
    InstanceActionEvent,
    NetworkInfo,
    RequestSpec,
    Selection,
    instance,
)
from roost.objects.request import Retry
from roost.operations.kinds import OF_TASK
from roost.rpc.notifications import Notifier
from roost.scheduler.client import CellSchedulerClient

CHANGEABLE = (
    "vm_state",
    "task_state",
    "power_state",
    "launched_at",
    "network_info",
    "config_drive",
    "image",
)
EXPECTABLE = ("host", "attempt", "vm_state", "task_state")


@dataclasses.dataclass(frozen=True)
class BuildProgress:
    """Records the progress of builds in the rows of this cell's instances.

    :param host: the name of this conductor's host, for the instances' history
    """

    host: str
    database: Database
    networks: Sequence[LocalNetwork]

    def begin_build(
        self, instance_uuid: str, host: str, attempt: int, *, selection: Selection | None = None
    ) -> bool:
        """Begin a build on a host, once; False when the instance does not belong to that host.

        Nothing begins on a host that is forced down: the sweeper takes the build elsewhere.
        """
        at = self.database.now()
        return self._begin(instance_uuid, host, attempt, selection=selection, at=at)

    @retried
    def _begin(
        self,
        instance_uuid: str,
        host: str,
        attempt: int,
        *,
        selection: Selection | None,
        at: datetime.datetime,
    ) -> bool:
        start = utcnow()
        with self.database.begin() as session:
            instance = instances.find(session, instance_uuid)
            if instance is None or services.is_forced_down(session, host):
                return False
            if not builds.awaits(session, instance_uuid, host=host, selection=selection):
                return False
            first = states.NETWORKING if instance.networks else states.SPAWNING
            try:
                if instances.update(
                    session,
                    instance_uuid,
                    {"task_state": first},
                    expected={"host": host, "attempt": attempt, "task_state": states.SCHEDULING},
                    at=at,
                ):
                    begun = InstanceActionEvent(
                        event="cell-conductor.begin_build",
                        host=self.host,
                        start_time=start,
                        finish_time=utcnow(),
                        result="Success",
                        details=f"on {host}",
                    )
                    actions.add_events(session, instance_uuid, actions.CREATE, [begun])
            except exception.Conflict:
                return False
            return True

    @retried
    def allocate_networks(self, instance_uuid: str, host: str, attempt: int) -> NetworkInfo:
        """Create an instance's ports and set the task state to spawning.

        An instance that moves keeps its ports, which are bound to this host, and its task state.
        """
        with self.database.begin() as session:
            instance = instances.get(session, instance_uuid)
            moves = operations.find_move(session, instance_uuid)
            if moves is not None and moves.host != host:
                raise exception.Conflict(f"{instance_uuid} moves, and {moves.host} works on it.")
            info = ports.allocate(
                session,
                instance_uuid=instance_uuid,
                host=host,
                requests=instance.networks,
                networks=self.networks,
            )
            if moves is not None:
                operations.check(session, moves)
                return info
            instances.update(
                session,
                instance_uuid,
                {"task_state": states.SPAWNING, "network_info": info},
                expected={
                    "host": host,
                    "attempt": attempt,
                    "task_state": (states.NETWORKING, states.SPAWNING),
                },
            )
            return info

    @retried
    def renew_leases(
        self,
        host: str,
        held: Sequence[leases.HeldLease],
        held_operations: Sequence[str],
        *,
        seconds: float,
        nothing_else: bool,
    ) -> tuple[list[int], list[str]]:
        """Renew a host's leases on builds, and on operations.

        A host that is forced down owns none.

        :returns: the indexes, and the operations, of those that it no longer owns
        """
        with self.database.begin() as session:
            if services.is_forced_down(session, host):
                return [*range(len(held))], sorted(held_operations)
            lost = leases.renew(session, held, host=host, seconds=seconds)
            over = operations.renew(session, held_operations, host=host, seconds=seconds)
            if nothing_else:
                leases.end_others(session, held, host=host)
                operations.end_others(session, held_operations, host=host)
                left_behind.renew(session, host)
        return sorted(lost), sorted(over)

    @retried
    def free_networks(self, instance_uuid: str, host: str) -> None:
        """Delete the ports of an instance that is on this host, or on no host."""
        with self.database.begin() as session:
            instance = instances.find(session, instance_uuid)
            if instance is not None and instance.host not in (host, None):
                raise exception.Conflict(f"The instance {instance_uuid} is not on {host}.")
            ports.free(session, instance_uuid)

    def update(
        self,
        instance_uuid: str,
        changes: Mapping[str, Any],
        expected: Mapping[str, Any],
        events: Sequence[InstanceActionEvent],
    ) -> bool:
        """Change an instance if it is as expected; a change to no task ends its build.

        :returns: whether this has ended a build well
        :raises roost.exception.Invalid: for a field that hosts may not change
        """
        refuse_others("changes", changes, CHANGEABLE)
        refuse_others("expected", expected, EXPECTABLE)
        if {"vm_state", "task_state"} & changes.keys():
            _refuse_operations(changes, expected)
        return self._update(instance_uuid, changes, expected, events, at=self.database.now())

    @retried
    def _update(
        self,
        instance_uuid: str,
        changes: Mapping[str, Any],
        expected: Mapping[str, Any],
        events: Sequence[InstanceActionEvent],
        *,
        at: datetime.datetime,
    ) -> bool:
        rests = "vm_state" in changes and changes.get("task_state", "") is None
        with self.database.begin() as session:
            if _changes_nothing(session, instance_uuid, changes, events):
                return False
            if "image" in changes:
                name = root_name(session, instance_uuid, changes["image"])
                changes = {**changes, "root_device_name": name}
            if not instances.update(session, instance_uuid, changes, expected=expected, at=at):
                return False
            actions.add_events(session, instance_uuid, actions.CREATE, events, finish=rests)
            if rests:
                builds.end(session, instance_uuid)
                if changes["vm_state"] == states.ERROR:
                    guest_config.forget_secrets(session, instance_uuid)
                else:
                    guest_config.forget_password(session, instance_uuid)
        return rests and changes["vm_state"] != states.ERROR


def _changes_nothing(
    session: Session,
    instance_uuid: str,
    changes: Mapping[str, Any],
    events: Sequence[InstanceActionEvent],
) -> bool:
    """Return whether the change only repeats the network_info that the row has already."""
    if events or changes.keys() != {"network_info"}:
        return False
    return bool(instances.network_info(session, instance_uuid) == changes["network_info"])


def root_name(session: Session, instance_uuid: str, image: ImageMeta | None) -> str:
    """Return the device name of the root disk, for another image."""
    given = guest_config.find(session, instance_uuid)
    return instance.name_by(given.block_devices if given else (), image)


def _refuse_operations(changes: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Refuse a change of state that belongs to an operation: those have messages of their own."""
    tasks = expected.get("task_state")
    before = {tasks} if tasks is None or isinstance(tasks, str) else {*tasks}
    if not before <= {*states.BUILD_TASKS} or changes.get("task_state") in OF_TASK:
        raise exception.Invalid("only the states of builds may be changed so")


def refuse_others(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    other = sorted(set(given) - set(known))
    if other:
        raise exception.Invalid(f"{what} may not name {', '.join(other)}; only {', '.join(known)}")


LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class BuildClaims:
    """Makes, moves and releases the claims of this cell's builds.

    :param max_attempts: number of hosts that an instance is tried on
    """

    database: Database
    scheduler: CellSchedulerClient
    notifier: Notifier
    max_attempts: int

    def keep(self, context: RequestContext, build: BuildRow) -> Selection:
        """Make sure that the build has a claim on its host; return the claimed selection.

        :raises roost.exception.NoCapacity: when the claim expired and the host has no capacity left
        """
        return self.scheduler.move_claim(
            context,
            instance_uuid=build.instance_uuid,
            request_spec=build.spec,
            to=build.selection,
        )

    def take_next(
        self, context: RequestContext, build: BuildRow
    ) -> tuple[Selection, Sequence[Selection]]:
        """Claim the next alternate with capacity; without one, request a host of this cell.

        :returns: the claimed selection, and the alternates that are left
        :raises roost.exception.NoValidHost: when no host of this cell can take it
        """
        for at, alternate in enumerate(build.alternates):
            try:
                claimed = self.scheduler.move_claim(
                    context,
                    instance_uuid=build.instance_uuid,
                    request_spec=build.spec,
                    to=alternate,
                    leaving=build.host,
                )
            except exception.NoCapacity:
                LOG.info(
                    "[instance: %s] no room on %s any more", build.instance_uuid, alternate.host
                )
            else:
                return claimed, build.alternates[at + 1 :]
        return self._ask_scheduler(context, build)

    def release(self, context: RequestContext, instance_uuid: str) -> None:
        """Release the instance's claim.

        If the schedulers are unavailable, the claim expires: no host lists the instance any more.
        """
        try:
            self.scheduler.release_claims(context, instance_uuids=[instance_uuid])
        except exception.Unavailable as error:
            LOG.warning("[instance: %s] claim is left to expire: %s", instance_uuid, error.message)

    def _ask_scheduler(
        self, context: RequestContext, build: BuildRow
    ) -> tuple[Selection, Sequence[Selection]]:
        chosen, *alternates = PlacementQuery(self.scheduler, self.notifier).select(
            context,
            request_spec=self._narrowed(build),
            instance_uuids=[build.instance_uuid],
            alternates=self.max_attempts - len(build.tried) - 1,
        )[0]
        return chosen, alternates

    def _narrowed(self, build: BuildRow) -> RequestSpec:
        """Return the request spec limited to this cell, without the hosts already tried."""
        spec: RequestSpec = build.spec.obj_clone()
        spec.num_instances = 1
        spec.requested_cell = self._own_cell()
        spec.ignore_hosts = [*spec.ignore_hosts, *(tried.host for tried in build.tried)]
        spec.retry = Retry(max_attempts=self.max_attempts, tried=list(build.tried))
        return spec

    def _own_cell(self) -> str:
        return self.database.query(identity.get)[0]
