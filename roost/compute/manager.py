"""What a compute host does: the contents of this room, served as :mod:`roost.rpc.compute`."""

import time
from concurrent import futures
from typing import Final, Protocol

from roost.compute import build, delete
from roost.compute.build_queue import BuildQueue
from roost.compute.host import Host
from roost.compute.locks import Locks
from roost.context import RequestContext, admin_context
from roost.flow import Flow
from roost.objects import Instance, RequestSpec

BINARY: Final = "roost-compute"


class Reporter(Protocol):
    """What :class:`roost.scheduler.client.Reporter` is to this host."""

    def tick(self, now: float) -> object:
        """Report the host to the scheduler, if it is time to."""


class ComputeManager:
    """Serves one host.

    :param executor: runs the builds; its size is how many at once
    :param flow: the steps of a build; tests hand in one that fails
    """

    def __init__(
        self,
        host: Host,
        *,
        availability_zone: str,
        reporter: Reporter,
        executor: futures.Executor,
        flow: Flow[build.Build] | None = None,
    ) -> None:
        self._host = host
        self._availability_zone = availability_zone
        self._reporter = reporter
        self._locks = Locks()
        self._flow = flow or build.build_flow()
        self._builds = BuildQueue(
            executor,
            locks=self._locks,
            run=lambda work: build.carry_out(work, self._flow),
            give_back=lambda work, why: build.hand_back(work, why, reschedulable=True),
        )

    def start(self) -> None:
        """Ask the cell where this host is and what it holds; once, before it serves.

        :raises roost.exception.Unavailable: when the cell does not answer (yet): call it again
        """
        self._host.stopping.clear()
        self.heartbeat()
        instances = self._host.conductor.list_instances(admin_context(), host=self._host.name)
        self._host.tracker.fill(instances)
        self._builds.open()

    def heartbeat(self) -> None:
        """Tell the cell that this host is alive; call it again and again."""
        answer = self._host.conductor.report_service(
            admin_context(),
            host=self._host.name,
            binary=BINARY,
            availability_zone=self._availability_zone,
        )
        self._host.tracker.locate(cell_uuid=answer["cell_uuid"], enabled=not answer["disabled"])

    def tick(self) -> None:
        """Report to the scheduler what has changed; call it about every second."""
        self._reporter.tick(time.monotonic())

    def drain(self, timeout: float) -> bool:
        """Finish the builds under way or give them back; tell whether all came to an end.

        :param timeout: seconds that a build under way gets to finish
        """
        self._host.stopping.set()
        return self._builds.drain(timeout)

    # what follows is served

    def build_and_run_instance(
        self, context: RequestContext, *, instance: Instance, request_spec: RequestSpec
    ) -> None:
        self._builds.put(build.Build(self._host, context, instance))

    def terminate_instance(self, context: RequestContext, *, instance_uuid: str) -> None:
        self._builds.cancel(instance_uuid)
        with self._locks.hold(instance_uuid):
            delete.terminate(self._host, context=context, instance_uuid=instance_uuid)

    def list_guests(self, context: RequestContext) -> list[str]:
        return self._host.virt.list_guests()

    def set_enabled(self, context: RequestContext, *, enabled: bool) -> None:
        self._host.tracker.set_enabled(enabled)
