"""A simulated hypervisor: for the embedded rig, tests and chaos runs.

Its guests are files, one per guest (and one for its config drive), so a killed compute finds them
again. :mod:`roost.compute.virt.fake.faults` delays or fails steps on demand,
:mod:`roost.compute.virt.fake.inventory` is the simulated hardware.
"""

import contextlib
import hashlib
import io
import json
import os
import pathlib
import shutil
import socket
import uuid as uuids
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, Self

from oslo_config import cfg

from roost import exception, states
from roost.compute.collectors import Collected, DriverCollector
from roost.compute.virt.driver import (
    Diagnostics,
    Guest,
    GuestResources,
    HostResources,
    Kernel,
    Load,
    of_this_machine,
)
from roost.compute.virt.fake import console, inventory
from roost.compute.virt.fake.cold_moves import FakeColdMoves
from roost.compute.virt.fake.faults import Faults
from roost.compute.virt.fake.migration import (
    FakeGuests,
    FakeMigrationDestinations,
    FakeMigrationSources,
)
from roost.context import RequestContext
from roost.objects import (
    GuestConfig,
    ImageMeta,
    Instance,
    InstanceNUMACell,
    NetworkInfo,
    Vif,
    consoles,
)
from roost.operations.presence import Presence

_MEASURE: Final = 30.0  # seconds from one measurement to the next
_DEVICE: Final = ("vendor_id", "product_id", "numa_node", "count")
_TRAFFIC: Final = ("octets", "errors", "drop", "packets", "rate")
_DISK_COUNTS: Final = (
    *("read_bytes", "read_requests", "write_bytes", "write_requests"),
    "errors_count",
)
_OF_RESCUE: Final = ("rescued_from", "rescue_kernel", "rescue_password")
_OWN_STEPS: Final = (
    "prepare",
    "spawn",
    "destroy",
    "snapshot",
    "migrate",
    "copy",
    "arrive",
)  # these fail inside the driver, not before a step


