"""The disks of a guest, as it sees them."""

import copy
import dataclasses
import pathlib
import string
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Final

from roost.compute.virt.libvirt.elements import element, find
from roost.compute.virt.libvirt.folder import kind_of
from roost.compute.virt.libvirt.tuning import Tuning
from roost.objects.hardware_values import IDE, SCSI, VIRTIO

# how the names of what is on a bus begin
_PREFIXES: Final = {IDE: "hd", "sata": "sd", SCSI: "sd", "usb": "sd", VIRTIO: "vd"}
_OF_ROOT_ALONE: Final = ("boot", "address", "alias")


@dataclasses.dataclass(frozen=True)
class Disk:
    """A disk in a file; ``device`` is where the guest finds it, if it names disks that way.

    What has no ``boot_order`` is not booted from.
    """

    path: pathlib.Path
    device: str
    boot_order: int | None = None
    bus: str = VIRTIO
    tuning: Tuning = dataclasses.field(default_factory=Tuning)

    def element(self) -> ET.Element:
        boot = None if self.boot_order is None else element("boot", order=self.boot_order)
        return element(
            "disk",
            element("driver", name="qemu", type=kind_of(self.path), discard="unmap"),
            element("source", file=self.path),
            element("target", dev=self.device, bus=self.bus),
            self.tuning.of_a_disk(),
            boot,
            type="file",
            device="disk",
        )


@dataclasses.dataclass(frozen=True)
class Drive:
    """A CD of the guest, as config drives are."""

    path: pathlib.Path
    device: str = "sda"
    bus: str = SCSI

    def element(self) -> ET.Element:
        return element(
            "disk",
            element("driver", name="qemu", type="raw"),
            element("source", file=self.path),
            element("target", dev=self.device, bus=self.bus),
            element("readonly"),
            type="file",
            device="cdrom",
        )


class Names:
    """The names of a guest's disks, in order on each bus.

    :param taken: those that are none of the next ones
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken}

    def next(self, bus: str) -> str:
        names = (f"{_PREFIXES[bus]}{letter}" for letter in string.ascii_lowercase)
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name


def root_disk(domain: ET.Element) -> ET.Element:
    """Return the disk that a domain is started from."""
    return find(domain, "devices/disk/boot[@order='1']/..")


def start_from(domain: ET.Element, path: pathlib.Path) -> None:
    """Have a domain start from another disk, with its own beside it, the last of all."""
    root, taken = root_disk(domain), domain.iterfind("devices/disk/target")
    beside = copy.deepcopy(root)
    for part in [one for name in _OF_ROOT_ALONE for one in beside.findall(name)]:
        beside.remove(part)
    target = find(beside, "target")
    target.set("dev", Names(one.attrib["dev"] for one in taken).next(target.attrib["bus"]))
    find(domain, "devices").append(beside)
    _put(root, path)


def start_from_own(domain: ET.Element, own: pathlib.Path) -> None:
    """Undo :func:`start_from`."""
    inside, root = find(domain, "devices"), root_disk(domain)
    for disk in inside.findall("disk"):
        if disk is not root and find(disk, "source").attrib["file"] == str(own):
            inside.remove(disk)
    _put(root, own)


def _put(disk: ET.Element, path: pathlib.Path) -> None:
    find(disk, "source").set("file", str(path))
    find(disk, "driver").set("type", kind_of(path))
