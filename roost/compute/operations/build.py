"""The build of an instance on this host, from the conductor's cast to a running guest.

Before: a conductor wrote the operation, and the instance's row, for this host and cast. After: the
row is ACTIVE; or a conductor casts to another host (``conductor/cell/operations/builds.py``); or
the row is ERROR.

Failures are of three kinds. A *reschedulable* one (or any unexpected one) is undone, but the
networks stay allocated, because the ports move along; only what is bound to this host is freed. A
*final* one is undone, and the conductor frees the networks, too. When the conductor answers that
the build is *no longer wanted*, because a user deleted the instance or another host has it, this
host undoes it without a report: the conductor does the rest. It does the same when the *lease is
lost*: the cell was unreachable for too long, and may have given the build to another host.
"""

import dataclasses
import functools
import logging
import pathlib
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from roost import exception, states
from roost.compute import image_cache
from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.compute.leases import Lease, LostLease
from roost.compute.network.driver import AwaitsPlugging
from roost.compute.virt.driver import GuestResources, Kernel, WatchesSteps
from roost.context import RequestContext
from roost.flow import Flow, Step
from roost.objects import Instance, NetworkInfo, Operation, Selection
from roost.objects.host import HERE
from roost.operations.advance import Outcome

LOG = logging.getLogger(__name__)
T = TypeVar("T")
BUILT: Final = (*states.WITH_GUEST, states.ERROR)  # any vm_state after a finished build


class NoLongerWanted(exception.Conflict):
    """The instance was deleted or moved; not a failure."""


class AnnouncedBefore(exception.Conflict):
    """The guest exists and was announced before: its row is older than the guest."""


@dataclasses.dataclass(eq=False)
class Build:
    """One attempt to build one instance on this host.

    ``selection`` is how the scheduler chose this host, if the message has it. ``wanted`` becomes
    False when the instance is deleted or on another host: the build must end. ``still`` becomes
    True when the guest is stopped until the cell answers whether it belongs here. ``announced``:
    the cell may have accepted the guest.
    """

    host: Host
    context: RequestContext
    operation: Operation
    instance: Instance
    selection: Selection | None = None
    begun: bool = False
    wanted: bool = True
    still: bool = False
    announced: bool = False
    stopped: threading.Event = dataclasses.field(default_factory=threading.Event)
    image_path: pathlib.Path | None = None
    kernel: Kernel | None = None
    power_state: int = states.RUNNING
    network_info: NetworkInfo = dataclasses.field(default_factory=lambda: NetworkInfo.of(vifs=[]))

    def __post_init__(self) -> None:
        self.timeline = InstanceEvents(self.host.name)
        self.lease = Lease(
            self.host.leases, self.uuid, str(self.operation.uuid), on_loss=self.fence
        )

    @property
    def uuid(self) -> str:
        return str(self.instance.uuid)

    @property
    def key(self) -> tuple[str, int]:
        """The identity of this attempt: instance UUID and attempt number."""
        return self.uuid, self.instance.attempt

    def stop(self, *, wanted: bool) -> None:
        """End the build before its next step.

        :param wanted: whether another host is to continue it
        """
        self.wanted = self.wanted and wanted
        self.stopped.set()

    def fence(self, *, gone: bool) -> None:
        """End the build before its next step, because its lease is lost.

        One that is still queued asks for its lease when its turn comes. One that is announced may
        be over because it has ended well, and only the answer was lost: the next one says so.
        """
        if gone:
            if not self.announced:
                self.stop(wanted=False)
        elif self.begun and not self.still:
            self.stopped.set()

    def check_stopped(self) -> None:
        """Raise if the build must end, also when its lease has ended and no thread noticed yet."""
        if not self.wanted:
            raise NoLongerWanted("it is being deleted, or is elsewhere")
        self.lease.check()
        if self.stopped.is_set():
            raise exception.BuildFailed("The host is stopping.")

    def unwanted(self, why: str) -> NoLongerWanted:
        """Note that this build is no longer wanted, and return the exception to raise."""
        self.wanted = False
        return NoLongerWanted(why)

    def __str__(self) -> str:
        return f"[instance: {self.uuid}] build (attempt {self.instance.attempt})"


Do = Callable[[Build], object]


def build_flow(run: Callable[[Do, Build], object] = lambda do, build: do(build)) -> Flow[Build]:
    """Return the steps of a build, in order, with their undos."""
    return Flow(
        "build",
        lambda: [
            Step(begin),
            Step(claim, undo=release_claim),
            Step(network, undo=leave_network),
            Step(image),  # stays in the cache for later builds
            Step(spawn, undo=destroy),
            Step(announce),  # after this the guest is the user's
        ],
        run,
    )


