"""The libvirt driver."""

import contextlib
import dataclasses
import functools
import logging
import pathlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final, Self, TypeVar

from oslo_config import cfg

from roost import concurrency, exception, states
from roost.compute.collectors import DriverCollector
from roost.compute.virt import driver
from roost.compute.virt.driver import (
    Diagnostics,
    Guest,
    GuestResources,
    HostResources,
    Kernel,
    Load,
)
from roost.compute.virt.libvirt import (
    agent,
    console,
    guests,
    images,
    interfaces,
    pci,
    screen,
    serial,
    snapshot,
)
from roost.compute.virt.libvirt.base_images import BaseImages, base_of
from roost.compute.virt.libvirt.cold_moves import LibvirtColdMoves
from roost.compute.virt.libvirt.connection import Connection
from roost.compute.virt.libvirt.console import Console
from roost.compute.virt.libvirt.cpus import Topology
from roost.compute.virt.libvirt.devices import Balloon
from roost.compute.virt.libvirt.disks import DiskNames, Drive
from roost.compute.virt.libvirt.domain import Domain
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.folder import Folders
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.identity import GuestIdentity, is_guest
from roost.compute.virt.libvirt.layout import DiskLayout
from roost.compute.virt.libvirt.mdevs import MediatedDevices
from roost.compute.virt.libvirt.migration_destination import LibvirtMigrationDestinations
from roost.compute.virt.libvirt.migration_source import LibvirtMigrationSources
from roost.compute.virt.libvirt.new_disks import NewDisks
from roost.compute.virt.libvirt.node_reader import NodeReader
from roost.compute.virt.libvirt.presence import Residents
from roost.compute.virt.libvirt.rescue import Rescuer
from roost.compute.virt.libvirt.server_metadata import InstanceElement
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.context import RequestContext
from roost.objects import ImageMeta, Instance, NetworkInfo, Vif, consoles
from roost.objects.instance import guest_name
from roost.operations.presence import Presence

LOG = logging.getLogger(__name__)
T = TypeVar("T")
_LONG: Final = 3600.0  # seconds that a start, or saving memory, may take
_LOOK: Final = 0.1


