"""From an instance handed to this host to a running guest.

Before: a conductor created or moved the instance's row here and cast. After: the row says ACTIVE;
or another host of the cell is asked (``conductor/reschedule.py``); or the row says ERROR.

Failures are of three kinds. A *reschedulable* one (and everything unforeseen) is undone, but the
networks are kept, because the ports move along; only what is bound to this host is freed. A *final*
one is undone, and the conductor takes the networks as well. When the conductor says that the build
is *no longer wanted*, because somebody deleted the instance or it is elsewhere by now, it is undone
without a word: whoever decided that looks after the rest.
"""

import dataclasses
import datetime
import functools
import logging
import pathlib
import threading
from collections.abc import Callable
from typing import Any

from roost import exception, states
from roost.compute.host import Host
from roost.compute.timeline import Timeline, reason
from roost.compute.virt.driver import WatchesSteps
from roost.context import RequestContext
from roost.flow import Flow, Step
from roost.objects import Instance, NetworkInfo

LOG = logging.getLogger(__name__)


class NoLongerWanted(exception.Conflict):
    """The instance was deleted or moved; not a failure."""


@dataclasses.dataclass(eq=False)
class Build:
    """One attempt to build one instance on this host.

    ``wanted`` turns False when the instance is deleted or elsewhere, so that nobody is to go on.
    """

    host: Host
    context: RequestContext
    instance: Instance
    begun: bool = False
    wanted: bool = True
    stopped: threading.Event = dataclasses.field(default_factory=threading.Event)
    image_path: pathlib.Path | None = None
    network_info: NetworkInfo = dataclasses.field(default_factory=lambda: NetworkInfo.of(vifs=[]))

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.host.name)

    @property
    def uuid(self) -> str:
        return str(self.instance.uuid)

    @property
    def key(self) -> tuple[str, int]:
        """What tells this attempt from all others."""
        return self.uuid, self.instance.attempt

    def stop(self, *, wanted: bool) -> None:
        """Let the build end before its next step.

        :param wanted: whether another host is to go on with it
        """
        self.wanted = self.wanted and wanted
        self.stopped.set()

    def check_stopped(self) -> None:
        """Raise if the build was told to end."""
        if not self.wanted:
            raise NoLongerWanted("it is being deleted")
        if self.stopped.is_set():
            raise exception.BuildFailed("The host is stopping.")

    def unwanted(self, why: str) -> NoLongerWanted:
        """Note that nobody wants this build any more, and return what to raise."""
        self.wanted = False
        return NoLongerWanted(why)

    def __str__(self) -> str:
        return f"instance {self.uuid} (attempt {self.instance.attempt})"


Do = Callable[[Build], None]


def build_flow(run: Callable[[Do, Build], None] = lambda do, build: do(build)) -> Flow[Build]:
    """Return the steps of a build, in order, with their undos."""
    return Flow(
        "build",
        [
            Step(begin),
            Step(claim, undo=release_claim),
            Step(network, undo=free_host_bound_network),
            Step(image),  # stays in the cache, for the next one
            Step(spawn, undo=destroy),
            Step(announce),  # from here on the user owns it
        ],
        run,
    )


def carry_out(build: Build, flow: Flow[Build]) -> None:
    """Run a build to its end, and tell the conductor when it failed."""
    try:
        flow(build)
    except NoLongerWanted as error:
        LOG.info("%s is no longer wanted on %s: %s", build, build.host.name, error.message)
    except exception.BuildFailed as error:
        LOG.warning("%s failed on %s: %s", build, build.host.name, error.message)
        hand_back(build, error.message, reschedulable=error.reschedulable)
    except Exception as error:
        LOG.exception("%s failed on %s", build, build.host.name)
        hand_back(build, reason(error), reschedulable=True)


def hand_back(build: Build, why: str, *, reschedulable: bool) -> None:
    """Ask the conductor to build the instance elsewhere, or else to give it up."""
    conductor = build.host.conductor
    tell = conductor.build_instances if reschedulable else conductor.abandon_build
    send = functools.partial(
        tell,
        build.context,
        instance_uuid=build.uuid,
        host=build.host.name,
        attempt=build.instance.attempt,
        reason=why,
        events=build.timeline.events,
    )
    try:
        build.host.patience.insist(f"giving back {build}", send, stopping=build.host.stopping)
    except exception.Unavailable as error:
        LOG.error("%s could not be given back: %s", build, error.message)  # noqa: TRY400


