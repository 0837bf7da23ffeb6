"""The manager of a compute host: serves the RPC interface :mod:`roost.rpc.compute`."""

import logging
import time
from typing import Any, Final, Protocol

from roost.compute import external_events
from roost.compute.external_events import NetworkHealer
from roost.compute.host import Host
from roost.compute.host_identity import HostIdentity
from roost.compute.network.driver import DescribesPorts, FiltersGuests
from roost.compute.operations import build, consoles
from roost.compute.operations.build import Build
from roost.compute.operations.consoles import ConsoleListener
from roost.compute.operations.operation_queue import Executors, OperationQueue
from roost.compute.reconcile import Reconciler
from roost.compute.virt.driver import ReportsGuestEvents, TidiesUp
from roost.context import RequestContext, admin_context
from roost.flow import Flow
from roost.objects import (
    ExternalEvent,
    Instance,
    Operation,
    RequestSpec,
    Selection,
)
from roost.rpc.compute import Compute
from roost.servicegroup.driver import ServiceGroup

LOG = logging.getLogger(__name__)
BINARY: Final = "roost-compute"
_AT_ONCE: Final = 200  # instances that one request for rows names


class ReportsHost(Protocol):
    """The interface of :class:`roost.scheduler.client.Reporter`."""

    def tick(self, now: float) -> object:
        """Report the host to the scheduler, if a report is due."""


