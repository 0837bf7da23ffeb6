"""Scheduler queries of both conductors, with notifications."""

import dataclasses
from collections.abc import Sequence

from roost import exception
from roost.context import RequestContext
from roost.objects import DestinationsPayload, RequestSpec, Selection
from roost.objects.explanation import verdicts_of
from roost.rpc.notifications import Notifier
from roost.scheduler.client import CellSchedulerClient, SchedulerClient


@dataclasses.dataclass(frozen=True)
class PlacementQuery:
    """Queries the scheduler, and sends the notifications that Nova's scheduler used to send."""

    scheduler: SchedulerClient | CellSchedulerClient
    notifier: Notifier

    def select(
        self,
        context: RequestContext,
        *,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        alternates: int,
    ) -> list[list[Selection]]:
        """Return a claimed host per instance, each followed by its alternates.

        :raises roost.exception.NoValidHost: when not all can be placed
        """
        uuids = list(instance_uuids)
        payload = DestinationsPayload.of(
            request_spec=request_spec, instance_uuids=uuids, selections=[], reason=None
        )
        self.notifier.info(context, "scheduler.select_destinations.start", payload)
        try:
            chosen = self.scheduler.select_destinations(
                context, request_spec=request_spec, instance_uuids=uuids, alternates=alternates
            )
        except exception.NoValidHost as error:
            payload.reason, payload.refusals = error.message, verdicts_of(error.details)
            self.notifier.error(context, "scheduler.select_destinations.error", payload)
            raise
        payload.selections = [selections[0] for selections in chosen]
        self.notifier.info(context, "scheduler.select_destinations.end", payload)
        return chosen