def _step(do: Do) -> Do:
    """Before a step: is the build to go on? And each is timed, for the user to see."""

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
    """Take the build up, if the instance is still wanted here; done once per attempt."""
    if build.begun:
        return
    build.begun = build.host.conductor.begin_build(
        build.context,
        instance_uuid=build.uuid,
        host=build.host.name,
        attempt=build.instance.attempt,
    )
    if not build.begun:
        raise build.unwanted("it was deleted, moved, or begun before")
    if build.host.virt.exists(build.uuid):
        LOG.warning("%s: a guest of an earlier attempt is in the way, destroying it", build)
        build.host.virt.destroy(build.uuid)


@_step
def claim(build: Build) -> None:
    try:
        build.host.tracker.claim(build.instance)
    except exception.NoCapacity as error:
        raise exception.BuildFailed(error.message, **error.details) from error


def release_claim(build: Build) -> None:
    build.host.tracker.release(build.uuid)


@_step
def network(build: Build) -> None:
    if not build.instance.networks:
        return
    try:
        build.network_info = build.host.networks.allocate(build.context, build.instance)
    except exception.Conflict as error:
        raise build.unwanted(error.message) from error


def free_host_bound_network(build: Build) -> None:
    """Free what cannot follow to another host; all else is kept for it."""
    if build.host.networks.host_bound and build.instance.networks and build.wanted:
        build.host.networks.free(build.context, build.instance)


@_step
def image(build: Build) -> None:
    if build.instance.image is not None:
        build.image_path = build.host.images.ensure(build.instance.image)


@_step
def spawn(build: Build) -> None:
    build.host.virt.spawn(
        build.context,
        build.instance,
        image_path=build.image_path,
        network_info=build.network_info,
    )


def destroy(build: Build) -> None:
    build.host.virt.destroy(build.uuid)


@_step
def announce(build: Build) -> None:
    """Make the instance ACTIVE.

    Without an answer nobody knows whether it is: the update is sent again, and if time runs out the
    guest is left running, because it may be somebody's server. A delete settles it, too.
    """
    send = functools.partial(_send_active, build, _active(build))
    try:
        build.host.patience.insist(f"announcing {build}", send, stopping=build.stopped)
    except exception.Unavailable as error:
        if not build.wanted:
            raise NoLongerWanted("it is being deleted") from error
        LOG.error(  # noqa: TRY400 - an outage, not an accident
            "%s runs on %s, but its cell could not be told, and the guest is left as it is: %s",
            build,
            build.host.name,
            error.message,
        )


def _active(build: Build) -> dict[str, Any]:
    return {
        "vm_state": states.ACTIVE,
        "task_state": None,
        "power_state": states.RUNNING,
        "launched_at": datetime.datetime.now(datetime.UTC).isoformat(),
        "network_info": build.network_info,
    }


def _send_active(build: Build, changes: dict[str, Any]) -> None:
    """Send the update once; one that had arrived before counts as done."""
    try:
        _update(build, changes, expected={"task_state": states.SPAWNING})
    except exception.Conflict:
        _check_active(build)
    except exception.NotFound as error:
        raise build.unwanted(error.message) from error


def _check_active(build: Build) -> None:
    """Ask, by a change of nothing, whether the row says ACTIVE for this attempt."""
    try:
        _update(build, {}, expected={"vm_state": states.ACTIVE})
    except (exception.Conflict, exception.NotFound) as error:
        raise build.unwanted(error.message) from error


def _update(build: Build, changes: dict[str, Any], *, expected: dict[str, Any]) -> None:
    """Change the row if this attempt still owns it; an empty change only asks.

    :raises roost.exception.Unavailable: also for an accident at the other end, whose outcome
        nobody knows
    """
    owner = {"host": build.host.name, "attempt": build.instance.attempt}
    try:
        build.host.conductor.instance_update(
            build.context,
            instance_uuid=build.uuid,
            changes=changes,
            expected=owner | expected,
            events=build.timeline.events if changes else [],
        )
    except exception.RoostError:
        raise
    except Exception as error:
        raise exception.Unavailable(f"the cell-conductor failed: {error}") from error