class ComputeManager:
    """Serves one host.

    :param group: the service group in which this daemon reports its liveness
    :param executors: run the work; their sizes limit the concurrency
    :param flow: the steps of a build; tests pass one that fails
    :param door: the listener for consoles; None: one on loopback
    :param resumes: whether guests that ran are started again after a reboot of the node
    :param state: the identity of the state path; None: any
    """

    def __init__(
        self,
        host: Host,
        *,
        availability_zone: str,
        reporter: ReportsHost,
        group: ServiceGroup,
        executors: Executors,
        flow: Flow[Build] | None = None,
        door: ConsoleListener | None = None,
        resumes: bool = False,
        state: HostIdentity | None = None,
    ) -> None:
        self._host = host
        self._availability_zone = availability_zone
        self._state = state
        self._reporter = reporter
        self._group = group
        self._cell_uuid: str | None = None
        self._door = door or ConsoleListener(host.virt)
        self._operations = OperationQueue(
            host,
            executors=executors,
            flow=flow or build.build_flow(),
        )
        self._queue = self._operations.queue
        locks, is_building = self._operations.locks, self._operations.is_building
        self._reconciler = Reconciler(host, locks=locks, is_building=is_building, resumes=resumes)
        self._healer = NetworkHealer(host, locks=locks, is_building=is_building)
        self._news = external_events.News(
            host,
            locks=locks,
            is_building=is_building,
            look=self.reconcile,
            later=self._operations.later,
        )

    def start(self) -> None:
        """Get this host's cell and instances from the cell-conductor, and reconcile the guests.

        Call it once, before serving.

        :raises roost.exception.Unavailable: when the cell does not answer (yet): call it again
        """
        self._host.stopping.clear()
        self.heartbeat()
        self._host.leases.start()
        instances = self._host.conductor.list_instances(admin_context(), host=self._host.name)
        self._host.tracker.fill(instances)
        self._healer.fill(one for one in instances if one.host == self._host.name)
        self._host.drives.clear()
        self._host.images.clear()
        self._listen()
        self.reconcile()
        self._queue.open()

    def _listen(self) -> None:
        if isinstance(self._host.virt, ReportsGuestEvents):
            self._host.virt.listen(self._reconciler.hear)

    @property
    def hears_of_guests(self) -> bool:
        """Whether the driver reports guest events, so that :meth:`follow` is needed."""
        return isinstance(self._host.virt, ReportsGuestEvents)

    def collector_intervals(self) -> dict[str, float]:
        """Return how often each collector is to be asked, in seconds."""
        return self._host.tracker.collectors.intervals()

    def ask_collectors(self, *names: str) -> None:
        """Ask these collectors, or all, what the host has; call it at start and periodically."""
        self._host.tracker.ask_collectors(names or self.collector_intervals())

    def heartbeat(self) -> None:
        """Report to the cell that this host is alive; call it periodically.

        :raises roost.exception.Conflict: when the cell knows another daemon of this name: this one
            must exit
        """
        since = self._host.leases.clock()
        answer = self._host.conductor.report_service(
            admin_context(),
            host=self._host.name,
            binary=BINARY,
            availability_zone=self._availability_zone,
            version=Compute.version,
            **({} if self._state is None else {"state_id": self._state.state_id}),
        )
        self._host.leases.note(answer, since=since)
        self._cell_uuid = answer["cell_uuid"]
        tracker = self._host.tracker
        tracker.locate(cell_uuid=answer["cell_uuid"])
        tracker.set_enabled(not answer["disabled"], version=answer["disabled_version"])
        tracker.set_read_parts(answer.get("read_parts"))

    def beat(self) -> None:
        """Report liveness to the service group of the cell; call it periodically once started.

        Separate from the heartbeat, which blocks while no conductor answers.
        """
        if self._cell_uuid is not None:
            self._group.beat(self._cell_uuid)

    def tick(self) -> None:
        """Report changes to the scheduler; call it about every second."""
        self._reporter.tick(time.monotonic())

    def renew_leases(self) -> None:
        """Renew the leases of all work here; call it several times in a lease.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        self._host.leases.renew()

    def renewal_pause(self) -> float:
        """Return the seconds between two renewals, which the cell determines."""
        return self._host.leases.renewal_pause()

    def fence(self) -> None:
        """Stop work whose lease was not renewed in time; call it often, in a thread of its own."""
        self._host.leases.fence()

    def fencing_pause(self) -> float:
        """Return the seconds between two calls of :meth:`fence`."""
        return self._host.leases.fencing_pause()

    def settle(self) -> None:
        """Settle instances that wait for a message by reading their rows; call it periodically."""
        waiting = sorted(self._host.tracker.unsettled())
        for start in range(0, len(waiting), _AT_ONCE):
            some = waiting[start : start + _AT_ONCE]
            instances = self._host.conductor.list_instances(
                admin_context(), host=self._host.name, instance_uuids=some
            )
            self._host.tracker.settle(some, instances)

    def reconcile(self) -> None:
        """Correct differences between guests and their rows; call it periodically.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        self._reconciler.run()

    def follow(self) -> None:
        """Reconcile guests that have changed by themselves; call it several times a second.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        self._reconciler.follow()

    def watch(self) -> None:
        """Reconcile guests whose builds a daemon of this host left unfinished when it died.

        Call it every few seconds; without such guests it does nothing.

        :raises roost.exception.Unavailable: when the cell does not answer
        """
        self._reconciler.watch()

    @property
    def has_ports_elsewhere(self) -> bool:
        """Whether an external service has the ports, so that :meth:`heal_networks` is needed."""
        return isinstance(self._host.networks, DescribesPorts)

    def heal_networks(self) -> None:
        """Update rows after changes of ports whose event was lost; call it periodically.

        :raises roost.exception.Unavailable: when the network service does not answer
        """
        self._healer.run()

    def tidy(self) -> None:
        """Remove unused cached files; call it periodically."""
        self._host.images.tidy()
        if isinstance(self._host.virt, TidiesUp):
            self._host.virt.tidy()

    def close(self) -> None:
        """Close the console listener."""
        self._door.close()

    def drain(self, timeout: float) -> bool:
        """Finish work under way, or hand it back; return whether all of it ended.

        :param timeout: seconds for work to finish
        """
        self._host.stopping.set()
        return self._queue.drain(timeout)

    # RPC methods

    def build_and_run_instance(
        self,
        context: RequestContext,
        *,
        operation: Operation,
        instance: Instance,
        request_spec: RequestSpec,
        selection: Selection | None = None,
    ) -> None:
        wanted = Build(self._host, context, operation, instance, selection)
        wanted.lease.take(operation)
        self._operations.build(wanted, ended=self._news.build_ended)

    def run(
        self, context: RequestContext, *, operation: Operation, password: str | None = None
    ) -> None:
        self._operations.run(context, operation, password)

    def external_instance_events(
        self, context: RequestContext, *, events: list[ExternalEvent]
    ) -> None:
        self._news.take(context, events)

    def get_console_output(
        self, context: RequestContext, *, instance_uuid: str, lines: int | None = None
    ) -> str:
        return consoles.tail(self._host.virt, instance_uuid, lines=lines)

    def open_console(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        kind: str,
        token_digest: str,
        seconds: int,
    ) -> dict[str, Any]:
        return consoles.let_in(
            self._host.virt,
            self._door,
            instance_uuid,
            kind=kind,
            token_digest=token_digest,
            seconds=seconds,
        )

    def get_diagnostics(self, context: RequestContext, *, instance_uuid: str) -> dict[str, Any]:
        return consoles.measure(self._host.virt, instance_uuid)

    def refresh_security_groups(self, context: RequestContext, *, project_id: str) -> None:
        if isinstance(self._host.networks, FiltersGuests):
            self._host.networks.refresh_groups(context, project_id)

    def list_guests(self, context: RequestContext) -> list[str]:
        return self._host.virt.list_guests()

    def reconcile_guests(self, context: RequestContext) -> None:
        self._reconciler.run()
