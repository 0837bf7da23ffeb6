"""Runs tasks of servers: rebuild, rescue, image, password; and what all of them have in common.

Before: the API wrote the task, and the image that it is about, into the instance's row and cast
here. After: the row has the guest's actual state, and why the task failed, if it did. Safe to
repeat at any point: the host checks the row first, so a message of a finished task does nothing,
and an unfinished task is repeated from its beginning.
"""

import dataclasses
import functools
import logging
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from roost import exception
from roost.compute import image_cache
from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.compute.leases import Lease, LostLease
from roost.compute.operations.power import as_found
from roost.compute.virt.driver import Kernel, RescuesGuests, SetsPasswords, WatchesSteps
from roost.context import RequestContext
from roost.objects import ImageMeta, Instance

LOG = logging.getLogger(__name__)


class Spared(exception.Conflict):
    """A task did nothing to the guest, which is as usable as before."""


@dataclasses.dataclass(eq=False)
class GuestTask:
    """One task of one instance of this host.

    :param family: the task states of its row during this task
    :param password: of the guest's administrator, if the message has one
    """

    host: Host
    context: RequestContext
    instance: Instance
    family: Sequence[str]
    lease: Lease
    timeline: InstanceEvents
    password: str | None = None

    @property
    def uuid(self) -> str:
        return str(self.instance.uuid)

    def fetch_image(self) -> pathlib.Path:
        """Return the path of the task's image on this host, fetching it if necessary."""
        return self.host.images.ensure(self.context, self.image, **self._how())

    def fetch_kernel(self) -> Kernel | None:
        """Return the kernel that the image names, fetched in the same way; None: it names none."""
        return image_cache.fetch(self.host.images, self.context, self.image, **self._how())

    def _how(self) -> dict[str, Any]:
        trusted = list(self.instance.trusted_certs)
        return {"stopping": self.host.stopping, "trusted": trusted, "user": self}

    @property
    def image(self) -> ImageMeta:
        """The image that the task is about.

        :raises roost.exception.Internal: when its row names none
        """
        found: ImageMeta | None = self.instance.task_image
        if found is None:
            raise exception.Internal(f"instance {self.uuid}: its row names no image for its task")
        return found

    def is_wanted(self) -> bool:
        """Return whether the row still has this task on this host."""
        found = self.host.conductor.begin_task(
            self.context, instance_uuid=self.uuid, host=self.host.name, tasks=list(self.family)
        )
        return found is not None

    def go_on(self, task: str, **changes: Any) -> None:
        """Report the progress of the task to the row.

        :raises LostLease: when the task is no longer this host's, or over
        """
        send = functools.partial(
            self.host.conductor.instance_update,
            self.context,
            instance_uuid=self.uuid,
            changes={"task_state": task, **changes},
            expected={"host": self.host.name, "task_state": list(self.family)},
            events=[],
        )
        try:
            self.host.patience.retry(
                f"[instance: {self.uuid}] {task}", send, stopping=self.host.stopping
            )
        except (exception.Conflict, exception.NotFound) as error:
            raise LostLease(error.message) from error

    def __str__(self) -> str:
        return f"[instance: {self.uuid}] {self.instance.task_state}"


Do = Callable[[GuestTask], None]


@dataclasses.dataclass(frozen=True)
class TaskKind:
    """A kind of task: its function, the task states of its row, and the effect of a failure.

    ``spoils``: the guest is unusable after a failure.
    """

    do: Do
    family: Sequence[str]
    spoils: bool = False


Kinds = Mapping[str, TaskKind]


def step(do: Do) -> Do:
    """Wrap a step: check first whether the lease is valid, and time the step as an event."""

    @functools.wraps(do)
    def timed(task: GuestTask) -> None:
        with task.timeline.step(f"compute.{do.__name__}"):
            task.lease.check()
            if isinstance(task.host.virt, WatchesSteps):
                task.host.virt.before_step(do.__name__)
            do(task)

    return timed


def carry_out(
    host: Host,
    kind: TaskKind,
    *,
    context: RequestContext,
    instance_uuid: str,
    lease: Lease,
    password: str | None,
) -> bool:
    """Do the task of an instance's row; nothing else may work on it.

    :returns: False when the row has no task of this kind (any more)

    :raises roost.exception.Unavailable: when the conductor does not answer
    """
    instance = host.conductor.begin_task(
        context, instance_uuid=instance_uuid, host=host.name, tasks=list(kind.family)
    )
    if instance is None:
        LOG.info("[instance: %s] no longer %s on %s", instance_uuid, kind.family[0], host.name)
        return False
    timeline = InstanceEvents(host.name)
    task = GuestTask(host, context, instance, kind.family, lease, timeline, password=password)
    LOG.info("%s begins on %s", task, host.name)
    try:
        why, spoilt = _try(task, kind)
    except LostLease as error:
        LOG.info("%s ends without a report: %s", task, error.message)
        return True
    if _report(task, why=why, failed=spoilt) and kind.spoils and why is None:
        host.note_announced(task.uuid)
    return True


def _try(task: GuestTask, kind: TaskKind) -> tuple[str | None, bool]:
    """Do the task, and return why it failed, if it did, and whether the guest is unusable now.

    :raises LostLease: when the task is no longer this host's
    """
    try:
        kind.do(task)
    except LostLease:
        raise
    except Spared as error:
        return exception.reason(error), False
    except exception.RoostError as error:
        LOG.warning("%s failed: %s", task, error.message)
        return exception.reason(error), kind.spoils
    except Exception as error:
        LOG.exception("%s failed", task)
        return exception.reason(error), kind.spoils
    finally:
        task.host.images.release(task)
    return None, False


def _report(task: GuestTask, *, why: str | None, failed: bool) -> bool:
    """Report the guest's state to the conductor; retry, because only this host knows it.

    :returns: whether the conductor accepted the report
    """
    send = functools.partial(
        task.host.conductor.report_power,
        task.context,
        instance_uuid=task.uuid,
        host=task.host.name,
        expected={"task_state": list(task.family)},
        events=list(task.timeline.events),
        reason=why,
        failed=failed,
        **as_found(task.host.virt, task.uuid),
    )
    try:
        task.host.patience.retry(f"{task}: report", send, stopping=task.host.stopping)
    except (exception.Conflict, exception.NotFound) as error:
        # reported before and the answer lost, or deleted, or given up by the conductor
        LOG.info("%s is over already: %s", task, error.message)
        return False
    LOG.info("%s is done on %s", task, task.host.name)
    return True


@step
def rescue(task: GuestTask) -> None:
    """Start the guest from the image that its row names, unless it is rescued already."""
    _able(task).rescue(
        task.context,
        task.instance,
        image_path=task.fetch_image(),
        password=task.password,
        kernel=task.fetch_kernel(),
    )


@step
def unrescue(task: GuestTask) -> None:
    _able(task).unrescue(task.uuid)


def _able(task: GuestTask) -> RescuesGuests:
    if not isinstance(task.host.virt, RescuesGuests):
        raise exception.Unsupported("The hypervisor of this server cannot rescue it.")
    return task.host.virt


@step
def set_password(task: GuestTask) -> None:
    virt = task.host.virt
    if not isinstance(virt, SetsPasswords):
        raise exception.Unsupported("The hypervisor of this server cannot set its password.")
    if task.password is None:
        raise exception.Conflict("The password did not reach the server: set it again.")
    virt.set_password(task.uuid, task.password)
