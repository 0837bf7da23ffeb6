"""The libvirt elements of a guest's disks, and the boot order."""

import copy
import dataclasses
import pathlib
import string
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Final

from roost.compute.virt.libvirt.elements import element, find
from roost.compute.virt.libvirt.folder import RAW, kind_of
from roost.compute.virt.libvirt.tuning import Tuning
from roost.hardware.values import IDE, SCSI, VIRTIO

# device name prefixes by bus
_PREFIXES: Final = {IDE: "hd", "sata": "sd", SCSI: "sd", "usb": "sd", VIRTIO: "vd"}
# Boot order: a guest with network boot tries its own disk last.
FIRST: Final = 1
NETWORK: Final = 2
AFTER_NETWORK: Final = 3
_OF_ROOT_ALONE: Final = ("boot", "address", "alias")


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk in a file; ``device`` is its device name in the guest, as far as the guest follows it.

    The guest does not boot from a disk without ``boot_order``.
    """

    path: pathlib.Path
    device: str
    boot_order: int | None = None
    bus: str = VIRTIO
    tuning: Tuning = dataclasses.field(default_factory=Tuning)
    packed: bool = False

    def element(self) -> ET.Element:
        boot = None if self.boot_order is None else element("boot", order=self.boot_order)
        driver = element("driver", name="qemu", type=kind_of(self.path), discard="unmap")
        if self.packed and self.bus == VIRTIO:
            driver.set("packed", "on")
        return element(
            "disk",
            driver,
            element("source", file=self.path),
            element("target", dev=self.device, bus=self.bus),
            self.tuning.of_a_disk(),
            boot,
            type="file",
            device="disk",
        )


@dataclasses.dataclass(frozen=True)
class Drive:
    """A CD of the guest, such as its config drive."""

    path: pathlib.Path
    device: str = "sda"
    bus: str = SCSI
    kind: str = RAW

    def element(self) -> ET.Element:
        return element(
            "disk",
            element("driver", name="qemu", type=self.kind),
            element("source", file=self.path),
            element("target", dev=self.device, bus=self.bus),
            element("readonly"),
            type="file",
            device="cdrom",
        )


class DiskNames:
    """The device names of a guest's disks, in order on each bus.

    :param taken: names that are used already
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken}

    def next(self, bus: str) -> str:
        names = (f"{_PREFIXES[bus]}{letter}" for letter in string.ascii_lowercase)
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name


def own_order(*, network_boot: bool) -> int:
    """Return the boot order of a guest's own disk."""
    return AFTER_NETWORK if network_boot else FIRST


def root_disk(domain: ET.Element) -> ET.Element:
    """Return the disk that a domain boots from."""
    disks = [disk for disk in domain.iterfind("devices/disk") if disk.find("boot") is not None]
    return min(disks, key=lambda disk: int(find(disk, "boot").attrib["order"]))


def start_from(domain: ET.Element, path: pathlib.Path) -> None:
    """Change a domain to boot from another disk, and attach its own root disk as the last."""
    root = root_disk(domain)
    beside = copy.deepcopy(root)
    for part in [one for name in _OF_ROOT_ALONE for one in beside.findall(name)]:
        beside.remove(part)
    target = find(beside, "target")
    target.set("dev", _free_names(domain).next(target.attrib["bus"]))
    find(domain, "devices").append(beside)
    _put(root, path)
    _boot(root, FIRST)


def start_from_other(domain: ET.Element, rescuer: Disk | Drive, *, bus: str) -> None:
    """Change a domain to boot from an additional disk or CD; all others keep their positions."""
    added = dataclasses.replace(rescuer, device=_free_names(domain).next(bus), bus=bus).element()
    _boot(root_disk(domain), AFTER_NETWORK)
    _boot(added, FIRST)
    find(domain, "devices").append(added)


def start_from_own(domain: ET.Element, own: pathlib.Path) -> None:
    """Undo :func:`start_from` or :func:`start_from_other`."""
    inside, root = find(domain, "devices"), root_disk(domain)
    of_own = [disk for disk in inside.findall("disk") if _file_of(disk) == str(own)]
    kept = next((disk for disk in of_own if disk.find("boot") is not None), root)
    for disk in {root, *of_own} - {kept}:
        inside.remove(disk)
    _put(kept, own)
    by_network = domain.find("devices/interface/boot") is not None
    _boot(kept, own_order(network_boot=by_network))


def _free_names(domain: ET.Element) -> DiskNames:
    return DiskNames(one.attrib["dev"] for one in domain.iterfind("devices/disk/target"))


def _file_of(disk: ET.Element) -> str | None:
    source = disk.find("source")
    return None if source is None else source.get("file")


def _boot(disk: ET.Element, order: int) -> None:
    found = disk.find("boot")
    if found is None:
        found = ET.SubElement(disk, "boot")
    found.set("order", str(order))


def _put(disk: ET.Element, path: pathlib.Path) -> None:
    find(disk, "source").set("file", str(path))
    find(disk, "driver").set("type", kind_of(path))
