"""Claims for builds under way: kept on their host, moved to the next one, let go of.

A claim is reserved when a host is chosen, and runs out unless that host confirms it by listing the
instance in its reports. So whoever tells a host to build makes sure first that the claim is there.
"""

import dataclasses
import logging
from collections.abc import Sequence

from roost import exception
from roost.conductor.destinations import Destinations
from roost.context import RequestContext
from roost.db.cell import identity
from roost.db.cell.builds import BuildRow
from roost.db.engine import Database
from roost.objects import RequestSpec, Selection
from roost.objects.request_spec import Retry
from roost.rpc.notifications import Notifier
from roost.scheduler.client import CellSchedulerClient

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Places:
    """Asks the schedulers on behalf of this cell's builds.

    :param max_attempts: hosts that an instance is tried on
    """

    database: Database
    scheduler: CellSchedulerClient
    notifier: Notifier
    max_attempts: int

    def keep(self, context: RequestContext, build: BuildRow) -> Selection:
        """Make sure that the build has its claim on its host; return the place that it has there.

        :raises roost.exception.NoCapacity: when the claim ran out and somebody else has the place
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
        """Claim the next alternate with room; without one, ask the scheduler for this cell.

        :returns: the place, and the alternates that are left
        :raises roost.exception.NoValidHost: when no host of this cell can have it
        """
        for at, alternate in enumerate(build.alternates):
            try:
                claimed = self.scheduler.move_claim(
                    context,
                    instance_uuid=build.instance_uuid,
                    request_spec=build.spec,
                    to=alternate,
                )
            except exception.NoCapacity:
                LOG.info("%s: no room on %s any more", build.instance_uuid, alternate.host)
            else:
                return claimed, build.alternates[at + 1 :]
        return self._ask_scheduler(context, build)

    def release(self, context: RequestContext, instance_uuid: str) -> None:
        """Let go of whatever the instance has claimed.

        A scheduler that is away learns it in the end: no host lists the instance any more.
        """
        try:
            self.scheduler.release_claims(context, instance_uuids=[instance_uuid])
        except exception.Unavailable as error:
            LOG.warning("%s: its claim is left to run out: %s", instance_uuid, error.message)

    def _ask_scheduler(
        self, context: RequestContext, build: BuildRow
    ) -> tuple[Selection, Sequence[Selection]]:
        chosen, *alternates = Destinations(self.scheduler, self.notifier).select(
            context,
            request_spec=self._narrowed(build),
            instance_uuids=[build.instance_uuid],
            alternates=self.max_attempts - len(build.tried) - 1,
        )[0]
        return chosen, alternates

    def _narrowed(self, build: BuildRow) -> RequestSpec:
        """The same question for this cell only, without the hosts already tried."""
        spec: RequestSpec = build.spec.obj_clone()
        spec.num_instances = 1
        spec.requested_cell = self._own_cell()
        spec.ignore_hosts = [*spec.ignore_hosts, *(tried.host for tried in build.tried)]
        spec.retry = Retry(max_attempts=self.max_attempts, tried=list(build.tried))
        return spec

    def _own_cell(self) -> str:
        with self.database.read() as session:
            return identity.get(session)[0]
