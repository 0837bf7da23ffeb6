"""Clients of the scheduler: for the API level and for cells, and the reporter of a host.

All that another service needs which places something else than servers; see ``doc/consumers.rst``.
"""

import datetime
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import oslo_messaging as messaging
from oslo_config import cfg

from roost import exception
from roost.context import RequestContext, admin_context
from roost.objects import HostChangesPayload, HostReport, ResourceInventory, ResourceProvider
from roost.objects.allocations import NOTHING, Allocations, of_host, plus
from roost.rpc.scheduler import CellScheduler, Scheduler

LOG = logging.getLogger(__name__)
PAGE = 1000
CHANGED: Final = "scheduler.hosts.changed"
PROBE_SECONDS: Final = 5


class SchedulerClient(Scheduler):
    """The API level's client of the schedulers: their RPC methods, and lists over all pages.

    :param bus: the scheduler bus
    """

    def check(self, context: RequestContext) -> None:
        """Make sure, within seconds, that a scheduler answers.

        :raises roost.exception.Unavailable: when none does; the message says what to do
        """
        try:
            self.within(PROBE_SECONDS).list_hosts(context, limit=1)
        except exception.Unavailable as error:
            raise exception.Unavailable(
                f"no scheduler answers: {error.message}; start roost-scheduler, or set its bus in"
                " [scheduler] transport_url"
            ) from error

    def all_hosts(
        self, context: RequestContext, *, marker: str | None = None, page_size: int = PAGE
    ) -> Iterator[HostReport]:
        """Yield every known host in order of host and node, page by page.

        :param marker: begin after this host
        """
        while page := self.list_hosts(context, marker=marker, limit=page_size):
            yield from page
            marker = page[-1].host

    def all_claims(
        self, context: RequestContext, *, host: str | None = None, project_id: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield every claim in order of instance uuid, page by page.

        :param host: only those on this host
        :param project_id: only those of this project's instances
        """
        marker: str | None = None
        while page := self.list_claims(
            context, marker=marker, limit=PAGE, host=host, project_id=project_id
        ):
            yield from page
            marker = page[-1]["instance_uuid"]


class CellSchedulerClient(CellScheduler):
    """The cells' client of the schedulers.

    :param bus: the scheduler bus
    """


class ChangeListener:
    """Receives changes of hosts as notifications; see ``doc/stream.rst``.

    :param conf: options of oslo.messaging
    :param url: of the bus of notifications
    :param topic: one of those of ``[scheduler] change_topics``
    :param pool: the name of this listener: each pool receives all changes. Processes that listen
        with the same one receive a part each
    :param receive: is called with each notification's payload, by several threads
    :raises roost.exception.Invalid: without a pool
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        url: str,
        *,
        topic: str,
        pool: str,
        receive: Callable[[HostChangesPayload], object],
    ) -> None:
        if not pool:
            raise exception.Invalid(
                "Name a pool: all listeners without one share a queue, so that each receives only"
                " a part of the changes."
            )
        self._receive = receive
        self._transport = messaging.get_notification_transport(conf, url=url)
        target = messaging.Target(topic=topic)
        self._server = messaging.get_notification_listener(
            self._transport, [target], [self], executor="threading", pool=pool
        )

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()
        self._server.wait()
        self._transport.cleanup()

    def info(
        self,
        context: dict[str, Any],
        publisher: str,
        event: str,
        payload: dict[str, Any],
        metadata: dict[str, Any],
    ) -> None:
        """Take a notification: oslo.messaging calls it."""
        if event == CHANGED:
            self._receive(HostChangesPayload.obj_from_primitive(payload))


class Reporter:
    """Reports a host: soon after a change, otherwise once per interval, and one report at a time.

    Several changes within ``pause`` seconds share a report. After a report that the bus did not
    accept, or that would be refused, the next one, after another ``pause``, has the state of that
    time. The first reports are sent at growing intervals, since one may be cast before any
    scheduler listens. Thread-safe.

    :param report: returns the current report of the host; called for each report that is sent
    :param interval: seconds between two reports when nothing changes
    """

    def __init__(
        self,
        client: CellSchedulerClient,
        *,
        report: Callable[[], HostReport],
        interval: float,
        pause: float = 1.0,
    ) -> None:
        self._client = client
        self._report = report
        self._interval = interval
        self._pause = pause
        self._quiet = pause / 2  # seconds without a change until the next report; grows to interval
        self._pending = threading.Event()
        self._pending.set()
        self._sending = threading.Lock()
        self._tried_at: float | None = None
        self._failure: str | None = None

    def changed(self) -> None:
        """Mark the host as changed since its last report."""
        self._pending.set()

    def tick(self, now: float) -> bool:
        """Send a report if one is due, and return whether one was sent.

        Call it several times per second, or at least every few seconds.

        :param now: seconds on a clock that never goes back
        """
        if not self._sending.acquire(blocking=False):
            return False
        try:
            return self._is_due(now) and self._send(now)
        finally:
            self._sending.release()

    def _is_due(self, now: float) -> bool:
        if self._tried_at is None:
            return True
        since = now - self._tried_at
        return since >= self._quiet or (since >= self._pause and self._pending.is_set())

    def _send(self, now: float) -> bool:
        self._tried_at = now
        self._quiet = min(2 * self._quiet, self._interval)
        self._pending.clear()  # before the report is composed: later changes need another one
        try:
            self._client.update_resource_stats(admin_context(), report=self._report())
        except (exception.Unavailable, exception.Invalid) as error:
            self._keep(error)
            return False
        except Exception:
            self._pending.set()
            raise
        if self._failure is not None:
            LOG.info("this host is reported again")
            self._failure = None
        return True

    def _keep(self, error: exception.RoostError) -> None:
        self._pending.set()
        failure = error.message if isinstance(error, exception.Invalid) else ""
        if failure != self._failure:
            LOG.warning("cannot report this host, will retry: %s", error)
        self._failure = failure


def provider_report(
    name: str,
    *,
    cell_uuid: str,
    inventories: Sequence[ResourceInventory],
    consumers: Mapping[str, Mapping[str, int]],
    reported_at: datetime.datetime,
    providers: Sequence[ResourceProvider] = (),
    of_parts: Mapping[str, Allocations] = MappingProxyType({}),
    traits: Sequence[str] = (),
    labels: Sequence[str] = (),
    availability_zone: str = "nova",
    enabled: bool = True,
) -> HostReport:
    """Return the report of a host that runs no servers: a pool of storage, a set of licences.

    :param cell_uuid: the uuid that all hosts of one service have in common
    :param inventories: what it has
    :param consumers: everything that is there now, by uuid: its amounts by resource class
    :param reported_at: the time by the host's own clock
    :param providers: its parts
    :param of_parts: what consumers have of parts, by their uuid, name of the part and class
    """
    return HostReport.of(
        host=name,
        node=name,
        cell_uuid=cell_uuid,
        availability_zone=availability_zone,
        enabled=enabled,
        up=True,
        hypervisor_type="",
        hypervisor_version=0,
        traits=list(traits),
        labels=list(labels),
        inventories=list(inventories),
        instances=list(consumers),
        holdings={
            uuid: plus(of_host(amounts), of_parts.get(uuid, NOTHING))
            for uuid, amounts in consumers.items()
        },
        providers=list(providers),
        reported_at=reported_at,
    )
