"""The driver interface of a hypervisor, which ``roost.compute.virt`` plug-ins implement.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group. Every driver
implements :class:`VirtDriver`. Each optional capability is a protocol of its own; a driver that
implements it has the capability. Drivers use objects and their own options, but never RPC, a
database or the scheduler.

``of_this_machine`` is for drivers whose node is the machine that the daemon runs on.
"""

import contextlib
import dataclasses
import datetime
import os
import pathlib
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, Self, runtime_checkable

import psutil

from roost import states
from roost.context import RequestContext
from roost.objects import (
    ImageMeta,
    Instance,
    InstanceNUMATopology,
    NetworkInfo,
    NUMACell,
    PciAllocation,
    PciPool,
    ResourceInventory,
    ResourceProvider,
    Selection,
    Vif,
)


@dataclasses.dataclass(frozen=True)
class HostResources:
    """A node as its hypervisor describes it. Memory in MiB, disk in GiB.

    ``pcpus`` counts dedicated CPUs (one guest each), which are not among the ``vcpus``. ``labels``
    are locations that the node is at or reaches; ``cpu_info`` is the CPU description shown to
    operators, plain JSON values; the rest is as in a HostReport.
    """

    node: str
    vcpus: int
    memory_mb: int
    disk_gb: int
    hypervisor_type: str
    hypervisor_version: int
    pcpus: int = 0
    architectures: tuple[str, ...] = ()
    capabilities: Mapping[str, str] = dataclasses.field(default_factory=dict)
    traits: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    numa_cells: tuple[NUMACell, ...] = ()
    pci_pools: tuple[PciPool, ...] = ()
    inventories: tuple[ResourceInventory, ...] = ()
    providers: tuple[ResourceProvider, ...] = ()
    cpu_info: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    booted_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Load:
    """Load of a node: average run queue length over the last minute, 5 and 15 minutes."""

    averages: tuple[float, float, float]
    users: int


@dataclasses.dataclass(frozen=True)
class GuestResources:
    """The resources of a node that the scheduler has chosen for a guest.

    ``pci`` counts devices of a kind; the driver chooses their addresses. ``allocations`` are as in
    InstanceResources.
    """

    numa_topology: InstanceNUMATopology | None = None
    pci: tuple[PciAllocation, ...] = ()
    allocations: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, chosen: Selection | Instance) -> Self:
        """Return the resources in a selection, or in the instance built from it."""
        return cls(chosen.numa_topology, tuple(chosen.pci), dict(chosen.allocations))

    @property
    def pinned_cpus(self) -> list[int]:
        """The node's CPUs that are dedicated to this guest."""
        if self.numa_topology is None:
            return []
        return [cpu for cell in self.numa_topology.cells for cpu in cell.pinning]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel for direct boot, instead of the boot loader on the guest's disk.

    Complete files on this host, read-only; ``command_line`` None: the driver's default.
    """

    path: pathlib.Path
    ramdisk: pathlib.Path | None = None
    command_line: str | None = None


@dataclasses.dataclass(frozen=True)
class Guest:
    """A guest as its hypervisor describes it; ``power_state`` is one of ``roost.states``.

    ``attempt`` is that of the build or rebuild that created it; None: the hypervisor did not record
    it. ``announced``: ``VirtDriver.note_announced`` recorded that the cell has accepted it as a
    server. ``rescued``: it was started from a rescue image; the hypervisor records that, too, over
    restarts of its node. ``cut_off``: it is shut down and was last started before its node booted,
    so the restart of the node stopped it.
    """

    uuid: str
    power_state: int
    vcpus: int
    memory_mb: int
    attempt: int | None = None
    rescued: bool = False
    cut_off: bool = False
    announced: bool = False

    @property
    def vm_state(self) -> str | None:
        """The state of a server with this guest; None: the hypervisor cannot describe it."""
        return states.as_found(self.power_state, rescued=self.rescued)


@dataclasses.dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a guest by OpenStack's names; counters start at its last start.

    ``state`` is running, paused and so on; ``uptime`` seconds; ``memory_details`` has ``maximum``
    and ``used`` (MiB); each CPU ``id``, ``time`` (ns) and ``utilisation`` (per cent); each NIC
    ``mac_address`` and its traffic counters; each disk its read and write counters.
    """

    state: str
    driver: str
    hypervisor: str
    hypervisor_os: str
    uptime: int
    memory_details: Mapping[str, int]
    cpu_details: Sequence[Mapping[str, int]] = ()
    nic_details: Sequence[Mapping[str, int | str]] = ()
    disk_details: Sequence[Mapping[str, int]] = ()


