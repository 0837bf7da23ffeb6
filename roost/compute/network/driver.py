"""What a build asks of the networking: the seam that ``roost.compute.network`` plug-ins fill.

A plug-in is a class with ``from_conf(conf, conductor)``, named by an entry point of that group.
"""

from typing import Protocol

from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo


class NetworkDriver(Protocol):
    """Gives instances their interfaces.

    ``host_bound`` says that an interface cannot follow its instance to another host (bare metal):
    a build that fails then frees the networks, and the next host allocates them anew.
    """

    @property
    def host_bound(self) -> bool: ...

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Give the instance what it asked for, bound to its host; it keeps what it has.

        :raises roost.exception.Conflict: when its build is no longer wanted
        :raises roost.exception.BuildFailed: when it cannot have what it asked for
        """

    def free(self, context: RequestContext, instance: Instance) -> None:
        """Take its interfaces away; safe to repeat."""
