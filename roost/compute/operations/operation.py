"""An operation at work on this host: what each step of it needs, and how a step is run.

``runner.py`` runs operations; the modules beside it have their steps.
"""

import dataclasses
import functools
import logging
import pathlib
from collections.abc import Callable
from typing import Any

from roost import exception
from roost.compute import image_cache
from roost.compute.host import Host
from roost.compute.instance_events import InstanceEvents
from roost.compute.leases import Lease, LostLease
from roost.compute.virt.driver import Kernel, WatchesSteps
from roost.context import RequestContext
from roost.objects import ImageMeta, Instance, Migration, NetworkInfo, Operation, OperationParams
from roost.objects.instance import GuestConfig
from roost.operations.advance import Outcome
from roost.operations.steps import OBEYED, Kind, OperationStep

LOG = logging.getLogger(__name__)


class Spared(exception.Conflict):
    """An operation did nothing to the guest, which is as usable as before."""


@dataclasses.dataclass(eq=False, kw_only=True)
class HostOperation:
    """An operation on an instance of this host.

    :param row: as the message has it; once it is taken up, as its row is
    :param password: of the guest's administrator, if the message has one
    :ivar handover: of a step of a move: what its report gives to the next one, as JSON
    :ivar network_info: of a step of a move: the interfaces as they are plugged here
    """

    host: Host
    context: RequestContext
    kind: Kind
    row: Operation
    lease: Lease
    timeline: InstanceEvents
    password: str | None = None
    handover: str | None = None
    network_info: NetworkInfo | None = None

    @property
    def uuid(self) -> str:
        """The uuid of the instance."""
        return str(self.row.instance_uuid)

    def take_up(self) -> bool:
        """Take a lease on the operation; return False when it is over, or another host's.

        One that its message has given suffices, if nobody is to be notified that it begins.

        :raises roost.exception.Unavailable: when the conductor does not answer for a long time
        """
        if self.lease.is_given and not self.lease.keeper.cell_notifies:
            return True

        def ask() -> bool:
            since = self.lease.keeper.clock()
            found = self.host.conductor.begin_operation(self.context, operation=self.named)
            if found is None:
                return False
            self.row = found
            self.lease.hold(since=since)
            return True

        return self.host.patience.retry(f"{self}: begin", ask, stopping=self.host.stopping)

    @property
    def step(self) -> OperationStep:
        return self.kind.step(self.row.step)

    @property
    def named(self) -> Operation:
        """The operation without what is only in its row, for messages."""
        row = self.row
        names = {"uuid": row.uuid, "instance_uuid": row.instance_uuid, "kind": row.kind}
        return Operation.of(**names, host=self.host.name, step=row.step, attempt=row.attempt)

    @property
    def instance(self) -> Instance:
        found: Instance | None = self.row.instance
        assert found is not None, f"{self.kind} does not read the instance"
        return found

    @property
    def migration(self) -> Migration:
        found: Migration | None = self.row.migration
        assert found is not None, f"{self.kind} is no move"
        return found

    @property
    def params(self) -> OperationParams:
        """Its arguments, as the row has them, or the message."""
        return self.row.params or OperationParams.of()

    @property
    def image(self) -> ImageMeta:
        """The image that the operation is about.

        :raises roost.exception.Internal: when the row names none
        """
        found = self.params.image
        if found is None:
            raise exception.Internal(f"{self}: its row names no image")
        return found

    def fetch_image(self, image: ImageMeta | None = None) -> pathlib.Path:
        """Return the path of an image on this host, fetching it if necessary.

        :param image: None: the operation's
        """
        return self.host.images.ensure(self.context, image or self.image, **self._how())

    def fetch_kernel(self, image: ImageMeta | None = None) -> Kernel | None:
        """Return the kernel that an image names, fetched in the same way; None: it names none."""
        asked = image or self.image
        return image_cache.fetch(self.host.images, self.context, asked, **self._how())

    def _how(self) -> dict[str, Any]:
        trusted = list(self.instance.trusted_certs)
        return {"stopping": self.host.stopping, "trusted": trusted, "user": self}

    def go_on(self, task: str, **changes: Any) -> None:
        """Report the progress of the operation to the row.

        :raises LostLease: when the operation is no longer this host's, or over
        """
        send = functools.partial(
            self.host.conductor.advance_operation,
            self.context,
            operation=self.named,
            changes={"task_state": task, **changes},
        )
        try:
            self.host.patience.retry(f"{self}: {task}", send, stopping=self.host.stopping)
        except (exception.Conflict, exception.NotFound) as error:
            raise LostLease(error.message) from error

    def note_copied(self, **copied: int) -> str | None:
        """Report how many bytes of a guest are copied, by column; a report may be lost.

        :returns: what this host is asked meanwhile; None: nothing
        :raises LostLease: when the move is over, or in another step
        """
        try:
            return self.host.conductor.advance_operation(
                self.context, operation=self.named, changes=copied
            )
        except (exception.Conflict, exception.NotFound) as error:
            raise LostLease(error.message) from error
        except exception.RoostError as error:
            LOG.info("%s: its progress is not reported: %s", self, error.message)
            return None

    def note_obeyed(self, asked: str) -> None:
        """Report that this host does what it was asked, for the notification."""
        self.host.conductor.advance_operation(
            self.context, operation=self.named, changes={OBEYED: asked}
        )

    def __str__(self) -> str:
        step = f" ({self.row.step})" if self.row.step != self.kind.name else ""
        return f"[instance: {self.uuid}] {self.kind}{step}"


def give_password(operation: HostOperation, instance: Instance) -> None:
    """Put the password of the message, if it has one, into what a new guest gets."""
    given = instance.provisions or GuestConfig.of()
    given.admin_password = operation.password
    instance.provisions = given


# Does a step; returns how it has ended, if it is not done.
Do = Callable[[HostOperation], Outcome | None]


def step(do: Do) -> Do:
    """Wrap a step: check first whether the lease is valid, and time the step as an event."""

    @functools.wraps(do)
    def timed(operation: HostOperation) -> Outcome | None:
        with operation.timeline.step(f"compute.{do.__name__}"):
            operation.lease.check()
            if isinstance(operation.host.virt, WatchesSteps):
                operation.host.virt.before_step(do.__name__)
            return do(operation)

    return timed