class VirtDriver(Protocol):
    """The core that every driver implements. Each guest is known by the uuid of its instance.

    Any exception means failure; :class:`roost.exception.BuildFailed` also says whether the build
    may be retried on another host.
    """

    def resources(self) -> HostResources:
        """Return all resources of the node, used or not."""

    def list_guests(self) -> list[str]:
        """Return the uuids of all guests, running or not, in order."""

    def exists(self, uuid: str) -> bool:
        """Return whether the guest exists, complete or half built."""

    def describe(self, uuid: str) -> Guest:
        """Return the description of a guest.

        :raises roost.exception.NotFound: when there is none
        """

    def note_announced(self, uuid: str) -> None:
        """Record with the guest that its cell has accepted it as a server. Idempotent.

        The record lasts as long as the guest, over restarts of the node and live migrations;
        :meth:`spawn` removes it.

        :raises roost.exception.NotFound: when there is none
        """

    def spawn(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        """Create the guest with its disks and start it; replace a guest that exists already.

        :param image_path: a complete image on this host, read-only; None: nothing to boot from
        :param resources: the NUMA cells, CPUs and devices that are reserved for it
        :param config_drive: an ISO 9660 image on this host to attach as a CD; the driver copies it
            before it returns, and removes its copy with the guest; None: no config drive
        :param kernel: for direct boot; the driver copies it, too; None: boot from the disk
        """

    def destroy(self, uuid: str) -> None:
        """Stop the guest and remove it with its disks; no error when there is none."""

    def power_off(self, uuid: str) -> None:
        """Stop the guest and keep its disks; memory is lost. No error when it is stopped already.

        :raises roost.exception.NotFound: when there is none
        """

    def power_on(self, uuid: str) -> None:
        """Start the guest from its disks; unpause a paused guest. No error when it runs already.

        :raises roost.exception.NotFound: when there is none
        """

    def reboot(self, uuid: str, *, hard: bool) -> None:
        """Restart the guest, whether it runs or not; saved memory is discarded.

        :param hard: stop it at once; otherwise ask its operating system to shut down first
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class PausesGuests(Protocol):
    """A driver that can pause a guest: it stays in memory and gets no CPU time."""

    def pause(self, uuid: str) -> None:
        """Pause the guest; no error when it is paused already.

        :raises roost.exception.Conflict: when it does not run
        :raises roost.exception.NotFound: when there is none
        """

    def unpause(self, uuid: str) -> None:
        """Unpause the guest; no error when it runs already.

        :raises roost.exception.Conflict: when it is stopped or suspended
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class SuspendsGuests(Protocol):
    """A driver that can suspend a guest (save its memory to disk) and resume it.

    It describes such a guest as ``SAVED``, not as ``SHUTDOWN``, also after restarts of its node.
    """

    def suspend(self, uuid: str) -> None:
        """Save the guest's memory and stop it; no error when it is suspended already.

        :raises roost.exception.Conflict: when it does not run
        :raises roost.exception.NotFound: when there is none
        """

    def resume(self, uuid: str) -> None:
        """Resume a guest from its saved memory; no error when it runs already.

        :raises roost.exception.Conflict: when it is stopped or paused
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class RescuesGuests(Protocol):
    """A driver that can rescue a guest: start it from another image, with its own disks attached.

    It describes such a guest as ``rescued``, running or not, until it is unrescued.
    """

    def rescue(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image: ImageMeta,
        image_path: pathlib.Path,
        password: str | None,
        kernel: Kernel | None = None,
    ) -> None:
        """Stop the guest and start it from the rescue image; no error when it is rescued already.

        :param image: may request a rescue device
        :param image_path: a complete image on this host, read-only
        :param password: the administrator's in the rescue system, if the driver can set it; None:
            the image's own
        :param kernel: for direct boot of the rescue; the driver copies it; None: the image's boot
            loader, whatever the guest usually boots with
        :raises roost.exception.NotFound: when there is no such guest
        """

    def unrescue(self, uuid: str) -> None:
        """Start the guest from its own disks again; a guest that is not rescued is started, too.

        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class SnapshotsGuests(Protocol):
    """A driver that can take snapshots of a guest's root disk."""

    def snapshot(
        self, uuid: str, *, disk_format: str
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """Return the root disk at one point in time, readable within the ``with`` block.

        The guest is unchanged afterwards. The next snapshot removes what an interrupted one left.

        :param disk_format: one of :data:`roost.image.driver.DISK_FORMATS`
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when the driver cannot export that format
        """


@runtime_checkable
class SetsPasswords(Protocol):
    """A driver that can change the administrator's password inside a running guest."""

    def set_password(self, uuid: str, password: str) -> None:
        """Set the password. Idempotent.

        :raises roost.exception.Conflict: when the guest does not run, or has no agent
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class CrashesGuests(Protocol):
    """A driver that can make the operating system of a guest crash, so that it dumps its memory."""

    def inject_nmi(self, uuid: str) -> None:
        """Send a non-maskable interrupt, which kernels answer as they are configured to.

        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class KeepsConsoles(Protocol):
    """A driver that stores the console output of guests."""

    def console_output(self, uuid: str) -> str:
        """Return the stored output, the latest last.

        :raises roost.exception.NotFound: when there is no such guest
        """


@runtime_checkable
class GivesConsoles(Protocol):
    """A driver that gives users interactive consoles of its guests."""

    def console_kinds(self, uuid: str) -> frozenset[str]:
        """Return which of :data:`roost.objects.consoles.KINDS` a guest has, running or not.

        :raises roost.exception.NotFound: when there is no such guest
        """

    def open_console(self, uuid: str, kind: str) -> socket.socket:
        """Return a connection to a console: VNC (RFB), SPICE, or the bytes of a serial line.

        It closes when the guest stops, is removed or is migrated. A serial line may allow one
        connection at a time: then a new connection closes the old one. The caller closes it.

        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when this guest has no console of that kind
        """


@runtime_checkable
class AttachesInterfaces(Protocol):
    """A driver that can attach interfaces to a guest, and detach them, whether it runs or not.

    Memory and disks stay as they are; a restarted guest keeps its current interfaces.
    """

    def attach_interface(self, uuid: str, vif: Vif) -> None:
        """Attach an interface to the guest; no error when it is attached already.

        :raises roost.exception.NotFound: when there is no such guest
        """

    def detach_interface(self, uuid: str, port_id: str) -> None:
        """Detach the interface of a port; no error without such an interface or guest."""


@runtime_checkable
class MeasuresGuests(Protocol):
    """A driver that reports diagnostics of its guests."""

    def diagnostics(self, uuid: str) -> Diagnostics:
        """Return the current diagnostics of a guest.

        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class ReportsGuestEvents(Protocol):
    """A driver that reports events: a guest started, stopped, was paused or unpaused."""

    def listen(self, notify: Callable[[str | None], None]) -> None:
        """Call ``notify`` with the guest's uuid at each event from now on; it must return at once.

        Events that Roost caused are reported, too. None: any guest may have changed.
        """


@runtime_checkable
class ChecksGuests(Protocol):
    """A driver that can refuse a guest before it is built."""

    def check(self, instance: Instance) -> None:
        """Check that this host can build the guest that the flavor and image describe.

        :raises roost.exception.BuildFailed: when it cannot
        """


@runtime_checkable
class TidiesUp(Protocol):
    """A driver that caches files of old guests for new ones."""

    def tidy(self) -> None:
        """Remove what was unused for long enough; guests may be built and removed meanwhile."""


@runtime_checkable
class WatchesSteps(Protocol):
    """A driver that is called before every step of a build, and may fail the step."""

    def before_step(self, name: str) -> None:
        """Raise to let the step fail; steps are named in :mod:`roost.compute.operations.build`."""


@runtime_checkable
class ReportsLoad(Protocol):
    """A driver that reports the load of its node; see ``of_this_machine`` in ``driver.py``."""

    def load(self) -> Load:
        """Return the current load of the node."""


def of_this_machine() -> Load:
    """Return the load that ``uptime`` shows.

    :raises OSError: when the system does not report it
    """
    return Load(averages=os.getloadavg(), users=len(psutil.users()))
