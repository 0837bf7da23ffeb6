"""Gives each operation of this host its turn: its lane, its executor, and the lock of its server.

Before: ``compute/manager.py`` hands over what a message asks for. After: ``build.py`` builds, and
``runner.py`` runs everything else, in a thread of an executor.

A server has three lanes: for its builds, which a delete ends; for changes of its devices, which do
not queue behind an image that may take an hour; and for all else. What needs the guest for itself
holds the server's lock meanwhile.
"""

import contextlib
import dataclasses
import functools
import logging
from collections.abc import Callable, Hashable
from concurrent import futures

from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.compute.leases import Lease
from roost.compute.locks import Locks
from roost.compute.operations import build, delete, runner, snapshot
from roost.compute.operations.build import Build
from roost.compute.operations.operation import HostOperation
from roost.compute.work_queue import Work, WorkQueue
from roost.context import RequestContext
from roost.flow import Flow
from roost.objects import Operation
from roost.operations.kinds import KINDS
from roost.operations.steps import DEVICE, DISK, Kind

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Executors:
    """The executors for each kind of work, so that slow work does not delay fast work.

    :param builds: builds of servers
    :param ends: deletes, and refreshes of ports
    :param power: stops, starts and the like, which guests may delay, and the short steps of moves
    :param images: rebuilds, images and the like, which read or write whole disks
    :param copies: the steps of moves that copy disks from host to host
    :param devices: attaching and detaching, which wait for other services
    """

    builds: futures.Executor
    ends: futures.Executor
    power: futures.Executor
    images: futures.Executor
    copies: futures.Executor
    devices: futures.Executor

    def of(self, kind: Kind, step: str) -> futures.Executor:
        """Return the executor for a step of an operation."""
        if kind.step(step).copies:
            return self.copies
        if kind.deletes:
            return self.ends
        if kind.lock == DEVICE:
            return self.devices
        return self.images if kind.uses_images else self.power


class OperationQueue:
    """Queues operations for the executors.

    :param flow: the steps of a build
    :ivar locks: held, by instance uuid, by what works on a guest
    """

    def __init__(
        self,
        host: Host,
        *,
        executors: Executors,
        flow: Flow[Build],
    ) -> None:
        self._host = host
        self._executors = executors
        self._flow = flow
        self.locks = Locks()
        self.queue = WorkQueue()

    def build(self, wanted: Build, *, ended: Callable[[str], None]) -> None:
        """Queue a build, unless it is queued or running already.

        :param ended: called with the uuid of its instance when it has ended or was dropped
        """
        tracker, uuid = self._host.tracker, wanted.uuid

        def leave() -> None:
            tracker.end_operation(uuid)
            ended(uuid)

        work = Work(
            do=functools.partial(self._build, wanted),
            executor=self._executors.builds,
            key=wanted.key,
            once=True,
            lease=wanted.lease,
            stop=wanted.stop,
            hand_back=functools.partial(build.hand_back, wanted, reschedulable=True),
            entered=functools.partial(tracker.begin_operation, uuid),
            left=leave,
        )
        self.queue.put(_builds(uuid), work)

    def is_building(self, instance_uuid: str) -> bool:
        """Return whether a build of an instance is under way or queued."""
        return self.queue.has(_builds(instance_uuid))

    def run(self, context: RequestContext, operation: Operation, password: str | None) -> None:
        """Queue an operation on an instance; refuse one of a kind that this host does not know."""
        kind = KINDS.get(operation.kind)
        if kind is None:
            refuse = functools.partial(runner.refuse, self._host, context, operation)
            self.later(operation.instance_uuid, ("refuse", operation.uuid), refuse)
            return
        uuid = operation.instance_uuid
        lease = Lease(self._host.leases, uuid, operation.uuid)
        if kind.deletes:  # it goes ahead of what is queued, and late messages may follow
            self._host.leases.doubt(uuid)
        lease.take(operation)
        wanted = HostOperation(
            host=self._host,
            context=context,
            kind=kind,
            row=operation,
            lease=lease,
            timeline=InstanceEvents(self._host.name),
            password=password,
        )
        work = Work(
            do=functools.partial(self._delete if kind.deletes else self._carry_out, wanted),
            executor=self._executors.of(kind, operation.step),
            key=(operation.uuid, operation.step, password is not None),
            lease=lease,
        )
        # Other work would do nothing for a server that is being deleted.
        lane = f"{uuid} devices" if kind.lock == DEVICE else uuid
        self.queue.put(lane, work, ahead=kind.deletes)

    def later(self, instance_uuid: str, key: Hashable, do: Callable[[], object]) -> None:
        """Queue a refresh of an instance under a key that identifies it."""
        self.queue.put(instance_uuid, Work(do=do, executor=self._executors.ends, key=key))

    def _build(self, wanted: Build) -> None:
        with self.locks.hold(wanted.uuid):
            build.carry_out(wanted, self._flow)

    def _carry_out(self, wanted: HostOperation) -> None:
        shares = wanted.kind.lock == DISK
        with contextlib.nullcontext() if shares else self.locks.hold(wanted.uuid):
            if not runner.run(wanted):
                snapshot.forget(wanted)

    def _delete(self, wanted: HostOperation) -> None:
        if wanted.take_up():
            self.queue.cancel(_builds(wanted.uuid))  # it has the lock
            with self.locks.hold(wanted.uuid):
                runner.run(wanted, is_begun=True)
        elif delete.has_left(wanted):
            with self.locks.hold(wanted.uuid):
                delete.clear(wanted)


def _builds(instance_uuid: str) -> str:
    return f"{instance_uuid} builds"