class FakeDriver:
    """Stores guests below ``folder`` as ``guests/<uuid>.json``, written atomically.

    :param resources: the simulated hardware
    :param metrics: simulated measurements
    :param load: simulated load; None: that of this machine
    :param folder: this host's own, created when first needed
    """

    def __init__(
        self,
        resources: HostResources,
        *,
        folder: pathlib.Path,
        faults: Faults,
        metrics: Mapping[str, float] | None = None,
        load: Load | None = None,
    ) -> None:
        self._resources = resources
        self._metrics = dict(metrics or {})
        self._load = load
        self._guests = folder / "guests"
        self._faults = faults
        files = FakeGuests(self.contents, self._write, self._file, faults.strike)
        self._departures = FakeMigrationSources(files, node=resources.node)
        self._arrivals = FakeMigrationDestinations(
            files, node=resources.node, presence=self.presence, described=_expected
        )
        self._cold_moves = FakeColdMoves(files, described=_moved, keep_drive=self._keep_drive)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.fake_driver
        pretended = inventory.read(group.inventory_file, host=conf.host)
        sizes = {"vcpus": group.vcpus, "memory_mb": group.memory_mb, "disk_gb": group.disk_gb}
        return cls(
            pretended.resources(conf.host, **sizes),
            metrics=pretended.metrics,
            load=pretended.load,
            folder=pathlib.Path(conf.state_path, conf.host),
            faults=Faults(group.faults_file, host=conf.host),
        )

    def resources(self) -> HostResources:
        return self._resources

    def collectors(self) -> dict[str, DriverCollector]:
        """Return that of the simulated measurements, if there are any."""
        if not self._metrics:
            return {}
        return {"metrics": DriverCollector(lambda: Collected(metrics=self._metrics), _MEASURE)}

    def load(self) -> Load:
        return self._load or of_this_machine()

    def list_guests(self) -> list[str]:
        return sorted(entry.stem for entry in self._guests.glob("*.json"))

    def exists(self, uuid: str) -> bool:
        return self._file(uuid).exists()

    def describe(self, uuid: str) -> Guest:
        values = self.contents(uuid)
        fields = {name: values[name] for name in ("power_state", "vcpus", "memory_mb")}
        return Guest(
            uuid=uuid,
            attempt=values.get("attempt"),
            rescued="rescued_from" in values,
            cut_off=values.get("cut_off", False),
            announced=values.get("announced", False),
            **fields,
        )

    def note_announced(self, uuid: str) -> None:
        self._write(uuid, self.contents(uuid) | {"announced": True})

    def contents(self, uuid: str) -> dict[str, Any]:
        """Return the content of a guest's file, for tests.

        :raises roost.exception.NotFound: when there is none
        """
        try:
            found: dict[str, Any] = json.loads(self._file(uuid).read_text())
        except FileNotFoundError as error:
            raise exception.NotFound(f"There is no guest {uuid} on this host.") from error
        return found

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
        self._faults.strike("prepare")
        guest = _described(instance, image_path, network_info) | _provided(instance)
        guest |= _reserved(resources) | _started_by(kernel)
        self._write(instance.uuid, guest | {"power_state": states.NOSTATE})
        self._keep_drive(instance.uuid, config_drive)
        self._faults.strike("spawn")
        self._write(instance.uuid, guest | {"power_state": states.RUNNING})

    def destroy(self, uuid: str) -> None:
        self._faults.strike("destroy")
        self.config_drive(uuid).unlink(missing_ok=True)  # first: it is found only by its guest
        self._file(uuid).unlink(missing_ok=True)

    def power_off(self, uuid: str) -> None:
        self._switch(uuid, states.SHUTDOWN)

    def power_on(self, uuid: str) -> None:
        self._switch(uuid, states.RUNNING)

    def reboot(self, uuid: str, *, hard: bool) -> None:
        self._switch(uuid, states.RUNNING, boots=self.contents(uuid).get("boots", 1) + 1)

    def pause(self, uuid: str) -> None:
        self._change(uuid, states.RUNNING, states.HELD)

    def unpause(self, uuid: str) -> None:
        self._change(uuid, states.HELD, states.RUNNING)

    def suspend(self, uuid: str) -> None:
        self._change(uuid, states.RUNNING, states.SAVED)

    def resume(self, uuid: str) -> None:
        self._change(uuid, states.SAVED, states.RUNNING)

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
        if "rescued_from" not in self.contents(instance.uuid):
            given = {"rescue_kernel": _started_by(kernel).get("kernel")}
            if password is not None:
                given["rescue_password"] = _digest(password)
            self._switch(instance.uuid, states.RUNNING, rescued_from=str(image_path), **given)

    def unrescue(self, uuid: str) -> None:
        self._faults.strike("power")
        guest = self.contents(uuid) | {"power_state": states.RUNNING}
        for name in _OF_RESCUE:
            guest.pop(name, None)
        self._write(uuid, guest)

    @contextlib.contextmanager
    def snapshot(self, uuid: str, *, disk_format: str) -> Iterator[BinaryIO]:
        """Yield the guest's image and a line with the guest's name.

        An image that is no longer on this host counts as empty.
        """
        guest = self.contents(uuid)
        self._faults.strike("snapshot")
        image = b""
        if guest["image"]:
            with contextlib.suppress(FileNotFoundError):
                image = pathlib.Path(guest["image"]).read_bytes()
        yield io.BytesIO(image + f"\n{disk_format} of {guest['name']}\n".encode())

    def set_password(self, uuid: str, password: str) -> None:
        self._change(uuid, states.RUNNING, states.RUNNING)
        self._write(uuid, self.contents(uuid) | {"password": _digest(password)})

    def inject_nmi(self, uuid: str) -> None:
        """Count it in the guest's file."""
        guest = self.contents(uuid)
        if guest["power_state"] not in (states.RUNNING, states.HELD):
            raise exception.Conflict(f"The guest {uuid} does not run.")
        self._faults.strike("power")
        self._write(uuid, guest | {"interrupts": guest.get("interrupts", 0) + 1})

    def console_output(self, uuid: str) -> str:
        """Return a few lines for each boot of the guest."""
        guest = self.contents(uuid)
        boots = range(1, guest.get("boots", 1) + 1)
        return "".join(
            f"[boot {boot}] {line}\n"
            for boot in boots
            for line in (
                f"{guest['vcpus']} CPUs, {guest['memory_mb']} MiB",
                f"{len(guest['interfaces'])} interfaces",
                "all services are up",
                f"{guest['name']} login:",
            )
        )

    def console_kinds(self, uuid: str) -> frozenset[str]:
        self.contents(uuid)
        return frozenset(consoles.KINDS)

    def open_console(self, uuid: str, kind: str) -> socket.socket:
        if not self._runs(uuid):
            self.contents(uuid)
            raise exception.Conflict(f"The guest {uuid} does not run.")
        return console.start(kind, runs=lambda: self._runs(uuid))

    def _runs(self, uuid: str) -> bool:
        """Return whether the guest is in memory."""
        try:
            return self.contents(uuid)["power_state"] in (states.RUNNING, states.HELD)
        except exception.NotFound:
            return False

    def attach_interface(self, uuid: str, vif: Vif) -> None:
        interfaces = self._interfaces_but(uuid, str(vif.id))
        self._faults.strike("interface")
        self._write(uuid, self.contents(uuid) | {"interfaces": [*interfaces, _interface(vif)]})

    def detach_interface(self, uuid: str, port_id: str) -> None:
        interfaces = self._interfaces_but(uuid, port_id) if self.exists(uuid) else []
        if self.exists(uuid) and interfaces != self.contents(uuid)["interfaces"]:
            self._faults.strike("interface")
            self._write(uuid, self.contents(uuid) | {"interfaces": interfaces})

    def cold_moves(self) -> FakeColdMoves:
        return self._cold_moves

    def departures(self) -> FakeMigrationSources:
        return self._departures

    def arrivals(self) -> FakeMigrationDestinations:
        return self._arrivals

    def presence(self, uuid: str) -> Presence:
        return self._departures.presence(uuid)

    def diagnostics(self, uuid: str) -> Diagnostics:
        """Return the diagnostics of an idle guest."""
        guest = self.contents(uuid)
        sent = dict.fromkeys((f"{way}_{unit}" for way in ("rx", "tx") for unit in _TRAFFIC), 0)
        nics = [{"mac_address": nic["mac"], **sent} for nic in guest["interfaces"]]
        return Diagnostics(
            state="running",
            driver="libvirt",  # clients know a few names only
            hypervisor="qemu",
            hypervisor_os="none",
            uptime=0,
            memory_details={"maximum": guest["memory_mb"], "used": 0},
            cpu_details=[{"id": cpu, "time": 0, "utilisation": 0} for cpu in range(guest["vcpus"])],
            nic_details=nics,
            disk_details=[dict.fromkeys(_DISK_COUNTS, 0) for _ in guest.get("disks", [])],
        )

    def before_step(self, name: str) -> None:
        if name not in _OWN_STEPS:
            self._faults.strike(name)

    def _interfaces_but(self, uuid: str, port_id: str) -> list[dict[str, Any]]:
        return [one for one in self.contents(uuid)["interfaces"] if one["port"] != port_id]

    def _switch(self, uuid: str, power_state: int, **more: Any) -> None:
        self.contents(uuid)
        self._faults.strike("power")
        guest = self.contents(uuid) | {"power_state": power_state} | more
        guest.pop("cut_off", None)  # only a simulated restart of the node sets it
        self._write(uuid, guest)

    def _change(self, uuid: str, before: int, after: int) -> None:
        """Switch a guest that is in one of two power states.

        :raises roost.exception.Conflict: when it is in another
        """
        found = self.contents(uuid)["power_state"]
        if found not in (before, after):
            raise exception.Conflict(f"The guest {uuid} is in power state {found}, not {before}.")
        self._switch(uuid, after)

    def config_drive(self, uuid: str) -> pathlib.Path:
        """Return the path of the guest's config drive, whether it exists or not."""
        return self._file(uuid).with_suffix(".iso")

    def _keep_drive(self, uuid: str, drive: pathlib.Path | None) -> None:
        kept = self.config_drive(uuid)
        if drive is None:
            kept.unlink(missing_ok=True)
        else:
            shutil.copy(drive, kept)  # with its permissions

    def _file(self, uuid: str) -> pathlib.Path:
        return self._guests / f"{uuids.UUID(uuid)}.json"

    def _write(self, uuid: str, guest: dict[str, Any]) -> None:
        self._guests.mkdir(parents=True, exist_ok=True)
        path = self._file(uuid)
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(guest, indent=2))
        os.replace(partial, path)  # noqa: PTH105 - it is the atomic one


