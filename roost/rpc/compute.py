"""What a cell may ask of one compute host."""

from typing import Any

from roost import states
from roost.callers import Level
from roost.context import RequestContext
from roost.objects import (
    ExternalEvent,
    Instance,
    NetworkRequest,
    RequestSpec,
    Selection,
    Vif,
)
from roost.rpc import interface

INTERFACE_TIMEOUT = 60  # seconds: a network service may be asked several things, and others wait
SILENCE = 5  # seconds that somebody waits for a host of which nothing is heard


class Compute(interface.Interface):
    """Served on the cell's bus, by each host under its own name."""

    topic = "compute"
    version = "1.3"
    callers = frozenset({Level.API, Level.CELL})
    in_cell = True

    @interface.cast(since="1.0", carries_token=True)
    def build_and_run_instance(
        self,
        context: RequestContext,
        *,
        instance: Instance,
        request_spec: RequestSpec,
        selection: Selection | None = None,
    ) -> None:
        """Build one instance on this host; progress and failure go to the cell-conductor.

        :param selection: how this host was chosen: what it may give away altogether, and where on
            it the instance goes; without it the host goes by its own ratios

        The alternates stay in the cell's database, where a reschedule takes the next one.
        """

    @interface.cast(since="1.0")
    def terminate_instance(self, context: RequestContext, *, instance_uuid: str) -> None:
        """End an instance whose row says that it is on this host and being deleted.

        Guest, disks and networks go, then the cell-conductor buries it.
        """

    @interface.cast(since="1.0")
    def change_power(self, context: RequestContext, *, instance_uuid: str, task: str) -> None:
        """Stop, start, reboot, pause an instance and so on, if its row still is under that task.

        :param task: one of :data:`roost.states.POWER_TASKS` or ``PUT_AWAY_TASKS``
        """

    @interface.cast(since="1.0")
    def external_instance_events(
        self, context: RequestContext, *, events: list[ExternalEvent]
    ) -> None:
        """Take notice of what happened elsewhere to instances of this host."""

    @interface.call(since="1.0", timeout=INTERFACE_TIMEOUT, silence=SILENCE)
    def attach_interface(
        self, context: RequestContext, *, instance: Instance, request: NetworkRequest, key: str
    ) -> Vif:
        """Give an instance one more interface, or leave everything as it was.

        :param key: of this request: what was attached for it before is returned again
        :raises roost.exception.Conflict: when the instance is in no state for that, or the address
            or port belongs to another
        :raises roost.exception.NotFound: when the network or port is not there
        :raises roost.exception.Invalid: when the network cannot give what is asked for
        :raises roost.exception.NoCapacity: when the network is full
        :raises roost.exception.Unsupported: when the hypervisor cannot do it
        """

    @interface.call(since="1.0", timeout=INTERFACE_TIMEOUT, silence=SILENCE)
    def detach_interface(
        self, context: RequestContext, *, instance: Instance, port_id: str
    ) -> None:
        """Take an interface away from an instance; one that is not there is fine.

        :raises roost.exception.Conflict: when the instance is in no state for that
        :raises roost.exception.Unsupported: when the hypervisor cannot do it
        """

    @interface.cast(since="1.0", carries_token={"task": states.TASKS_WITH_IMAGES})
    def do_task(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        task: str,
        password: str | None = None,
        image_id: str | None = None,
    ) -> None:
        """Rebuild or rescue an instance and so on, if its row still is under that task.

        :param task: one of :data:`roost.states.LIFE_TASKS`; the row says what it is about
        :param password: of the guest's administrator, from now on. It is kept nowhere: whoever
            sends this again does not know it, and then the guest keeps the one that it has.
        :param image_id: an image that waits for its data, and goes if the task is over by now
        """

    @interface.call(since="1.0", timeout=SILENCE)
    def get_console_output(
        self, context: RequestContext, *, instance_uuid: str, lines: int | None = None
    ) -> str:
        """Return the last lines of a guest's console; None: all, as far as a message carries them.

        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the hypervisor keeps no consoles
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
        """Let whoever brings a token come to a console of a guest, for so many seconds.

        :param kind: one of :data:`roost.objects.consoles.KINDS`
        :param token_digest: as :func:`roost.objects.consoles.digest` makes it; the token itself
        stays with
            its user
        :returns: the ``host`` and ``port`` to bring it to
        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.Invalid: when guests of this host have other consoles
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the hypervisor has none to type at
        """

    @interface.call(since="1.0", timeout=SILENCE)
    def get_diagnostics(self, context: RequestContext, *, instance_uuid: str) -> dict[str, Any]:
        """Return how a guest does: the fields of ``roost.compute.virt.driver.Diagnostics``.

        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the hypervisor does not measure guests
        """

    @interface.cast(since="1.2")
    def refresh_security_groups(self, context: RequestContext, *, project_id: str) -> None:
        """Ask what may pass at the ports of a project's servers: groups or members have changed.

        A hint; the host asks by itself now and then.
        """

    @interface.call(since="1.0")
    def list_guests(self, context: RequestContext) -> list[str]:
        """Return the uuids of the guests that the hypervisor has, running or not."""

    @interface.call(since="1.0", added={"abandon": "1.3"})
    def reconcile_guests(self, context: RequestContext, *, abandon: bool = False) -> None:
        """Put right, now, what the hypervisor has other than the cell says.

        As the host does by itself now and then: what it cannot prove to be its own leftover stays.

        :param abandon: also all servers whose guests are gone, however many these are
        """
