"""What a cell may ask of one compute host."""

from roost.context import RequestContext
from roost.objects import Instance, RequestSpec
from roost.rpc import interface


class Compute(interface.Interface):
    """Served on the cell's bus, by each host under its own name."""

    topic = "compute"
    version = "1.0"

    @interface.cast(since="1.0")
    def build_and_run_instance(
        self, context: RequestContext, *, instance: Instance, request_spec: RequestSpec
    ) -> None:
        """Build one instance on this host; progress and failure go to the cell-conductor.

        The alternates stay in the cell's database, where a reschedule takes the next one.
        """

    @interface.cast(since="1.0")
    def terminate_instance(self, context: RequestContext, *, instance_uuid: str) -> None:
        """End an instance: guest, disks and networks go, then the cell-conductor buries it."""

    @interface.call(since="1.0")
    def list_guests(self, context: RequestContext) -> list[str]:
        """Return the uuids of the guests that the hypervisor has, running or not."""

    @interface.call(since="1.0")
    def set_enabled(self, context: RequestContext, *, enabled: bool) -> None:
        """Report this host to the scheduler as open for new instances, or not, from now on."""
