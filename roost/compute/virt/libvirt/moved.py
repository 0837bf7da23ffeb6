"""A guest as libvirt is told of it when it comes: all as it was, but what is this host's own."""

import dataclasses
import pathlib
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Final

from roost import exception
from roost.compute.virt.libvirt.cpus import Topology
from roost.compute.virt.libvirt.elements import element, find, parse
from roost.compute.virt.libvirt.identity import Identity, note_attempt, written
from roost.compute.virt.libvirt.interfaces import Interface, VifShape, port_of
from roost.objects import Vif

_STARTED_BY: Final = ("os/kernel", "os/initrd")


@dataclasses.dataclass(frozen=True)
class Own:
    """What of a guest is this host's own.

    :param folder: where it has its files here, named as they were
    :param vifs: the interfaces that it has here, by port
    :param topology: where its CPUs and memory are on this host
    """

    folder: pathlib.Path
    vifs: Mapping[str, Vif]
    topology: Topology
    attempt: int


def moved(xml: str, own: Own) -> str:
    """Return the domain that a source has told of as it is to be on this host.

    :raises roost.exception.Conflict: when it has an interface that it is not to have here
    """
    domain = parse(xml)
    _move_files(domain, own.folder)
    _plug(domain, own.vifs)
    _place(domain, own.topology)
    note_attempt(domain, own.attempt)
    return written(domain)


def _move_files(domain: ET.Element, folder: pathlib.Path) -> None:
    for disk in domain.findall("devices/disk"):
        for found in (*disk.findall("backingStore"), *disk.findall("mirror")):
            disk.remove(found)  # libvirt looks for itself
    for path in ("devices/disk/source[@file]", "devices//log[@file]"):
        for one in domain.findall(path):
            one.set("file", str(folder / pathlib.Path(one.attrib["file"]).name))
    for path in _STARTED_BY:
        for one in domain.findall(path):
            one.text = str(folder / pathlib.Path(one.text or "").name)


def has_kernel(xml: str) -> bool:
    """Tell whether a guest is started by a kernel that is a file beside its disks."""
    return any(parse(xml).find(path) is not None for path in _STARTED_BY)


def _plug(domain: ET.Element, vifs: Mapping[str, Vif]) -> None:
    devices, shape = find(domain, "devices"), VifShape.noted(Identity.of(domain).notes)
    for old in domain.findall("devices/interface"):
        port_id = port_of(old)
        if port_id not in vifs:
            raise exception.Conflict(
                f"The guest {Identity.of(domain).uuid} has an interface of port {port_id}, which is"
                " not among those that are plugged at its destination."
            )
        new = Interface.of(vifs[port_id], shape).element()
        new.extend(old.findall("address"))  # where the guest finds it
        devices.insert(list(devices).index(old), new)
        devices.remove(old)


def _place(domain: ET.Element, topology: Topology) -> None:
    """Pin CPUs and memory to those of this host, as if the guest was made here."""
    vcpu = find(domain, "vcpu")
    new = topology.vcpu(int(vcpu.text or 0))
    vcpu.attrib.clear()
    vcpu.attrib.update(new.attrib)
    for old in domain.findall("numatune"):
        domain.remove(old)
    memory = topology.memory()
    if memory is not None:
        domain.append(memory)
    _pin(domain, topology.pins())


def _pin(domain: ET.Element, pins: list[ET.Element]) -> None:
    tuning = domain.find("cputune")
    if tuning is None:
        tuning = element("cputune")
        domain.append(tuning)
    for old in (*tuning.findall("vcpupin"), *tuning.findall("emulatorpin")):
        tuning.remove(old)
    tuning.extend(pins)
    if not len(tuning):
        domain.remove(tuning)
