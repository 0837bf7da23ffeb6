"""Guests as libvirt is told of them, of all kinds."""

import pathlib

from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt.agent import notes_of
from roost.compute.virt.libvirt.console import Console
from roost.compute.virt.libvirt.cpus import CpuModel, Topology
from roost.compute.virt.libvirt.disks import Disk, Drive, own_order
from roost.compute.virt.libvirt.domain import Domain
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.identity import GuestIdentity
from roost.compute.virt.libvirt.interfaces import GuestInterface, all_of
from roost.compute.virt.libvirt.mdevs import MediatedDevice
from roost.compute.virt.libvirt.pci import Device, DevicePoolKey, PciAddress
from roost.compute.virt.libvirt.server_metadata import InstanceElement
from roost.objects import InstanceNUMACell, InstanceNUMATopology
from tests.builders import NOW, a_flavor, a_vif, an_image, an_instance

FOLDER = pathlib.Path("/guests/one")
UUID = "6f0b4a1e-5f0c-4c8e-9a53-0c6a3f6d6f11"
ON_A_BRIDGE = {"type": "bridge", "details": {"bridge_name": '"br-vm"'}, "mtu": 1450}
ON_A_SWITCH = {"type": "ovs", "details": {"bridge_name": '"br-int"'}, "mtu": 1450}
ALONE = {"type": "tap", "mtu": 1450}


def a_hardware(specs=None, properties=None, *, vcpus=2, machine=None):
    """Return what a flavor and an image ask for."""
    flavor = a_flavor(extra_specs=specs or {}, vcpus=vcpus)
    instance = an_instance(flavor=flavor, image=an_image(properties=properties or {}))
    return Hardware.of(instance, machine=machine)


def a_server(*vifs, **values):
    """Return what a domain says of its server."""
    named = {"uuid": UUID, "display_name": "my server", "created_at": NOW}
    return InstanceElement(an_instance(**named | values), vifs)


def a_domain(**values):
    return Domain(
        **{
            "identity": GuestIdentity(UUID, 2),
            "name": f"instance-{UUID}",
            "server": a_server(),
            "vcpus": 2,
            "memory_mb": 512,
            "virt_type": "qemu",
            "console": Console(FOLDER / "console.log"),
            "hardware": a_hardware(),
            "disks": (Disk(FOLDER / "root.qcow2", "vda", boot_order=1),),
        }
        | values
    )


def a_topology(*, emulator_apart=False, **values):
    cells = [
        InstanceNUMACell.of(**{"id": 0, "cpus": [0], "pcpus": [1], "memory_mb": 256,
                               "host_cell": 1, "pinning": [6], "page_kb": 2048} | values),
        InstanceNUMACell.of(id=1, cpus=[2, 3], memory_mb=256, host_cell=0),
    ]  # fmt: skip
    resources = GuestResources(numa_topology=InstanceNUMATopology.of(cells=cells))
    return Topology.of(resources, floating={0: [0, 1], 1: [4, 5]}, emulator_apart=emulator_apart)


ALL_SPECS = {
    "hw:cpu_sockets": "1",
    "hw:tpm_model": "tpm-crb",
    "hw:tpm_version": "2.0",
    "hw:vif_multiqueue_enabled": "yes",
    "hw:watchdog_action": "poweroff",
    "hw_rng:rate_bytes": "64",
    "hw_rng:rate_period": "1000",
    "hw_video:ram_max_mb": "64",
    "os:secure_boot": "required",
    "quota:cpu_shares": "512",
    "quota:cpu_period": "20000",
    "quota:cpu_quota": "10000",
    "quota:disk_total_bytes_sec": "1000000",
    "quota:disk_total_iops_sec": "100",
    "quota:vif_inbound_average": "1000",
    "quota:vif_inbound_peak": "2000",
    "quota:vif_inbound_burst": "3000",
    "quota:vif_outbound_average": "500",
}
ALL_PROPERTIES = {
    "hw_boot_menu": "yes",
    "hw_cdrom_bus": "sata",
    "hw_disk_bus": "scsi",
    "hw_firmware_type": "uefi",
    "hw_input_bus": "virtio",
    "hw_machine_type": "q35",
    "hw_qemu_guest_agent": "yes",
    "hw_scsi_model": "lsilogic",
    "hw_video_model": "vga",
    "hw_video_ram": "64",
    "hw_vif_model": "virtio",
    "os_require_quiesce": "yes",
}

