"""The resources and traits of a node, from libvirt and the kernel."""

import dataclasses
import datetime
import pathlib
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any, Final

from roost.compute.virt.libvirt import images
from roost.compute.virt.libvirt.cpus import KVM
from roost.compute.virt.libvirt.elements import find, texts
from roost.hardware import traits as hardware_traits
from roost.hardware.values import BUSES, VIDEO_MODELS, VIF_MODELS
from roost.objects import NUMACell, PciPool

PROC: Final = pathlib.Path("/proc")
_KIB_PER_MIB: Final = 1024
_BYTES_PER_GIB: Final = 1024**3
_ORDINARY_PAGE: Final = "4"  # KiB
_LIBVIRTS: Final = ("libvirtd", "virtqemud")
_CAP_SYS_RESOURCE: Final = 24
_X86: Final = "x86_64"
_ALSO_RUNS: Final = {_X86: ("i686",)}
_ALWAYS: Final = (
    "COMPUTE_NODE",
    *(f"COMPUTE_NET_VIF_MODEL_{name.upper()}" for name in VIF_MODELS),
    *(f"COMPUTE_STORAGE_BUS_{name.upper()}" for name in BUSES),
    *(f"COMPUTE_GRAPHICS_MODEL_{name.upper()}" for name in VIDEO_MODELS if name != "none"),
    *hardware_traits.SOUND.values(),
    *hardware_traits.USB.values(),
    hardware_traits.NETWORK_BOOT,
    hardware_traits.PACKED,
    hardware_traits.PMU,
    "COMPUTE_IMAGE_TYPE_ISO",
    *(f"COMPUTE_IMAGE_TYPE_{name.upper()}" for name in images.EXPORTS),
)
_OF_PCS: Final = (
    *hardware_traits.VIOMMU.values(),
    hardware_traits.EMULATED_ADDRESSES,
    hardware_traits.HIDDEN,
    hardware_traits.HPET,
    hardware_traits.SERIAL_PORTS,
)
# libvirt's CPU features for which os-traits has a name.
_CPU_TRAITS: Final = {
    **{name: f"HW_CPU_X86_{name.upper()}" for name in ("avx", "avx2", "f16c", "vmx", "svm", "sse")},
    **{name: f"HW_CPU_X86_{name.upper()}" for name in ("sse2", "ssse3", "fma", "bmi1", "bmi2")},
    **{name: f"HW_CPU_X86_{name.upper()}" for name in ("avx512f", "avx512bw", "avx512cd")},
    **{name: f"HW_CPU_X86_{name.upper()}" for name in ("avx512dq", "avx512vl", "mmx", "clflush")},
    "aes": "HW_CPU_X86_AESNI",
    "sse4.1": "HW_CPU_X86_SSE41",
    "sse4.2": "HW_CPU_X86_SSE42",
}


@dataclasses.dataclass(frozen=True)
class LibvirtNode:
    """The node's description, read at its first use.

    Collectors follow memory and CPUs, the disk and the devices; the rest is constant.
    """

    capabilities: ET.Element
    hypervisor_type: str
    hypervisor_version: int
    virt_type: str
    memory_mb: int
    cells: tuple[NUMACell, ...]
    disk_gb: int
    traits: tuple[str, ...] = ()
    pci_pools: tuple[PciPool, ...] = ()

    @property
    def vcpus(self) -> int:
        """How many CPUs guests share."""
        return sum(len(cell.cpus) for cell in self.cells)

    @property
    def pcpus(self) -> int:
        """How many CPUs are dedicated to one guest each."""
        return sum(len(cell.pcpus) for cell in self.cells)

    @property
    def floating(self) -> dict[int, list[int]]:
        """The CPUs that guests share, by cell."""
        return {cell.id: list(cell.cpus) for cell in self.cells}


def cells(capabilities: ET.Element, *, memory_mb: int) -> tuple[NUMACell, ...]:
    """Return the NUMA cells that libvirt reports.

    libvirt may count only the memory that the kernel has brought online so far; so the only cell of
    a node has all memory of the node.
    """
    found = capabilities.findall("host/topology/cells/cell")
    only = memory_mb if len(found) == 1 else None
    return tuple(_cell(cell, memory_mb=only) for cell in found)