def _digest(password: str) -> str:
    """Return the digest of a password; the password itself is not stored."""
    return hashlib.sha256(password.encode()).hexdigest()


def _described(
    instance: Instance, image_path: pathlib.Path | None, network_info: NetworkInfo
) -> dict[str, Any]:
    return {
        "uuid": instance.uuid,
        "attempt": instance.attempt,
        "name": instance.display_name,
        "vcpus": instance.flavor.vcpus,
        "memory_mb": instance.flavor.memory_mb,
        "image": str(image_path) if image_path else None,
        "interfaces": [_interface(vif) for vif in network_info.vifs],
    }


def _expected(
    instance: Instance, network_info: NetworkInfo, resources: GuestResources
) -> dict[str, Any]:
    """Describe an incoming guest, whose image only the source knows."""
    return _described(instance, None, network_info) | _reserved(resources)


def _moved(
    instance: Instance, network_info: NetworkInfo, resources: GuestResources
) -> dict[str, Any]:
    """Describe a guest that changes its host or flavor, with its disks."""
    return _expected(instance, network_info, resources) | {"disks": _disks(instance)}


def _disks(instance: Instance) -> list[list[Any]]:
    given = instance.provisions or GuestConfig.of()
    return [[one.guest_format or one.source_type, one.size_mb] for one in given.block_devices]


