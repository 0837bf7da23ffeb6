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
        payload = self._start(context, request_spec, instance_uuids)
        try:
            chosen = self.scheduler.select_destinations(
                context,
                request_spec=request_spec,
                instance_uuids=[*instance_uuids],
                alternates=alternates,
            )
        except exception.NoValidHost as error:
            payload.reason, payload.refusals = error.message, verdicts_of(error.details)
            self.notifier.error(context, "scheduler.select_destinations.error", payload)
            raise
        self._end(context, payload, chosen)
        return chosen

    def _start(
        self, context: RequestContext, spec: RequestSpec, instance_uuids: Sequence[str]
    ) -> DestinationsPayload:
        payload = DestinationsPayload.of(
            request_spec=spec, instance_uuids=[*instance_uuids], selections=[], reason=None
        )
        self.notifier.info(context, "scheduler.select_destinations.start", payload)
        return payload

    def _end(
        self,
        context: RequestContext,
        payload: DestinationsPayload,
        chosen: Sequence[Sequence[Selection]],
    ) -> None:
        payload.selections = [selections[0] for selections in chosen]
        self.notifier.info(context, "scheduler.select_destinations.end", payload)


@dataclasses.dataclass(frozen=True)
class ApiPlacementQuery(PlacementQuery):
    """The query of the API level, for any number of requests at once."""

    scheduler: SchedulerClient

    def select_for_requests(
        self,
        requests: Sequence[tuple[RequestContext, RequestSpec, Sequence[str]]],
        *,
        alternates: int,
    ) -> list[list[list[Selection]] | None]:
        """Return the same for several requests; None for one that has to be asked for alone."""
        payloads = [self._start(*request) for request in requests]
        answers = self.scheduler.select_for_requests(
            RequestContext(is_admin=False),  # it concerns several users
            request_specs=[spec for _, spec, _ in requests],
            instance_uuids=[[*uuids] for _, _, uuids in requests],
            alternates=alternates,
        )
        for (context, _, _), payload, chosen in zip(requests, payloads, answers, strict=True):
            if chosen is not None:
                self._end(context, payload, chosen)
        return answers
