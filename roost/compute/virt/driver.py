"""What Roost asks of a hypervisor: the seam that ``roost.compute.virt`` plug-ins fill.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group. The core below
is what every driver has. What only some can do is a protocol of its own, and to have it *is* the
capability. A driver sees objects and its own options, never the bus, a database or the scheduler.

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

from roost.context import RequestContext
from roost.objects import (
    Instance,
    InstanceNUMATopology,
    NetworkInfo,
    NUMACell,
    PciAllocation,
    PciPool,
    Selection,
    Vif,
)


@dataclasses.dataclass(frozen=True)
class HostResources:
    """A node as its hypervisor describes it. Memory in MiB, disk in GiB.

    ``pcpus`` counts CPUs that are given to one guest each, which are not among the ``vcpus``.
    ``labels`` are places that it is at or reaches; ``cpu_info`` is what operators are told of the
    CPUs, plain JSON values; the rest is as in a HostReport.
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
    cpu_info: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    booted_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Load:
    """How busy a node is: processes that wanted to run in the last minute, 5 and 15 minutes."""

    averages: tuple[float, float, float]
    users: int


@dataclasses.dataclass(frozen=True)
class GuestPlacement:
    """Where on its node a guest goes, as far as the scheduler has chosen that.

    ``pci`` counts devices of a kind; their addresses are for the driver to choose.
    """

    numa_topology: InstanceNUMATopology | None = None
    pci: tuple[PciAllocation, ...] = ()

    @classmethod
    def of(cls, chosen: Selection | Instance) -> Self:
        """Return the part of a selection, or of the instance that it came to, that says so."""
        return cls(numa_topology=chosen.numa_topology, pci=tuple(chosen.pci))

    @property
    def pinned_cpus(self) -> list[int]:
        """The CPUs of the node that this guest has for itself."""
        if self.numa_topology is None:
            return []
        return [cpu for cell in self.numa_topology.cells for cpu in cell.pinning]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel that a guest is started by, in place of what is on its disk.

    Whole files on this host, not to be changed; ``command_line`` None: whatever suits most.
    """

    path: pathlib.Path
    ramdisk: pathlib.Path | None = None
    command_line: str | None = None


@dataclasses.dataclass(frozen=True)
class Guest:
    """A guest as its hypervisor describes it; ``power_state`` is one of ``roost.states``.

    ``attempt`` is that of the build or rebuild that made it; None: the hypervisor does not remember
    it. ``announced``: it was noted by ``VirtDriver.note_announced``, so it is somebody's server.
    ``rescued``: it was started from another image than its own; that, too, is remembered over
    restarts of its node. ``cut_off``: it is shut down and was last started before its node was, so
    what it did then ended with the node.
    """

    uuid: str
    power_state: int
    vcpus: int
    memory_mb: int
    attempt: int | None = None
    rescued: bool = False
    cut_off: bool = False
    announced: bool = False


@dataclasses.dataclass(frozen=True)
class Diagnostics:
    """How a guest does, with the details that OpenStack names; counts are since its last start.

    ``state`` is running, paused and so on; ``uptime`` seconds; ``memory_details`` has ``maximum``
    and ``used`` (MiB); each CPU ``id``, ``time`` (ns) and ``utilisation`` (per cent); each NIC
    ``mac_address`` and what it has sent and received; each disk what was read and written.
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

    def note_announced(self, uuid: str) -> None:
        """Remember with the guest that its cell has accepted it as a server; again is fine.

        For as long as there is this guest, over restarts of the node: one that is made anew by
        :meth:`spawn` is not announced, one that came from another host is.

        :raises roost.exception.NotFound: when there is none
        """

    def spawn(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
        placement: GuestPlacement,
        config_drive: pathlib.Path | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        """Make the guest with its disks and start it; one that is there already is made anew.

        :param image_path: a whole image on this host, not to be changed; None: nothing to boot from
        :param placement: the NUMA cells, CPUs and devices that are set aside for it
        :param config_drive: a CD (ISO 9660) on this host that the guest is to find; the driver has
            copied it when this returns, and removes its copy with the guest; None: none
        :param kernel: what it is started by, which the driver copies, too; None: what its disk has
        """

    def destroy(self, uuid: str) -> None:
        """Stop the guest and remove it with its disks; one that is not there is fine."""

    def power_off(self, uuid: str) -> None:
        """Stop the guest and keep its disks; one that is stopped is fine. Its memory is dropped.

        :raises roost.exception.NotFound: when there is none
        """

    def power_on(self, uuid: str) -> None:
        """Start the guest from its disks; one that runs is fine, one that is held goes on.

        :raises roost.exception.NotFound: when there is none
        """

    def reboot(self, uuid: str, *, hard: bool) -> None:
        """Start the guest anew, whether it runs or not; memory that was saved is dropped.

        :param hard: pull the plug, where otherwise its own system would be asked to end first
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class PausesGuests(Protocol):
    """A driver that can hold a guest in memory, where it gets no time until it is to go on."""

    def pause(self, uuid: str) -> None:
        """Hold the guest; one that is held is fine.

        :raises roost.exception.Conflict: when it does not run
        :raises roost.exception.NotFound: when there is none
        """

    def unpause(self, uuid: str) -> None:
        """Let a guest that is held go on; one that runs is fine.

        :raises roost.exception.Conflict: when it is stopped or saved
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class SuspendsGuests(Protocol):
    """A driver that can save a guest's memory to disk, and let it go on from there.

    It describes such a guest as ``SAVED``, not as ``SHUTDOWN``, over restarts of its node, too.
    """

    def suspend(self, uuid: str) -> None:
        """Save the guest's memory and stop it; one that is saved is fine.

        :raises roost.exception.Conflict: when it does not run
        :raises roost.exception.NotFound: when there is none
        """

    def resume(self, uuid: str) -> None:
        """Let a guest go on from its saved memory; one that runs is fine.

        :raises roost.exception.Conflict: when it is stopped or held
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class RescuesGuests(Protocol):
    """A driver that can start a guest from another image, with its own disks beside it.

    It describes such a guest as ``rescued``, running or not, until it is started as usual again.
    """

    def rescue(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image_path: pathlib.Path,
        password: str | None,
        kernel: Kernel | None = None,
    ) -> None:
        """Stop the guest, if it runs, and start it from that image; one that is rescued is fine.

        :param image_path: a whole image on this host, not to be changed
        :param password: of the administrator there, where the driver can set it; None: the image's
        :param kernel: what it is started by meanwhile, which the driver copies; None: what that
            image has, whatever the guest is usually started by
        :raises roost.exception.NotFound: when there is no such guest
        """

    def unrescue(self, uuid: str) -> None:
        """Start the guest from its own disks again; one that is not rescued is started, too.

        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class SnapshotsGuests(Protocol):
    """A driver that can give away what a guest has on its root disk."""

    def snapshot(
        self, uuid: str, *, disk_format: str
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """Return the disk as it is at one moment, to be read while the block lasts.

        The guest is afterwards as it was before. What is left of one that was interrupted goes with
        the next.

        :param disk_format: one of :data:`roost.image.driver.DISK_FORMATS`
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when it cannot be had in that format
        """


@runtime_checkable
class SetsPasswords(Protocol):
    """A driver that can have a guest's own system change its administrator's password."""

    def set_password(self, uuid: str, password: str) -> None:
        """Set it; again is fine.

        :raises roost.exception.Conflict: when the guest does not run, or has nobody to ask
        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class KeepsConsoles(Protocol):
    """A driver that keeps what guests write to their consoles."""

    def console_output(self, uuid: str) -> str:
        """Return what is kept of it, the latest last.

        :raises roost.exception.NotFound: when there is no such guest
        """


@runtime_checkable
class GivesConsoles(Protocol):
    """A driver that lets users type at consoles of its guests."""

    def console_kinds(self, uuid: str) -> frozenset[str]:
        """Return which of :data:`roost.objects.consoles.KINDS` a guest has, running or not.

        :raises roost.exception.NotFound: when there is no such guest
        """

    def open_console(self, uuid: str, kind: str) -> socket.socket:
        """Return a connection to a console: VNC's protocol (RFB), SPICE, or what a terminal says.

        It ends with the guest: when that stops, is removed or goes elsewhere. A serial line may be
        one person's at a time: then it also ends when somebody else opens it. The caller closes it.

        :raises roost.exception.Conflict: when the guest does not run
        :raises roost.exception.NotFound: when there is no such guest
        :raises roost.exception.Unsupported: when this guest has none of that kind
        """


@runtime_checkable
class AttachesInterfaces(Protocol):
    """A driver that can give a guest another interface, and take one away, whether it runs or not.

    Memory and disks stay as they are; a guest that is started again has the interfaces it had last.
    """

    def attach_interface(self, uuid: str, vif: Vif) -> None:
        """Plug an interface into the guest; one that is there already is fine.

        :raises roost.exception.NotFound: when there is no such guest
        """

    def detach_interface(self, uuid: str, port_id: str) -> None:
        """Unplug the interface of a port; one that is not there is fine, so is no guest at all."""


@runtime_checkable
class MeasuresGuests(Protocol):
    """A driver that measures how its guests do."""

    def diagnostics(self, uuid: str) -> Diagnostics:
        """Return what is measured of a guest now.

        :raises roost.exception.NotFound: when there is none
        """


@runtime_checkable
class ReportsGuestEvents(Protocol):
    """A driver that hears of it when a guest starts, stops, is held or goes on by itself."""

    def listen(self, told: Callable[[str | None], None]) -> None:
        """Have a function called with the uuid of each such guest from now on; it returns at once.

        What was asked for is told of, too. None: of some guest, and nobody knows of which.
        """


@runtime_checkable
class ChecksGuests(Protocol):
    """A driver that can tell beforehand that it will not make a guest."""

    def check(self, instance: Instance) -> None:
        """Make sure that a guest may be made as its flavor and image say.

        :raises roost.exception.BuildFailed: when it may not
        """


@runtime_checkable
class TidiesUp(Protocol):
    """A driver that keeps what guests have left for those that come, for a while."""

    def tidy(self) -> None:
        """Remove what nobody has needed for long enough; guests may come and go meanwhile."""


@runtime_checkable
class WatchesSteps(Protocol):
    """A driver that is told of every step of a build before it is done, and may fail it."""

    def before_step(self, name: str) -> None:
        """Raise to let the step fail; steps are named in :mod:`roost.compute.build`."""


@runtime_checkable
class MeasuresHost(Protocol):
    """A driver that measures its node, for those who weigh hosts by what they measure."""

    def metrics(self) -> dict[str, float]:
        """Return what was measured last, by name."""


@runtime_checkable
class ReportsLoad(Protocol):
    """A driver that tells how busy its node is; see ``of_this_machine`` in ``driver.py``."""

    def load(self) -> Load:
        """Return how busy the node is now."""


def of_this_machine() -> Load:
    """Return what ``uptime`` tells of it.

    :raises OSError: when the system does not say
    """
    return Load(averages=os.getloadavg(), users=len(psutil.users()))
