"""What the operator says of libvirt on this host."""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Final, Self

from oslo_config import cfg

from roost import consoles, exception
from roost.compute.virt.libvirt import pci
from roost.compute.virt.libvirt.cpu_sets import CpuSets
from roost.compute.virt.libvirt.cpus import KVM, CpuModel
from roost.compute.virt.libvirt.folder import QCOW2
from roost.compute.virt.libvirt.migration_settings import MigrationSettings
from roost.compute.virt.libvirt.pci import DeviceSpec
from roost.objects import hardware_traits

AUTO: Final = "auto"


@dataclasses.dataclass(frozen=True)
class Settings:
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
            base_seconds=group.unused_base_lifetime,
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
        by_spice = [hardware_traits.REDIRECTION] if consoles.SPICE in self.screens else []
        is_hosts = self.cpu_mode == "host-passthrough"
        of_host = [hardware_traits.HOST_ADDRESSES] if is_hosts else []
        return (*self.migration.traits, *by_spice, *of_host)

    def cpu(self, virt_type: str) -> CpuModel:
        """Return which CPU guests see. Emulated ones are QEMU's own: it need be like no other."""
        if self.cpu_mode == "none":
            return CpuModel()
        default = "host-model" if virt_type == KVM else None
        return CpuModel(self.cpu_mode or default, self.cpu_model, self.flags)
