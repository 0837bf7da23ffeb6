"""A host of libvirt with bridges, whose builds and deletes break off where a test says."""

import contextlib
import dataclasses
import multiprocessing
import os
import pathlib
import shutil
import signal

import libvirt

from roost import exception, states
from roost.compute.image_cache import ImageCache
from roost.compute.network.bridge.dhcp import Dhcp
from roost.compute.network.bridge.driver import BridgeDriver
from roost.compute.network.bridge.firewall import Firewall
from roost.compute.network.bridge.metadata import Metadata
from roost.compute.network.bridge.ports import BridgeRecords
from roost.compute.network.bridge.segment import Links
from roost.compute.network.bridge.settings import BridgeSettings
from roost.compute.network.bridge.system import System
from roost.compute.resource_tracker import ResourceTracker
from roost.compute.virt.libvirt import base_images, folder, images, new_disks
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.folder import GuestFolder
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.objects import NetworkRequest
from tests.builders import a_context, a_flavor, a_spec, a_uuid, a_vif
from tests.fakes.cell_conductor import FakeCellConductor
from tests.operation_rows import a_build
from tests.unit.compute.conftest import Rig, run

# The parts of a build, and of a delete, in order: who does each, and what it is called there.
BUILD = {
    "begin": (FakeCellConductor, "begin_operation"),
    "claim": (ResourceTracker, "claim"),
    "addresses": (FakeCellConductor, "allocate_networks"),
    "record of ports": (BridgeRecords, "write"),
    "firewall": (Firewall, "ensure"),
    "bridge": (Links, "ensure"),
    "dhcp": (Dhcp, "ensure"),
    "image": (ImageCache, "ensure"),
    "folder": (folder, "_make"),
    "plan": (GuestFolder, "make"),
    "base": (base_images, "convert"),
    "root disk": (images, "create"),
    "blank disk": (new_disks, "create"),
    "config drive": (shutil, "copy"),
    "domain": (libvirt.virConnect, "defineXML"),
    "tap and process": (libvirt.virDomain, "create"),
    "announcement": (FakeCellConductor, "end_operation"),
}
DELETE = {
    "process and tap": (libvirt.virDomain, "destroy"),
    "domain": (libvirt.virDomain, "undefineFlags"),
    "folder set aside": (pathlib.Path, "rename"),
    "folder": (GuestFolder, "remove"),
    "record of ports": (BridgeRecords, "write"),
    "dhcp": (Dhcp, "remove"),
    "bridge": (Links, "remove"),
    "firewall": (Firewall, "remove"),
}
WHY = "broken on purpose"


def fail():
    raise exception.Internal(WHY)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def nothing():
    pass


@contextlib.contextmanager
def broken(place, *, first=nothing, then=nothing):
    """Have a part do something before what it is for, or after it, the first time."""
    owner, name = place
    whole = getattr(owner, name)
    before, after = iter([first]), iter([then])

    def part(*arguments, **named):
        next(before, nothing)()
        answer = whole(*arguments, **named)
        next(after, nothing)()
        return answer

    setattr(owner, name, part)
    try:
        yield
    finally:
        setattr(owner, name, whole)


@dataclasses.dataclass(frozen=True)
class Site:
    """Where a host is, which has one instance: what its daemons know when they start."""

    path: pathlib.Path
    libvirt_uri: str
    instance_uuid: str = dataclasses.field(default_factory=a_uuid)
    network_id: str = dataclasses.field(default_factory=a_uuid)
    port_id: str = dataclasses.field(default_factory=a_uuid)

    def host(self, **instance):
        """Return the host as its daemon has it that was just started, with the instance's row."""
        return SteppedHost(self, instance)


class SteppedHost(Rig):
    """A host of real parts, with disks, bridges and guests."""

    def __init__(self, site, instance):
        super().__init__(site.path)
        system, settings = System(), BridgeSettings(site.path / "bridge")
        self.virt = LibvirtDriver(
            LibvirtSettings(
                node="h1",
                folder=site.path / "instances",
                uri=site.libvirt_uri,
                virt_type="qemu",
                shutdown_seconds=0.5,
            )
        )
        networks = BridgeDriver(
            self.conductor,
            host="h1",
            settings=settings,
            system=system,
            metadata=Metadata(system, None),
        )
        self.host = dataclasses.replace(self.host, virt=self.virt, networks=networks)
        self.row = self._row(site, instance)
        self.virt.resources()  # as at every start
        self.working = self.manager()

    def _row(self, site, values):
        vif = a_vif(
            id=site.port_id,
            network_id=site.network_id,
            ip="10.77.0.5",
            cidr="10.77.0.0/24",
            gateway="10.77.0.1",
            addresses=[],
        )
        self.conductor.ports[site.instance_uuid] = [vif]
        wanted = NetworkRequest.of(
            network_id=site.network_id, fixed_ip=None, port_id=None, tag=None
        )
        small = a_flavor(memory_mb=64, swap=1)
        made = {"uuid": site.instance_uuid, "flavor": small, "config_drive": True}
        return self.instance(**made | values, networks=[wanted])

    def build(self):
        self.working.build_and_run_instance(
            a_context(),
            operation=a_build(self.row),
            instance=self.row,
            request_spec=a_spec(),
            selection=None,
        )

    def delete(self):
        self.row.task_state = states.DELETING
        run(self.working, self.row, kind="delete")


def _die_in_a_build(site, name):
    host = site.host()
    with broken(BUILD[name], then=die):
        host.build()


def _die_in_a_delete(site, name):
    host = site.host()
    with broken(DELETE[name], then=die):
        host.delete()


def dies(site, name, *, of):
    """Have a daemon die at the end of a part of what it does, and tell whether it did."""
    work = _die_in_a_build if of is BUILD else _die_in_a_delete
    process = _FORKS.Process(target=work, args=(site, name))
    process.start()
    process.join(60)
    return process.exitcode == -signal.SIGKILL


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__])