def _interface(vif: Vif) -> dict[str, Any]:
    return {"port": vif.id, "mac": vif.mac, "ip": vif.ip}


def _provided(instance: Instance) -> dict[str, Any]:
    given = instance.provisions or GuestConfig.of()
    return {
        "hostname": instance.hostname,
        "user_data": instance.user_data,
        "admin_password": given.admin_password,
        "files": {file.path: file.contents for file in given.files},
        "disks": _disks(instance),
    }


def _reserved(resources: GuestResources) -> dict[str, Any]:
    cells = resources.numa_topology.cells if resources.numa_topology else []
    return {
        "numa_cells": [_numa_cell(cell) for cell in cells],
        "pci_devices": [
            {name: getattr(device, name) for name in _DEVICE} for device in resources.pci
        ],
        "allocations": {name: dict(amounts) for name, amounts in resources.allocations.items()},
    }


def _started_by(kernel: Kernel | None) -> dict[str, Any]:
    if kernel is None:
        return {}
    ramdisk = None if kernel.ramdisk is None else str(kernel.ramdisk)
    return {"kernel": [str(kernel.path), ramdisk, kernel.command_line]}


def _numa_cell(cell: InstanceNUMACell) -> dict[str, Any]:
    return {
        "id": cell.id,
        "host_cell": cell.host_cell,
        "memory_mb": cell.memory_mb,
        "page_kb": cell.page_kb,
        "cpus": list(cell.cpus),
        "pinning": dict(zip(cell.pcpus, cell.pinning, strict=True)),
    }
