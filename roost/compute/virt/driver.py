"""What Roost asks of a hypervisor: the seam that ``roost.compute.virt`` plug-ins fill.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group. The core below
is what every driver has. What only some can do is a protocol of its own, and to have it *is* the
capability. A driver sees objects and its own options, never the bus, a database or the scheduler.
"""

import dataclasses
import pathlib
from typing import Protocol, runtime_checkable

from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo


@dataclasses.dataclass(frozen=True)
class HostResources:
    """A node as its hypervisor describes it. Memory in MiB, disk in GiB."""

    node: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    hypervisor_type: str
    hypervisor_version: int
    traits: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Guest:
    """A guest as its hypervisor describes it; ``power_state`` is one of ``roost.states``."""

    uuid: str
    power_state: int
    vcpus: int
    memory_mb: int


class VirtDriver(Protocol):
    """Runs guests, each known by the uuid of its instance.

    Any exception means failure; :class:`roost.exception.BuildFailed` also says whether another host
    may do better.
    """

    def resources(self) -> HostResources:
        """Return what the node has, used or not."""

    def list_guests(self) -> list[str]:
        """Return the uuids of all guests, running or not, in order."""

    def exists(self, uuid: str) -> bool:
        """Tell whether there is such a guest, whole or half made."""

    def describe(self, uuid: str) -> Guest:
        """Return what is known of a guest.

        :raises roost.exception.NotFound: when there is none
        """

    def spawn(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
    ) -> None:
        """Make the guest with its disks and start it; one that is there already is made anew.

        :param image_path: a whole image on this host, not to be changed; None: nothing to boot from
        """

    def destroy(self, uuid: str) -> None:
        """Stop the guest and remove it with its disks; one that is not there is fine."""


@runtime_checkable
class WatchesSteps(Protocol):
    """A driver that is told of every step of a build before it is done, and may fail it."""

    def before_step(self, name: str) -> None:
        """Raise to let the step fail; steps are named in :mod:`roost.compute.build`."""