def carry_out(build: Build, flow: Flow[Build]) -> None:
    """Run a build to its end, and report a failure to the conductor."""
    try:
        flow(build)
    except (NoLongerWanted, LostLease) as error:
        LOG.info("%s ends on %s without a report: %s", build, build.host.name, error.message)
        build.host.tracker.expect(build.uuid)
    except AnnouncedBefore:
        adopt(build)
    except exception.BuildFailed as error:
        LOG.warning("%s failed on %s: %s", build, build.host.name, error.message)
        _count_failure(build, reschedulable=error.reschedulable)
        hand_back(
            build, error.message, reschedulable=error.reschedulable, for_user=error.user_reason
        )
    except Exception as error:
        LOG.exception("%s failed on %s", build, build.host.name)
        _count_failure(build, reschedulable=True)
        hand_back(build, exception.details(error), reschedulable=True)
    else:
        build.host.tracker.built(build.uuid)
    finally:
        build.host.images.release(build)


def hand_back(build: Build, why: str, *, reschedulable: bool, for_user: str | None = None) -> bool:
    """Ask the conductor to build the instance on another host, or to end it in ERROR.

    :param for_user: the fault message if there is no other host; None: that the build failed
    :returns: False when no conductor answers: the cell acts when the lease ends
    """
    build.host.leases.leave(build.lease)
    build.host.tracker.expect(build.uuid)  # until its row was read again
    said = {"reason": for_user, "details": why} if reschedulable else {"reason": why}
    outcome = Outcome.FAILED if reschedulable else Outcome.SPOILT
    send = functools.partial(_report, build, outcome, power_state=None, **said)
    try:
        build.host.patience.retry(f"{build}: hand back", send, stopping=build.host.stopping)
    except (exception.Conflict, exception.NotFound) as error:
        LOG.info("%s is not wanted here any more: %s", build, error.message)
    except exception.Unavailable as error:
        LOG.warning("%s could not be handed back: %s", build, error.message)
        return False
    except Exception:
        LOG.exception("%s could not be handed back", build)
        return False
    return True


def _report(build: Build, outcome: Outcome, **report: Any) -> None:
    build.host.conductor.end_operation(
        build.context,
        operation=build.operation,
        outcome=outcome,
        events=list(build.timeline.events),
        **report,
    )


def _count_failure(build: Build, *, reschedulable: bool) -> None:
    """Count a failure of this host, unless the failure is final or the host is stopping."""
    if reschedulable and not build.stopped.is_set():
        build.host.tracker.build_failed()


def _step(do: Do) -> Do:
    """Wrap a step: check first whether the build may continue, and time it as an event."""

    @functools.wraps(do)
    def step(build: Build) -> None:
        build.check_stopped()
        with build.timeline.step(f"compute.{do.__name__}"):
            if isinstance(build.host.virt, WatchesSteps):
                build.host.virt.before_step(do.__name__)
            do(build)

    return step


@_step
def begin(build: Build) -> None:
    """Begin the build, if the instance is still wanted here."""
    if build.begun:
        return
    build.begun = build.lease.is_given
    if not build.begun:
        _retry(build, "beginning", functools.partial(_begin, build))
    if not build.begun:
        raise build.unwanted("it was deleted, or moved to another host")
    if build.host.virt.exists(build.uuid):
        _destroy_leftover(build)


def _destroy_leftover(build: Build) -> None:
    """Destroy the guest of an earlier attempt.

    :raises AnnouncedBefore: when the cell once accepted that guest, whatever the row says now
    """
    found = build.host.virt.describe(build.uuid)
    if found.announced:
        build.power_state = found.power_state
        raise AnnouncedBefore("its guest was announced before")
    LOG.warning("%s: destroying the guest of an earlier attempt", build)
    build.host.destroy(build.uuid)


def adopt(build: Build) -> None:
    """Update the row to match the guest: the row was restored from a backup.

    The instance gets its claim and, where the row names none, ports. Audits repair what fails here;
    a build that is not announced in time is begun again and adopted again.
    """
    LOG.warning("%s: its guest was announced before and is kept: its row is older", build)
    build.network_info = build.instance.network_info or build.network_info
    for part in (claim, network):
        try:
            part(build)
        except exception.RoostError as error:
            LOG.warning("%s: adopted without its %s: %s", build, part.__name__, error.message)
    try:
        announce(build)
    except exception.RoostError as error:
        LOG.warning("%s: not adopted now: %s", build, error.message)
    else:
        build.host.tracker.built(build.uuid)


def _begin(build: Build) -> None:
    since = build.host.leases.clock()
    found = build.host.conductor.begin_operation(build.context, operation=build.operation)
    if found is not None:
        build.lease.resume()  # it may have been over while no conductor answered
        build.lease.hold(since=since)
    build.begun = found is not None


@_step
def claim(build: Build) -> None:
    try:
        build.host.tracker.claim(build.instance, build.selection)
    except exception.NoCapacity as error:
        raise exception.BuildFailed(error.message, **error.details) from error


def release_claim(build: Build) -> None:
    build.host.tracker.release(build.uuid)


@_step
def network(build: Build) -> None:
    if not build.instance.networks:
        return
    allocate = functools.partial(build.host.allocate_networks, build.context, build.instance)
    try:
        build.network_info = _retry(build, "networks", allocate)
    except exception.Conflict as error:
        raise build.unwanted(error.message) from error


def _retry(build: Build, what: str, send: Callable[[], T]) -> T:
    """Retry until there is an answer or the build must end: a conductor may die during a call."""
    try:
        return build.host.patience.retry(f"{build}: {what}", send, stopping=build.stopped)
    except exception.Unavailable:
        build.check_stopped()
        raise


