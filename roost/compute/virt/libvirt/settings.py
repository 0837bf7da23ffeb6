"""The driver's options, with those of live migration."""

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
from roost.compute.virt.libvirt.disk_exports import CopySettings
from roost.compute.virt.libvirt.folder import QCOW2
from roost.compute.virt.libvirt.pci import DeviceSpec
from roost.hardware import traits
from roost.objects import consoles

_GIB: Final = 1024**3


class TimeoutAction(enum.Enum):
    """The action when a live migration takes too long."""

    ABORT = "abort"
    FORCE_COMPLETE = "force_complete"


@dataclasses.dataclass(frozen=True)
class MigrationSettings:
    """``uri``: where other hosts reach this libvirtd; ``address``: where it receives guests.

    :param bandwidth: limit of a migration in MiB per second; 0: none
    :param downtime: ms that a guest may be paused to complete its migration
    :param native_tls: whether QEMU encrypts what it sends
    :param seconds_per_gib: timeout of a migration for each GiB of memory and disks; 0: none
    """

    uri: str = "qemu+tls://localhost/system"
    address: str = "localhost"
    bandwidth: int = 0
    downtime: int = 500
    post_copy: bool = False
    auto_converge: bool = False
    native_tls: bool = False
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
            native_tls=group.live_migration_with_native_tls,
            seconds_per_gib=group.live_migration_completion_timeout,
            timeout_action=TimeoutAction(group.live_migration_timeout_action),
        )

    def seconds(self, size: int) -> float | None:
        """Return the timeout of a migration of ``size`` bytes; None: none."""
        return max(1.0, size / _GIB) * self.seconds_per_gib or None


def in_uri(address: str) -> str:
    """Return an address as written in a URI."""
    return f"[{address}]" if ":" in address else address


def is_number(address: str) -> bool:
    """Return whether it is an IP address, not a host name."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


AUTO: Final = "auto"


@dataclasses.dataclass(frozen=True)
class LibvirtSettings:
    """``folder`` has all files of guests; ``virt_type`` may be :data:`AUTO`.

    :param shutdown_seconds: that a guest's operating system gets to shut down
    :param call_seconds: timeout of calls of libvirt
    :param pcie_slots: PCIe root ports of a guest, including those that its own devices use
    :param balloon_seconds: between two reports of a guest's memory usage; 0: never
    :param devices: the PCI devices that may be assigned to guests
    :param mdev_types: of the mediated devices that may be created for guests
    :param base_seconds: lifetime of an unused base image; 0: for ever
    :param base_bytes: limit of all base images; 0: none; None: half of the file system
    :param screens: graphical consoles of new guests, each once
    :param monitors: metrics of the node, by the names of ``[compute] compute_monitors``
    :param images_type: the file format of new disks
    :param tls: the folder of certificates for copies of disks; None: they are not encrypted
    :param flags: CPU features by name: True adds one to the model, False disables it
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
    mdev_types: tuple[str, ...] = ()
    migration: MigrationSettings = dataclasses.field(default_factory=MigrationSettings)
    tls: pathlib.Path | None = None
    cpu_sets: CpuSets = dataclasses.field(default_factory=CpuSets)
    screens: tuple[str, ...] = (consoles.VNC,)
    monitors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.cpu_mode == "custom") != (self.cpu_model is not None):
            raise exception.Invalid(
                "[libvirt] cpu_model and cpu_mode = custom belong together: set both or neither."
            )
        if self.flags and self.cpu_mode in (None, "none"):
            raise exception.Invalid(
                "[libvirt] cpu_model_extra_flags require a cpu_mode: set that, too."
            )

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.libvirt
        if conf.devices.enabled_mdev_types and "mdev" not in conf.compute.collectors:
            raise exception.Invalid(
                "[devices] enabled_mdev_types needs mdev among [compute] collectors: add it there."
            )
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
            mdev_types=tuple(conf.devices.enabled_mdev_types),
            migration=MigrationSettings.from_conf(conf),
            tls=pathlib.Path(group.migration_tls_dir) if group.migration_tls_dir else None,
            cpu_sets=CpuSets.from_conf(conf),
            screens=tuple(dict.fromkeys(group.screens)),
            monitors=tuple(conf.compute.compute_monitors),
        )  # fmt: skip

    @property
    def copies(self) -> CopySettings:
        """How disks of stopped guests go from host to host."""
        return CopySettings(self.migration.address, self.tls, self.migration.bandwidth)

    @property
    def traits(self) -> tuple[str, ...]:
        """The traits of features that these options enable for guests."""
        by_spice = [traits.REDIRECTION] if consoles.SPICE in self.screens else []
        is_hosts = self.cpu_mode == "host-passthrough"
        of_host = [traits.HOST_ADDRESSES] if is_hosts else []
        return (*by_spice, *of_host)

    def cpu(self, virt_type: str) -> CpuModel:
        """Return the guests' CPU model; without KVM the default is QEMU's own."""
        if self.cpu_mode == "none":
            return CpuModel()
        default = "host-model" if virt_type == KVM else None
        return CpuModel(self.cpu_mode or default, self.cpu_model, self.flags)