MACHINE_SPECS = {
    "hw:hide_hypervisor_id": "yes",
    "hw:locked_memory": "yes",
    "hw:maxphysaddr_bits": "40",
    "hw:maxphysaddr_mode": "emulate",
    "hw:mem_page_size": "small",
    "hw:pmu": "no",
    "hw:redirected_usb_ports": "2",
    "hw:serial_port_count": "3",
    "hw:sound_model": "ich9",
    "hw:usb_model": "nec-xhci",
    "hw:viommu_model": "auto",
    "hw:virtio_packed_ring": "yes",
}
MACHINE_PROPERTIES = {"hw_ipxe_boot": "yes", "hw_time_hpet": "no"}


def a_domain_of_a_machine(**values):
    """Return a guest whose flavor and image ask for all that a machine can have."""
    hardware = a_hardware(MACHINE_SPECS, MACHINE_PROPERTIES)
    order = own_order(network_boot=hardware.network_boot)
    root = Disk(FOLDER / "root.qcow2", "vda", order, packed=hardware.packed)
    vifs = [a_vif(**ON_A_BRIDGE), a_vif()]
    return a_domain(
        identity=GuestIdentity(UUID, 2, notes=notes_of(hardware)),
        hardware=hardware,
        topology=Topology(locked=hardware.locked),
        disks=(root,),
        interfaces=all_of(vifs, hardware.vifs, network_boot=hardware.network_boot),
        screens=("spice",),
        slots=8,
        **values,
    )


def a_demanding_domain():
    """Return a guest whose flavor and image ask for all that they can."""
    hardware = a_hardware(ALL_SPECS, ALL_PROPERTIES)
    root = Disk(FOLDER / "root", "sda", 1, bus=hardware.disk_bus, tuning=hardware.tuning)
    return a_domain(
        identity=GuestIdentity(UUID, 2, notes=notes_of(hardware)),
        hardware=hardware,
        disks=(root,),
        drive=Drive(FOLDER / "config_drive.iso", "sdb", hardware.cd_bus),
        interfaces=(
            GuestInterface.of(a_vif(**ON_A_BRIDGE), hardware.vifs),
            GuestInterface.of(a_vif()),
        ),
        slots=8,
    )


DOMAINS = {
    "plain": a_domain(),
    "without disks": a_domain(disks=()),
    "without a screen": a_domain(screens=()),
    "with two screens": a_domain(screens=("vnc", "spice")),
    "pinned": a_domain(vcpus=4, topology=a_topology(), cpu=CpuModel("host-model")),
    "of a named machine and cpu": a_domain(
        hardware=a_hardware(machine="pc"),
        cpu=CpuModel("custom", "Nehalem", {"aes": True, "vmx": False}),
    ),
    "with a virtual GPU": a_domain(
        devices=(MediatedDevice(UUID, "pci_0000_84_00_0", "nvidia-11"),)
    ),
    "of q35": a_domain(hardware=a_hardware(machine="q35"), slots=16),
    "with all": a_domain(
        virt_type="kvm",
        disks=(Disk(FOLDER / "root.qcow2", "vda", boot_order=1), Disk(FOLDER / "b", "vdb")),
        drive=Drive(FOLDER / "config_drive.iso"),
        interfaces=(GuestInterface.of(a_vif()), GuestInterface.of(a_vif(**ON_A_BRIDGE))),
    ),
    "with all that is asked for": a_demanding_domain(),
    "of a machine with all": a_domain_of_a_machine(),
    "of a machine with all, by KVM": a_domain_of_a_machine(virt_type="kvm"),
    "with a device": a_domain(
        devices=(
            Device(
                PciAddress("0000", "0a", "00", "0"),
                DevicePoolKey("10de", "1eb8", "type-PCI", 0, frozenset()),
            ),
        )
    ),
    "on Open vSwitch": a_domain(
        interfaces=(GuestInterface.of(a_vif(**ON_A_SWITCH)), GuestInterface.of(a_vif(**ALONE)))
    ),
    "with its own kernel": a_domain(
        kernel=DirectKernel(FOLDER / "kernel", FOLDER / "ramdisk", "console=ttyS0"),
        disks=(Disk(FOLDER / "root.raw", "vda", boot_order=1),),
    ),
    "with a strange name": a_domain(server=a_server(display_name="a <b> & \n\x01 \U0001f600")),
}