class LibvirtDriver:
    """Runs guests as libvirt domains, each with a folder of its own."""

    def __init__(self, settings: LibvirtSettings) -> None:
        self._settings = settings
        self._folders = Folders(settings.folder, settings.node)
        self._bases = BaseImages(
            self._folders.bases,
            in_use=lambda: {base for disk in self._folders.disks() if (base := base_of(disk))},
            lifetime=settings.base_seconds,
            most=settings.base_bytes,
            node=self._folders.node,
        )
        self._new = NewDisks(self._bases, settings.images_type, settings.ephemeral_format)
        self._connection = Connection(settings.uri, seconds=settings.call_seconds)
        self._mdevs = MediatedDevices(lambda: self._connection, settings.mdev_types)
        self._pci = pci.NodeDevices(lambda: self._connection, settings.devices)
        self._devices_lock = threading.Lock()
        self._node = NodeReader(
            lambda: self._connection, settings, devices=self._pci, begin=self._begin
        )
        self._residents = Residents(self._connection, self._folders)
        self._departures = LibvirtMigrationSources(
            self._residents, node=settings.node, settings=settings.migration
        )
        self._arrivals = LibvirtMigrationDestinations(
            self._residents,
            self._bases,
            node=settings.node,
            settings=settings.migration,
            virt_type=lambda: self._node.known().virt_type,
            topology=lambda instance, resources: self._topology(
                resources, Hardware.of(instance, machine=settings.machine)
            ),
        )
        self._cold_moves = LibvirtColdMoves(
            self._residents,
            self._new,
            settings.copies,
            make=lambda instance, layout, info, resources, with_drive: self._domain(
                instance, layout, info, resources, with_drive=with_drive
            ),
            plan=self._plan,
        )

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        if concurrency.selected() != concurrency.THREADING:
            raise exception.Invalid(
                "[compute] virt_driver = libvirt requires concurrency = threading: libvirt's"
                " binding would block all green threads."
            )
        return cls(LibvirtSettings.from_conf(conf))

    def resources(self) -> HostResources:
        return self._node.resources()

    def collectors(self) -> dict[str, DriverCollector]:
        return self._node.collectors()

    def load(self) -> Load:
        return driver.of_this_machine()

    def list_guests(self) -> list[str]:
        planned = self._folders.uuids()

        def without_plan(opened: Any) -> set[str]:
            others = [one for one in opened.listAllDomains() if one.UUIDString() not in planned]
            return {one.UUIDString() for one in others if is_guest(one)}

        return sorted(planned | self._connection.call("list guests", without_plan))

    def exists(self, uuid: str) -> bool:
        return uuid in self.list_guests()

    def describe(self, uuid: str) -> Guest:
        try:
            found = self._on(uuid, "describe a guest", guests.describe)
        except exception.NotFound:
            found = self._planned(uuid)
        announced = self._folders.of(uuid).announced.exists()
        return dataclasses.replace(found, cut_off=self._is_cut_off(found), announced=announced)

    def note_announced(self, uuid: str) -> None:
        try:
            self._folders.of(uuid).announced.touch()
        except FileNotFoundError as error:
            raise exception.NotFound(f"There is no guest {uuid} on this host.") from error

    def spawn(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.destroy(instance.uuid)
        declared = images.declared_kind(instance.image.disk_format) if instance.image else None
        image = None if image_path is None else images.inspect(image_path, declared=declared)
        layout, folder = DiskLayout.of(instance, image), self._folders.of(instance.uuid)
        domain = self._domain(
            instance, layout, network_info, resources, with_drive=config_drive is not None
        )
        if kernel is not None:
            domain = dataclasses.replace(domain, kernel=DirectKernel.of(kernel, folder))
        xml = self._plan(domain, resources, folder.make)
        self._new.root(folder, layout, image_path, image)
        self._new.blanks(folder, layout)
        self._new.beside(folder, config_drive, kernel)
        self._connection.call("define a guest", lambda opened: opened.defineXML(xml))
        self._start(instance.uuid)

    def check(self, instance: Instance) -> None:
        hardware = Hardware.of(instance, machine=self._settings.machine)
        for device in instance.provisions.block_devices if instance.provisions else ():
            hardware.bus(device.disk_bus)

    def destroy(self, uuid: str) -> None:
        with contextlib.suppress(exception.NotFound):
            self._on(uuid, "remove a guest", guests.remove)
        self._mdevs.remove(self._folders.of(uuid).plan)
        self._folders.of(uuid).remove()

    def power_off(self, uuid: str) -> None:
        self._end(uuid)
        self._on(uuid, "stop a guest", guests.stop)

    def power_on(self, uuid: str) -> None:
        self._start(uuid)

    def reboot(self, uuid: str, *, hard: bool) -> None:
        if not hard:
            self._end(uuid)
        self._on(uuid, "stop a guest", guests.stop)
        self._start(uuid)

    def pause(self, uuid: str) -> None:
        self._on(uuid, "pause a guest", guests.pause)

    def unpause(self, uuid: str) -> None:
        self._on(uuid, "unpause a guest", guests.unpause)

    def suspend(self, uuid: str) -> None:
        self._on(uuid, "save a guest's memory", guests.suspend, seconds=_LONG)

    def resume(self, uuid: str) -> None:
        self._on(uuid, "restore a guest's memory", guests.resume, seconds=_LONG)

    def rescue(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image: ImageMeta,
        image_path: pathlib.Path,
        password: str | None,
        kernel: Kernel | None = None,
    ) -> None:
        uuid, folder = instance.uuid, self._folders.of(instance.uuid)
        if not self._on(uuid, "describe a guest", guests.describe).rescued:
            rescuer = Rescuer.of(instance, image)
            self._new.rescue(folder, rescuer, instance, image_path)
            direct = None if kernel is None else DirectKernel.of_rescue(kernel, folder)
            if kernel is not None and direct is not None:
                direct.copy_files(kernel)
            self.power_off(uuid)
            be_rescued = functools.partial(
                guests.be_rescued, rescuer=rescuer, disk=folder.rescue, kernel=direct
            )
            self._on(uuid, "rescue a guest", be_rescued)
        self._start(uuid)

    def unrescue(self, uuid: str) -> None:
        folder = self._folders.of(uuid)
        if self._on(uuid, "describe a guest", guests.describe).rescued:
            self.power_off(uuid)
            be_usual = functools.partial(guests.be_usual, own=folder.root)
            self._on(uuid, "end the rescue of a guest", be_usual)
        self._start(uuid)
        for path in (folder.rescue, folder.rescue_kernel, folder.rescue_ramdisk):
            path.unlink(missing_ok=True)

    def snapshot(
        self, uuid: str, *, disk_format: str
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        return snapshot.exported(self._residents, uuid, disk_format=disk_format)

    def set_password(self, uuid: str, password: str) -> None:
        set_it = functools.partial(agent.set_password, password=password)
        self._on(uuid, "set the password of a guest", set_it)

    def inject_nmi(self, uuid: str) -> None:
        if self.describe(uuid).power_state not in (states.RUNNING, states.HELD):
            raise exception.Conflict(f"The guest {uuid} does not run.")
        self._connection.call(
            "interrupt a guest",
            lambda opened: opened.lookupByUUIDString(uuid).injectNMI(),
            once=True,
        )

    def console_output(self, uuid: str) -> str:
        self.describe(uuid)
        return console.read(self._folders.of(uuid).console)

    def console_kinds(self, uuid: str) -> frozenset[str]:
        described = parse(self._on(uuid, "describe a guest", lambda domain: domain.XMLDesc()))
        lines = [consoles.SERIAL] if serial.is_there(described) else []
        return frozenset([*screen.kinds(described), *lines])

    def open_console(self, uuid: str, kind: str) -> socket.socket:
        if kind != consoles.SERIAL:
            return self._on(uuid, "open a console", functools.partial(screen.connect, kind=kind))
        self._on(uuid, "open a serial console", serial.check)
        return self._connection.call_apart(
            "open a serial console", lambda opened: serial.connect(opened, uuid)
        )

    def attach_interface(self, uuid: str, vif: Vif) -> None:
        attach = functools.partial(guests.attach, vif=vif)
        self._on(uuid, "plug an interface into a guest", attach)

    def detach_interface(self, uuid: str, port_id: str) -> None:
        detach = functools.partial(guests.detach, port_id=port_id)
        with contextlib.suppress(exception.NotFound):
            self._on(uuid, "unplug an interface of a guest", detach)

    def cold_moves(self) -> LibvirtColdMoves:
        return self._cold_moves

    def departures(self) -> LibvirtMigrationSources:
        return self._departures

    def arrivals(self) -> LibvirtMigrationDestinations:
        return self._arrivals

    def presence(self, uuid: str) -> Presence:
        return self._residents.presence(uuid)

    def diagnostics(self, uuid: str) -> Diagnostics:
        started = self._folders.of(uuid).started
        uptime = max(0, int(time.time() - started.stat().st_mtime)) if started.exists() else 0
        return self._on(uuid, "measure a guest", functools.partial(guests.measure, uptime=uptime))

    def tidy(self) -> None:
        self._folders.make()
        self._bases.tidy()
        self._cold_moves.offers.reopen()

    def listen(self, notify: Callable[[str | None], None]) -> None:
        self._connection.listen(notify, lambda: notify(None))

    def _on(
        self, uuid: str, what: str, do: Callable[[Any], T], *, seconds: float | None = None
    ) -> T:
        return self._connection.call(
            what, lambda opened: do(opened.lookupByUUIDString(uuid)), seconds=seconds
        )

    def _begin(self) -> None:
        """Create the folders of this host, and remove incomplete files of a killed daemon."""
        self._folders.make()
        self._folders.clear()
        self._bases.clear()
        self._cold_moves.offers.reopen()

    def _is_cut_off(self, guest: Guest) -> bool:
        """Return whether a stopped guest was last started before this node booted."""
        booted_at = self._node.booted_at
        if guest.power_state != states.SHUTDOWN or booted_at is None:
            return False
        try:
            started = self._folders.of(guest.uuid).started.stat().st_mtime
        except FileNotFoundError:  # it was never started
            return False
        return started < booted_at.timestamp()

    def _planned(self, uuid: str) -> Guest:
        try:
            return guests.planned(self._folders.of(uuid).plan.read_text())
        except FileNotFoundError as error:
            raise exception.NotFound(f"There is no guest {uuid} on this host.") from error

    def _domain(
        self,
        instance: Instance,
        layout: DiskLayout,
        network_info: NetworkInfo,
        resources: GuestResources,
        *,
        with_drive: bool,
    ) -> Domain:
        folder, known = self._folders.of(instance.uuid), self._node.known()
        hardware = Hardware.of(instance, machine=self._settings.machine)
        names, bus = DiskNames(), hardware.cd_bus
        return Domain(
            identity=GuestIdentity.made(instance, agent.notes_of(hardware)),
            name=guest_name(instance),
            server=InstanceElement(instance, tuple(network_info.vifs)),
            vcpus=instance.flavor.vcpus,
            memory_mb=instance.flavor.memory_mb,
            virt_type=known.virt_type,
            console=Console(folder.console),
            screens=self._settings.screens,
            hardware=hardware,
            cpu=self._settings.cpu(known.virt_type),
            topology=self._topology(resources, hardware),
            disks=self._new.seen(folder, layout, hardware, names),
            drive=Drive(folder.drive, names.next(bus), bus) if with_drive else None,
            interfaces=interfaces.all_of(
                network_info.vifs, hardware.vifs, network_boot=hardware.network_boot
            ),
            balloon=Balloon(self._settings.balloon_seconds),
            slots=self._settings.pcie_slots,
        )

    def _plan(
        self, domain: Domain, resources: GuestResources, write: Callable[[str], object]
    ) -> str:
        """Choose the devices of a guest, and write its plan, which records that it has them."""
        with self._devices_lock:
            divided = self._mdevs.choose(domain.identity, resources)
            domain = dataclasses.replace(domain, devices=(*self._devices(resources), *divided))
            xml = domain.xml()
            write(xml)
        return xml

    def _devices(self, resources: GuestResources) -> tuple[pci.Device, ...]:
        if not resources.pci:
            return ()
        self._node.known()  # which lists them at first
        used = pci.taken(parse(plan) for plan in self._folders.plans())
        return tuple(pci.choose(resources.pci, self._pci.found, used))

    def _topology(self, resources: GuestResources, hardware: Hardware) -> Topology:
        return Topology.of(
            resources,
            floating=self._node.known().floating,
            confined=self._settings.cpu_sets.are_set,
            emulator_apart=hardware.emulator_apart,
            locked=hardware.locked,
        )

    def _start(self, uuid: str) -> None:
        def start(domain: Any) -> None:
            if not domain.isActive():
                self._folders.of(uuid).started.touch()
            guests.start(domain)

        self._on(uuid, "start a guest", start, seconds=_LONG)

    def _end(self, uuid: str) -> None:
        """Ask the guest's operating system to shut down, and wait for that."""
        if self._on(uuid, "read the state of a guest", guests.power_state) != states.RUNNING:
            return
        of_host = self._settings.shutdown_seconds
        limit = functools.partial(agent.shutdown_seconds, default=of_host)
        deadline = time.monotonic() + self._on(uuid, "read the state of a guest", limit)
        with contextlib.suppress(exception.Conflict):  # it has stopped by itself meanwhile
            self._on(uuid, "shut a guest down", guests.ask_to_end)
        while self._on(uuid, "read the state of a guest", guests.power_state) == states.RUNNING:
            if time.monotonic() > deadline:
                LOG.info("[instance: %s] guest did not shut down in time", uuid)
                return
            time.sleep(_LOOK)
