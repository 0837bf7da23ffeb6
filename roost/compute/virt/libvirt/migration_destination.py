"""Live migration with libvirt: the destination's side.

``moved`` changes the source's domain only where this host differs: paths, interfaces, and the
pinning of CPUs and memory.
"""

import dataclasses
import os
import pathlib
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from typing import Any, Final

import libvirt

from roost import exception
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import console, images
from roost.compute.virt.libvirt.base_images import BaseImages
from roost.compute.virt.libvirt.cpus import KVM, Topology
from roost.compute.virt.libvirt.elements import element, find, parse
from roost.compute.virt.libvirt.folder import GuestFolder
from roost.compute.virt.libvirt.identity import GuestIdentity, note_attempt, written
from roost.compute.virt.libvirt.interfaces import GuestInterface, VifShape, port_of
from roost.compute.virt.libvirt.presence import Residents, stood_still
from roost.compute.virt.libvirt.settings import MigrationSettings, in_uri
from roost.compute.virt.live_migration import (
    MigrationDestination,
    MigrationSource,
    MovingDisk,
    check_absent,
)
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo, Vif
from roost.operations.presence import Presence

_STARTED_BY: Final = ("os/kernel", "os/initrd")


@dataclasses.dataclass(frozen=True)
class Own:
    """What a guest has on this host instead of its values on the source.

    :param folder: the folder of its files, whose names stay
    :param vifs: its interfaces as plugged on this host, by port
    :param topology: the pinning of its CPUs and memory on this host
    """

    folder: pathlib.Path
    vifs: Mapping[str, Vif]
    topology: Topology
    attempt: int


def moved(xml: str, own: Own) -> str:
    """Return the source's domain as it will be on this host.

    :raises roost.exception.Conflict: when it has an interface that is not plugged here
    """
    domain = parse(xml)
    _move_files(domain, own.folder)
    _plug(domain, own.vifs)
    _allocate(domain, own.topology)
    note_attempt(domain, own.attempt)
    return written(domain)


def _move_files(domain: ET.Element, folder: pathlib.Path) -> None:
    for disk in domain.findall("devices/disk"):
        for found in (*disk.findall("backingStore"), *disk.findall("mirror")):
            disk.remove(found)  # libvirt detects these itself
    for path in ("devices/disk/source[@file]", "devices//log[@file]"):
        for one in domain.findall(path):
            one.set("file", str(folder / pathlib.Path(one.attrib["file"]).name))
    for path in _STARTED_BY:
        for one in domain.findall(path):
            one.text = str(folder / pathlib.Path(one.text or "").name)


def has_kernel(xml: str) -> bool:
    """Return whether a guest boots directly from a kernel file."""
    return any(parse(xml).find(path) is not None for path in _STARTED_BY)


def _plug(domain: ET.Element, vifs: Mapping[str, Vif]) -> None:
    devices, shape = find(domain, "devices"), VifShape.noted(GuestIdentity.of(domain).notes)
    for old in domain.findall("devices/interface"):
        port_id = port_of(old)
        if port_id not in vifs:
            raise exception.Conflict(
                f"The guest {GuestIdentity.of(domain).uuid} has an interface of port {port_id},"
                " which is not among those that are plugged at its destination."
            )
        new = GuestInterface.of(vifs[port_id], shape).element()
        new.extend(old.findall("address"))  # its PCI address in the guest
        devices.insert(list(devices).index(old), new)
        devices.remove(old)


def _allocate(domain: ET.Element, topology: Topology) -> None:
    """Pin CPUs and memory to those of this host, as if the guest was built here."""
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


_NO_GUEST: Final = (Presence.ABSENT, Presence.ROOM)
_OF_THE_HOST: Final = "host-passthrough"
_FITS: Final = (libvirt.VIR_CPU_COMPARE_IDENTICAL, libvirt.VIR_CPU_COMPARE_SUPERSET)


