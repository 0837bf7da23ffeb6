"""What the operator says of libvirt on this host, and of live migrations from and to it."""

import dataclasses
import enum
import ipaddress
import pathlib
from collections.abc import Mapping
from typing import Final, Self

from oslo_config import cfg

from roost import exception
from roost.compute.virt.libvirt import pci
from roost.compute.virt.libvirt.cpu_sets import CpuSets
from roost.compute.virt.libvirt.cpus import KVM, CpuModel
from roost.compute.virt.libvirt.folder import QCOW2
from roost.compute.virt.libvirt.pci import DeviceSpec
from roost.hardware import traits
from roost.objects import consoles

_GIB: Final = 1024**3


class TimeoutAction(enum.Enum):
    """What is done about a move that takes too long."""

    ABORT = "abort"
    FORCE_COMPLETE = "force_complete"


@dataclasses.dataclass(frozen=True)
class MigrationSettings:
    """``uri``: where our libvirtd answers others; ``address``: where memory and disks come in.

    :param bandwidth: MiB that a move may send in a second; 0: all that there is
    :param downtime: ms that a guest may be held to complete its move
    :param seconds_per_gib: that a move may take for each GiB of memory and disks; 0: for ever
    """

    uri: str = "qemu+tls://localhost/system"
    address: str = "localhost"
    bandwidth: int = 0
    downtime: int = 500
    post_copy: bool = False
    auto_converge: bool = False
    seconds_per_gib: int = 800
    timeout_action: TimeoutAction = TimeoutAction.ABORT

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.libvirt
        address = group.live_migration_inbound_addr or conf.host
        return cls(
            uri=group.live_migration_uri or f"qemu+tls://{in_uri(address)}/system",
            address=address,
            bandwidth=group.live_migration_bandwidth,
            downtime=group.live_migration_downtime,
            post_copy=group.live_migration_permit_post_copy,
            auto_converge=group.live_migration_permit_auto_converge,
            seconds_per_gib=group.live_migration_completion_timeout,
            timeout_action=TimeoutAction(group.live_migration_timeout_action),
        )

    @property
    def traits(self) -> tuple[str, ...]:
        """What of this the scheduler is told."""
        said = {
            "COMPUTE_MIGRATE_AUTO_CONVERGE": self.auto_converge,
            "COMPUTE_MIGRATE_POST_COPY": self.post_copy,
        }
        return tuple(name for name, is_so in said.items() if is_so)

    def seconds(self, size: int) -> float | None:
        """Return what a move of so many bytes may take; None: as long as it likes."""
        return max(1.0, size / _GIB) * self.seconds_per_gib or None


def in_uri(address: str) -> str:
    """Return an address as it is written in a URI."""
    return f"[{address}]" if ":" in address else address


def is_number(address: str) -> bool:
    """Tell whether it is an address itself, not a name that stands for some."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


AUTO: Final = "auto"


@dataclasses.dataclass(frozen=True)
class LibvirtSettings:
    """``folder`` has all that guests have on disk; ``virt_type`` may be :data:`AUTO`.

    :param shutdown_seconds: that a guest's own system gets to end
    :param call_seconds: that libvirt gets to answer anything
    :param pcie_slots: of guests whose machine has PCIe, with those that their own devices take
    :param balloon_seconds: between two times that a guest tells how much memory it uses; 0: never
    :param devices: what may be given to guests
    :param base_seconds: that a base which no disk stands on is kept; 0: for ever
    :param base_bytes: that all bases may have; 0: any number; None: half of the file system
    :param screens: by which protocols new guests are seen, each once
    :param monitors: what is measured of the node, by the names of ``[compute] compute_monitors``
    :param images_type: the kind of files that new disks are in
    :param flags: features that CPUs have beside their model's, by name, or must not have
    """

    node: str
    folder: pathlib.Path
    uri: str = "qemu:///system"
    virt_type: str = AUTO
    machine: str | None = None
    cpu_mode: str | None = None
    cpu_model: str | None = None
    shutdown_seconds: float = 60.0
    call_seconds: float = 120.0
    pcie_slots: int = 16
    balloon_seconds: int = 10
    flags: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    base_seconds: float = 86400.0
    base_bytes: int | None = None
    ephemeral_format: str = "ext4"
    images_type: str = QCOW2
    devices: tuple[DeviceSpec, ...] = ()
    migration: MigrationSettings = dataclasses.field(default_factory=MigrationSettings)
    cpu_sets: CpuSets = dataclasses.field(default_factory=CpuSets)
    screens: tuple[str, ...] = (consoles.VNC,)
    monitors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.cpu_mode == "custom") != (self.cpu_model is not None):
            raise exception.Invalid(
                "[libvirt] cpu_model names the CPU for cpu_mode = custom, and for no other: set"
                " both or neither."
            )
        if self.flags and self.cpu_mode in (None, "none"):
            raise exception.Invalid(
                "[libvirt] cpu_model_extra_flags change the CPU of a cpu_mode: set that, too."
            )

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.libvirt
        default = pathlib.Path(conf.state_path, conf.host, "instances")
        return cls(
            node=conf.host,
            folder=pathlib.Path(group.instances_path or default),
            uri=group.connection_uri,
            virt_type=group.virt_type,
            machine=group.machine_type,
            cpu_mode=group.cpu_mode,
            cpu_model=group.cpu_model,
            shutdown_seconds=group.shutdown_timeout,
            pcie_slots=group.num_pcie_ports,
            balloon_seconds=group.mem_stats_period_seconds,
            flags={flag.lstrip("+-").lower(): not flag.startswith("-")
                   for flag in group.cpu_model_extra_flags},
            base_seconds=conf.compute.unused_image_lifetime,
            base_bytes=group.bases_max_bytes,
            ephemeral_format=group.default_ephemeral_format,
            images_type=group.images_type,
            devices=pci.parse(conf.pci.device_spec),
            migration=MigrationSettings.from_conf(conf),
            cpu_sets=CpuSets.from_conf(conf),
            screens=tuple(dict.fromkeys(group.screens)),
            monitors=tuple(conf.compute.compute_monitors),
        )  # fmt: skip

    @property
    def traits(self) -> tuple[str, ...]:
        """What guests can have here because it is set so."""
        by_spice = [traits.REDIRECTION] if consoles.SPICE in self.screens else []
        is_hosts = self.cpu_mode == "host-passthrough"
        of_host = [traits.HOST_ADDRESSES] if is_hosts else []
        return (*self.migration.traits, *by_spice, *of_host)

    def cpu(self, virt_type: str) -> CpuModel:
        """Return which CPU guests see. Emulated ones are QEMU's own: it need be like no other."""
        if self.cpu_mode == "none":
            return CpuModel()
        default = "host-model" if virt_type == KVM else None
        return CpuModel(self.cpu_mode or default, self.cpu_model, self.flags)