def _cell(cell: ET.Element, *, memory_mb: int | None) -> NUMACell:
    cpus = cell.findall("cpus/cpu")
    siblings = {cpu.get("siblings", cpu.attrib["id"]) for cpu in cpus}
    sockets = {int(cpu.attrib["socket_id"]) for cpu in cpus if "socket_id" in cpu.attrib}
    pages = {page.attrib["size"]: int(page.text or 0) for page in cell.findall("pages")}
    pages.pop(_ORDINARY_PAGE, None)
    reported = int(cell.findtext("memory") or 0) // _KIB_PER_MIB
    return NUMACell.of(
        id=int(cell.attrib["id"]),
        cpus=sorted(int(cpu.attrib["id"]) for cpu in cpus),
        pcpus=[],
        memory_mb=reported if memory_mb is None else memory_mb,
        siblings=sorted(numbers for text in siblings if len(numbers := _numbers(text)) > 1),
        page_counts={size: count for size, count in pages.items() if count},
        socket=sockets.pop() if len(sockets) == 1 else None,
    )


def _numbers(text: str) -> list[int]:
    """Parse libvirt's lists of numbers: 0,2-4."""
    ends = (part.split("-") for part in text.split(","))
    return [at for first, *last in ends for at in range(int(first), int([first, *last][-1]) + 1)]


def architectures(capabilities: ET.Element) -> tuple[str, ...]:
    arch = find(capabilities, "host/cpu/arch").text or ""
    return (arch, *_ALSO_RUNS.get(arch, ()))


def cpu_info(capabilities: ET.Element) -> dict[str, Any]:
    """Return the CPU description that the API shows to operators."""
    cpu = find(capabilities, "host/cpu")
    topology = cpu.find("topology")
    shape = {} if topology is None else topology.attrib
    return {
        **dict(texts(cpu, "arch", "model", "vendor")),
        "topology": {name: int(shape[name]) for name in ("sockets", "cores", "threads")
                     if name in shape},
        "features": sorted(_features(capabilities)),
    }  # fmt: skip


def comparable(cpu_info: Mapping[str, Any]) -> dict[str, str]:
    """Return the same as flat texts, for extra specs of the scope ``capabilities``."""
    shape = {f"topology:{name}": str(many) for name, many in cpu_info["topology"].items()}
    plain = {name: cpu_info[name] for name in ("arch", "model", "vendor") if name in cpu_info}
    found = plain | shape | {"features": ",".join(cpu_info["features"])}
    return {f"cpu_info:{name}": text for name, text in found.items()}


def traits(capabilities: ET.Element, *, virt_type: str) -> tuple[str, ...]:
    """Return the node's traits; an emulated CPU has none of the node's CPU features."""
    features = _features(capabilities) if virt_type == KVM else set()
    own = {_CPU_TRAITS[name] for name in features if name in _CPU_TRAITS}
    if find(capabilities, "host/cpu/arch").text == _X86:
        own.update(_OF_PCS)
    return tuple(sorted({*_ALWAYS, *own, *memory_traits()}))


def _features(capabilities: ET.Element) -> set[str]:
    return {one.attrib["name"] for one in capabilities.findall("host/cpu/feature")}


def memory_mb(proc: pathlib.Path = PROC) -> int:
    """Return the node's total memory, from ``/proc/meminfo``."""
    for line in (proc / "meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return int(value.split()[0]) // _KIB_PER_MIB
    raise ValueError("/proc/meminfo has no MemTotal")


def memory_traits(proc: pathlib.Path = PROC) -> tuple[str, ...]:
    """Return the trait of locked memory, if libvirt may lock its guests' memory."""
    return (hardware_traits.LOCKED,) if any(map(_may_lock, proc.glob("[0-9]*"))) else ()


def _may_lock(process: pathlib.Path) -> bool:
    """Return whether a process is a libvirt daemon that may lock any amount of memory."""
    try:
        if (process / "comm").read_text().strip() not in _LIBVIRTS:
            return False
        lines = (process / "status").read_text().splitlines()
    except OSError:  # the process has ended
        return False
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return bool(int(fields.get("CapEff", "0"), 16) >> _CAP_SYS_RESOURCE & 1)


def booted_at(proc: pathlib.Path = PROC) -> datetime.datetime | None:
    """Return when the node booted."""
    for line in (proc / "stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "btime":
            return datetime.datetime.fromtimestamp(int(value), datetime.UTC)
    return None


def disk_gb(folder: pathlib.Path) -> int:
    """Return the size of a folder's file system."""
    return shutil.disk_usage(folder).total // _BYTES_PER_GIB