class LibvirtMigrationDestinations:
    """Implements :class:`roost.compute.virt.live_migration.MigrationDestinations` with libvirt.

    :param virt_type: returns the host's virtualization type, such as ``kvm``
    :param topology: returns the pinning of an instance's CPUs on this host
    """

    def __init__(
        self,
        residents: Residents,
        bases: BaseImages,
        *,
        node: str,
        settings: MigrationSettings,
        virt_type: Callable[[], str],
        topology: Callable[[Instance, GuestResources], Topology],
    ) -> None:
        self._residents = residents
        self._bases = bases
        self._node = node
        self._settings = settings
        self._virt_type = virt_type
        self._topology = topology

    def check(self, outgoing: MigrationSource) -> None:
        self._check_absent(outgoing.uuid)
        self._check_hypervisor(outgoing)
        self._check_cpu(outgoing)
        if not self._shares(outgoing):
            self._check_files(outgoing)

    def prepare(
        self,
        context: RequestContext,
        instance: Instance,
        outgoing: MigrationSource,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
        resources: GuestResources,
    ) -> MigrationDestination:
        self._check_absent(outgoing.uuid)
        folder, is_shared = self._residents.folders.of(outgoing.uuid), self._shares(outgoing)
        folder.remove()
        own = Own(
            folder=folder.path,
            vifs={vif.id: vif for vif in network_info.vifs},
            topology=self._topology(instance, resources),
            attempt=instance.attempt,
        )
        definition = moved(outgoing.details["definition"], own)
        folder.make(definition)
        if not is_shared:
            self._make_room(folder, outgoing, image_path)
        stands = any(disk.base for disk in outgoing.disks)
        return MigrationDestination(
            uuid=outgoing.uuid,
            node=self._node,
            copied=() if is_shared else tuple(disk.device for disk in outgoing.disks),
            whole=stands and image_path is None,
            details={
                "uri": self._settings.uri,
                "memory_uri": f"tcp://{in_uri(self._settings.address)}",
                "address": self._settings.address,
                "domain": moved(outgoing.details["domain"], own),
                "definition": definition,
            },
        )

    def finish(self, instance: Instance, console: bytes) -> int | None:
        uuid = instance.uuid
        if self._residents.presence(uuid) in _NO_GUEST:
            raise exception.Conflict(f"The guest {uuid} has not arrived on this host.")
        self._residents.require(uuid, Presence.HERE, Presence.STOPPED)
        folder = self._residents.folders.of(uuid)
        plan = folder.plan.read_text()
        self._residents.on(uuid, "define a guest", lambda domain: _keep(domain, plan))
        _keep_console(folder, console)
        folder.announced.touch()
        paused: int | None = self._residents.on(uuid, "read how a guest has come", stood_still)
        return paused

    def cancel(self, uuid: str) -> None:
        self._check_absent(uuid)
        self._residents.folders.of(uuid).remove()

    def _check_absent(self, uuid: str) -> None:
        check_absent(uuid, self._residents.presence(uuid), self._node)

    def _check_hypervisor(self, outgoing: MigrationSource) -> None:
        kind, version = self._residents.connection.call(
            "describe its host", lambda opened: (opened.getType(), opened.getVersion())
        )
        theirs = (outgoing.hypervisor_type, outgoing.hypervisor_version)
        if kind != theirs[0] or version < theirs[1]:
            raise self._cannot_run(
                outgoing,
                f"this host has {kind} {version}, its source {theirs[0]} {theirs[1]}; guests can be"
                " migrated to the same version or a later one",
            )
        virt_type = parse(outgoing.details["domain"]).attrib["type"]
        if virt_type == KVM != self._virt_type():
            raise self._cannot_run(outgoing, "it runs with KVM, which this host does not have")

    def _check_cpu(self, outgoing: MigrationSource) -> None:
        """Check that libvirt can provide the guest's CPU here."""
        domain = parse(outgoing.details["domain"])
        cpu, kind = domain.find("cpu"), find(domain, "os/type")
        wanted = None if cpu is None else ET.tostring(cpu, encoding="unicode")
        if cpu is not None and cpu.get("mode") == _OF_THE_HOST:
            wanted = outgoing.details["host_cpu"]
        about = (kind.get("arch"), kind.get("machine"), domain.attrib["type"])

        def compare(opened: Any) -> int:
            opened.getDomainCapabilities(None, *about)
            if wanted is None:
                return int(libvirt.VIR_CPU_COMPARE_IDENTICAL)
            return int(opened.compareHypervisorCPU(None, *about, wanted))

        try:
            fits = self._residents.connection.call("compare CPUs", compare) in _FITS
        except libvirt.libvirtError as error:
            raise self._cannot_run(outgoing, str(error)) from error
        if not fits:
            raise self._cannot_run(outgoing, "its CPU has features that this host lacks")

    def _check_files(self, outgoing: MigrationSource) -> None:
        """Check that the guest's files can be copied here."""
        if has_kernel(outgoing.details["domain"]):
            raise self._cannot_run(
                outgoing,
                "it boots directly from a kernel file, which is not copied; this is possible only"
                " between hosts that share their storage",
            )
        folders = self._residents.folders
        folders.make()
        free, needed = shutil.disk_usage(folders.path).free, sum(d.used for d in outgoing.disks)
        if free < needed:
            raise exception.NoCapacity(
                f"The disks of the guest {outgoing.uuid} need {needed} bytes, and {self._node} has"
                f" {free} free."
            )

    def _cannot_run(self, outgoing: MigrationSource, why: str) -> exception.Unsupported:
        message = f"{self._node} cannot run the guest {outgoing.uuid} of {outgoing.node}: {why}."
        return exception.Unsupported(message)

    def _shares(self, outgoing: MigrationSource) -> bool:
        """Return whether both hosts share the storage of the guest's disks."""
        folders = self._residents.folders
        folder = folders.of(outgoing.uuid)
        return folder.is_shared and folders.storage() == outgoing.storage

    def _make_room(
        self, folder: GuestFolder, outgoing: MigrationSource, image_path: pathlib.Path | None
    ) -> None:
        self._residents.folders.make()
        for disk in outgoing.disks:
            self._make_disk(folder.path / disk.name, disk, image_path)
        if outgoing.config_drive is not None:
            folder.drive.write_bytes(outgoing.config_drive)
        folder.started.touch()
        started = outgoing.details.get("started")
        if started is not None:
            os.utime(folder.started, (started, started))

    def _make_disk(
        self, path: pathlib.Path, disk: MovingDisk, image_path: pathlib.Path | None
    ) -> None:
        if disk.base is None or image_path is None:
            images.blank(path, size=disk.size)
            return
        with self._bases.held(image_path, images.inspect(image_path)) as base:
            if base.name != disk.base:
                raise exception.Conflict(
                    f"The backing file of the disk {disk.name} is {disk.base}, not {base.name}."
                )
            images.create(path, size=disk.size, base=base)


def _keep(domain: Any, plan: str) -> None:
    """Define the guest persistently, if the migration failed to at its end."""
    if not domain.isPersistent():
        domain.connect().defineXML(plan)


def _keep_console(folder: GuestFolder, log: bytes) -> None:
    if log:
        console.write_before(folder.console, log)