def leave_network(build: Build) -> None:
    """Free interfaces that cannot move to another host; the others stay allocated."""
    build.host.unplug(build.uuid)
    is_ours = build.wanted and not build.lease.is_over()
    if build.host.networks.host_bound and build.instance.networks and is_ours:
        build.host.networks.free(build.context, build.instance)


@_step
def image(build: Build) -> None:
    if build.instance.image is None:
        return
    try:
        how: dict[str, Any] = {
            "stopping": build.stopped,
            "trusted": list(build.instance.trusted_certs),
            "user": build,
        }
        images, wanted = build.host.images, build.instance.image
        build.image_path = images.ensure(build.context, wanted, **how)
        build.kernel = image_cache.fetch(images, build.context, wanted, **how)
    except exception.BuildFailed:
        build.check_stopped()
        raise


@_step
def spawn(build: Build) -> None:
    with build.host.drives.made(build.instance, build.network_info) as drive:
        build.host.virt.spawn(
            build.context,
            build.instance,
            image_path=build.image_path,
            network_info=build.network_info,
            resources=GuestResources.of(build.selection or build.instance),
            config_drive=drive,
            kernel=build.kernel,
        )
    _await_plugged(build)


def _await_plugged(build: Build) -> None:
    """Wait until the interfaces work, if the network driver needs that."""
    networks = build.host.networks
    if isinstance(networks, AwaitsPlugging) and build.network_info.vifs:
        build.network_info = networks.await_plugged(
            build.instance, build.network_info, stopped=build.stopped
        )
        build.check_stopped()


def destroy(build: Build) -> None:
    build.host.destroy(build.uuid)


@_step
def announce(build: Build) -> None:
    """Make the instance ACTIVE.

    Without an answer the outcome is unknown, so the update is sent again. If the lease ends
    meanwhile, another host may have built the instance. If time runs out in any other way, the
    guest is left running, because the instance may be ACTIVE. A delete ends the waiting, too.
    """
    build.announced = True
    send = functools.partial(_send_active, build)
    try:
        _retry_outcome(build, send)
    except exception.Unavailable as error:
        if not build.lease.is_over():
            _leave(build, error)
            return
        if not _wait_for_verdict(build, send):
            return
    LOG.info("%s is done on %s", build, build.host.name)
    build.host.note_announced(build.uuid)


def _retry_outcome(build: Build, send: Callable[[], None]) -> None:
    try:
        build.host.patience.retry(f"{build}: announce", send, stopping=build.stopped)
    except exception.Unavailable as error:
        if not build.wanted:
            raise NoLongerWanted("it is being deleted, or is elsewhere") from error
        raise


def _leave(build: Build, error: exception.RoostError) -> None:
    LOG.warning(
        "%s could not be reported to its cell by %s; the guest stays as it is: %s",
        build,
        build.host.name,
        error.message,
    )


def _wait_for_verdict(build: Build, send: Callable[[], None]) -> bool:
    """Keep the guest stopped until the cell answers whether it belongs to this host.

    :returns: False when the daemon is stopping before there is an answer
    """
    LOG.warning(
        "%s: instance may be on another host; its guest is stopped until the cell answers", build
    )
    build.still = True
    build.stopped.clear()
    if not build.wanted or build.host.stopping.is_set():  # set before clear(): set it again
        build.stopped.set()
    _switch(build, build.host.virt.power_off)
    while True:
        try:
            _retry_outcome(build, send)
        except exception.Unavailable as error:
            if build.host.stopping.is_set():
                _leave(build, error)
                return False
        else:
            _switch(build, build.host.virt.power_on)
            return True


def _switch(build: Build, switch: Callable[[str], None]) -> None:
    """Stop or start the guest; a failure is no reason to destroy it."""
    try:
        switch(build.uuid)
    except Exception:
        LOG.exception("%s: its guest could not be stopped or started", build)


def _send_active(build: Build) -> None:
    """Send the report once; one that was accepted before counts as done.

    :raises roost.exception.Unavailable: also when the cell-conductor fails unexpectedly, because
        the outcome is unknown
    """
    try:
        _report(
            build,
            Outcome.DONE,
            power_state=build.power_state,
            network_info=build.network_info,
            config_drive=build.host.drives.wanted(build.instance),
        )
    except exception.Conflict:
        _check_active(build)
    except exception.NotFound as error:
        raise build.unwanted(error.message) from error
    except exception.RoostError:
        raise
    except Exception as error:
        raise exception.Unavailable(f"the cell-conductor failed: {error}") from error


def _check_active(build: Build) -> None:
    """Check whether this attempt has become a server before."""
    (found,) = build.host.conductor.locate_instances(
        build.context, host=build.host.name, instance_uuids=[build.uuid]
    )
    # A rebuild that its user has asked for since is a later attempt; it waits until this has ended.
    is_this = found.presence == HERE and found.attempt >= build.instance.attempt
    if not (is_this and found.vm_state in BUILT):
        raise build.unwanted("it was deleted, or is elsewhere")
