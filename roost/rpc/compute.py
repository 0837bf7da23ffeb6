"""RPC interface of a compute host."""

from typing import Any

from roost.callers import Level
from roost.context import RequestContext
from roost.objects import (
    ExternalEvent,
    Instance,
    Operation,
    RequestSpec,
    Selection,
)
from roost.operations.kinds import KINDS
from roost.rpc import interface

_WITH_IMAGES = tuple(kind.name for kind in KINDS.values() if kind.uses_images)
SILENCE = 5  # seconds without a sign of life from the host after which a caller gives up


class Compute(interface.Interface):
    """Served on the cell's bus, by each host under its own name."""

    topic = "compute"
    version = "1.9"
    callers = frozenset({Level.API, Level.CELL})
    in_cell = True

    @interface.cast(since="1.0", carries_token=True)
    def build_and_run_instance(
        self,
        context: RequestContext,
        *,
        operation: Operation,
        instance: Instance,
        request_spec: RequestSpec,
        selection: Selection | None = None,
    ) -> None:
        """Build one instance on this host, and report progress and failure to the cell-conductor.

        :param operation: the build
        :param selection: the scheduler's choice: the host's capacity by its allocation ratios, and
            the instance's NUMA cells and devices; None: the host uses its own ratios

        The alternates stay in the cell's database, from which a reschedule takes the next one.
        """

    @interface.cast(since="1.0", carries_token={"operation.kind": _WITH_IMAGES})
    def run(
        self,
        context: RequestContext,
        *,
        operation: Operation,
        password: str | None = None,
    ) -> None:
        """Run an operation on an instance, if it is still under way; its row has the details.

        A host that does not know the kind ends the operation with that reason.

        :param operation: with an image that waits for its data, it is deleted in the store if the
            operation is over by now
        :param password: the new password of the guest's administrator. It is not stored: a message
            that is sent again has none, and then the guest keeps its old password.
        """

    @interface.cast(since="1.0")
    def external_instance_events(
        self, context: RequestContext, *, events: list[ExternalEvent]
    ) -> None:
        """Process events of other services (Neutron, Cinder) about instances of this host."""

    @interface.call(since="1.0", timeout=SILENCE)
    def get_console_output(
        self, context: RequestContext, *, instance_uuid: str, lines: int | None = None
    ) -> str:
        """Return the last lines of a guest's console; None: all, as far as a message carries them.

        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the hypervisor stores no console output
        """

    @interface.call(since="1.1", timeout=SILENCE)
    def open_console(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        kind: str,
        token_digest: str,
        seconds: int,
    ) -> dict[str, Any]:
        """Admit clients with a token to a console of a guest, for so many seconds.

        :param kind: one of :data:`roost.objects.consoles.KINDS`
        :param token_digest: :func:`roost.objects.consoles.digest` of the token, which only its user
            knows
        :returns: the ``host`` and ``port`` to connect to
        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.Invalid: when guests of this host have other kinds of console
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the hypervisor has no interactive consoles
        """

    @interface.call(since="1.0", timeout=SILENCE)
    def get_diagnostics(self, context: RequestContext, *, instance_uuid: str) -> dict[str, Any]:
        """Return a guest's diagnostics: the fields of ``roost.compute.virt.driver.Diagnostics``.

        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the hypervisor does not measure guests
        """

    @interface.cast(since="1.2")
    def refresh_security_groups(self, context: RequestContext, *, project_id: str) -> None:
        """Request the filtering of a project's servers again: groups or members have changed.

        The message may be lost: the host also requests it periodically.
        """

    @interface.call(since="1.0")
    def list_guests(self, context: RequestContext) -> list[str]:
        """Return the uuids of the hypervisor's guests, running or not."""

    @interface.call(since="1.0")
    def reconcile_guests(self, context: RequestContext) -> None:
        """Reconcile the hypervisor's guests with the cell's rows now.

        The host does the same periodically. It destroys a guest only if it can prove that the
        guest is its own leftover.
        """
