"""Cold migration and resize of libvirt's guests.

A disk with a backing file is copied without that, if the destination has the same image; any other
is copied whole. On the same host the disks that a guest had are kept as copies until the resize is
confirmed.
"""

import dataclasses
import json
import logging
import pathlib
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from typing import Any, Final

from roost import exception
from roost.compute.virt.cold_migration import FindImage
from roost.compute.virt.driver import GuestPlacement
from roost.compute.virt.libvirt import guests, images, new_disks
from roost.compute.virt.libvirt.base_images import base_of
from roost.compute.virt.libvirt.disk_exports import CopySettings, Export, Offers, RemoteFile
from roost.compute.virt.libvirt.domain import Domain
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.folder import QCOW2, GuestFolder, kind_of
from roost.compute.virt.libvirt.images import PLAIN, Image
from roost.compute.virt.libvirt.layout import Blank, DiskLayout
from roost.compute.virt.libvirt.new_disks import NewDisks
from roost.compute.virt.libvirt.presence import Residents
from roost.compute.virt.live_migration import Presence, check_absent
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo
from roost.objects.instance import SWAP

LOG = logging.getLogger(__name__)
_HERE: Final = (Presence.HERE, Presence.STOPPED)
# Elements of a domain whose state libvirt itself keeps, out of this daemon's reach.
_OF_LIBVIRT: Final[Mapping[str, str]] = {
    "os/nvram": "variables of UEFI",
    "devices/tpm": "a TPM",
}
_LAYER: Final = "layer"
_WHOLE: Final = "whole"
MakeDomain = Callable[[Instance, DiskLayout, NetworkInfo, GuestPlacement, bool], Domain]


@dataclasses.dataclass(frozen=True)
class LibvirtColdMoves:
    """Implements :class:`roost.compute.virt.cold_migration.ColdMoves` with libvirt.

    :param make: returns the domain of a guest; the last argument says if it has a config drive
    :param plan: chooses the devices of a guest, and writes its plan
    """

    residents: Residents
    new: NewDisks
    settings: CopySettings
    make: MakeDomain
    plan: Callable[[Domain, GuestPlacement, Callable[[str], object]], str]

    @property
    def offers(self) -> Offers:
        return Offers(self.residents.folders.offers, self.settings)

    def prepare(self, instance: Instance) -> str:
        folders = self.residents.folders
        check_absent(instance.uuid, self.residents.presence(instance.uuid), folders.node)
        folders.make()
        room = folders.room(instance.uuid)
        _remove(room)
        room.mkdir(parents=True)
        return json.dumps({"storage": folders.storage(), "node": folders.node})

    def discard(self, uuid: str) -> None:
        self.offers.close(uuid)
        _remove(self.residents.folders.room(uuid))
        _remove(self.residents.folders.before(uuid))

    def send(self, uuid: str, room: str) -> str:
        there, folders = json.loads(room), self.residents.folders
        self.residents.require(uuid, Presence.STOPPED)
        if there["storage"] == folders.storage():
            raise exception.Unsupported(
                f"{folders.node} and {there['node']} share the storage of guests: stopped guests"
                " cannot move between them yet."
            )
        definition = self.residents.on(uuid, "describe a guest", guests.as_defined)
        _check_movable(uuid, definition)
        folder = folders.of(uuid)
        disks = [_about(path) for path in _disks(folder)]
        files = [path for path in (folder.kernel, folder.ramdisk, folder.console) if path.exists()]
        exports = [one for path in _disks(folder) for one in _exports(path)]
        exports += [Export(path.name, str(path)) for path in files]
        return json.dumps(
            {
                "address": self.settings.address,
                "port": self.offers.open(uuid, exports),
                "disks": disks,
                "files": [{"name": path.name, "size": path.stat().st_size} for path in files],
                "command_line": definition.findtext("os/cmdline"),
            }
        )

    def keep(self, uuid: str) -> None:
        self.offers.close(uuid)

    def arrive(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        offer: str,
        before: Instance,
        image: FindImage,
        network_info: NetworkInfo,
        placement: GuestPlacement,
        config_drive: pathlib.Path | None,
    ) -> None:
        uuid, folders = instance.uuid, self.residents.folders
        if self.residents.presence(uuid) in _HERE:
            return
        folder, room = folders.of(uuid), folders.room(uuid)
        if not folder.plan.exists():
            if not room.exists():
                raise exception.NotFound(f"There is no room for the guest {uuid} on this host.")
            arriving, offered = GuestFolder(room, folders.node), json.loads(offer)
            self._fetch(arriving, offered, image)
            layout = self._arrange(arriving, instance, before)
            domain = self.make(instance, layout, network_info, placement, config_drive is not None)
            if arriving.kernel.exists():
                ramdisk = folder.ramdisk if arriving.ramdisk.exists() else None
                kernel = DirectKernel(folder.kernel, ramdisk, offered["command_line"])
                domain = dataclasses.replace(domain, kernel=kernel)
            self.new.beside(arriving, config_drive, None)
            self.plan(domain, placement, (room / folder.plan.name).write_text)
            room.rename(folder.path)
        self._define(folder)

    def reshape(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        before: Instance,
        network_info: NetworkInfo,
        placement: GuestPlacement,
        config_drive: pathlib.Path | None,
    ) -> None:
        uuid, folders = instance.uuid, self.residents.folders
        folder, kept = folders.of(uuid), folders.before(uuid)
        if not folder.plan.exists():
            raise exception.NotFound(f"There is no guest {uuid} on this host.")
        if kept.exists():
            self._put_back(folder, kept)  # an earlier call may have been interrupted anywhere
        else:
            _keep_copies(folder, kept)
        layout = self._arrange(folder, instance, before)
        domain = self.make(instance, layout, network_info, placement, config_drive is not None)
        if folder.kernel.exists():
            definition = self.residents.on(uuid, "describe a guest", guests.as_defined)
            ramdisk = folder.ramdisk if folder.ramdisk.exists() else None
            kernel = DirectKernel(folder.kernel, ramdisk, definition.findtext("os/cmdline"))
            domain = dataclasses.replace(domain, kernel=kernel)
        self.new.beside(folder, config_drive, None)
        self.plan(domain, placement, folder.plan.write_text)
        self._define(folder)

    def restore(self, uuid: str) -> None:
        folder, kept = self.residents.folders.of(uuid), self.residents.folders.before(uuid)
        if kept.exists():
            self._put_back(folder, kept)
            self._define(folder)
            _remove(kept)

    def settle(self, uuid: str) -> None:
        _remove(self.residents.folders.before(uuid))

    def _define(self, folder: GuestFolder) -> None:
        plan = folder.plan.read_text()
        self.residents.connection.call("define a guest", lambda opened: opened.defineXML(plan))

    def _fetch(self, room: GuestFolder, offer: Mapping[str, Any], image: FindImage) -> None:
        for disk in offer["disks"]:
            path = room.path / f"{disk['name']}.{self.new.images_type}"
            if not path.exists() and not self._fetch_layer(path, offer, disk, image):
                partial = path.with_name(f"{_WHOLE}-{path.name}")
                if not partial.exists():
                    images.blank(partial, size=disk["size"])
                whole = _remote(offer, f"{disk['name']}.{_WHOLE}", disk["size"])
                whole.fetch(partial, self.settings, kind=kind_of(path))
                partial.rename(path)
        for file in offer["files"]:
            remote = _remote(offer, file["name"], file["size"])
            remote.fetch(room.path / file["name"], self.settings)

    def _fetch_layer(
        self,
        path: pathlib.Path,
        offer: Mapping[str, Any],
        disk: Mapping[str, Any],
        image: FindImage,
    ) -> bool:
        """Fetch a disk without its backing file; False: this host cannot have the same one."""
        if disk["base"] is None or kind_of(path) != QCOW2:
            return False
        found = image()
        if found is None:
            return False
        with self.new.bases.held(found, images.inspect(found)) as base:
            if base.name != disk["base"]:
                return False
            partial = path.with_name(f"{_LAYER}-{path.name}")
            layer = _remote(offer, f"{disk['name']}.{_LAYER}", disk["layer"])
            layer.fetch(partial, self.settings)
            images.rebase(partial, base)
            partial.rename(path)
        return True

    def _arrange(self, folder: GuestFolder, instance: Instance, before: Instance) -> DiskLayout:
        """Give a guest the disks of its flavor, and return their layout."""
        root, kind = folder.root, self.new.images_type
        had = Image(PLAIN, images.size_of(root) if root.exists() else 0)
        layout = DiskLayout.of(instance, had)
        if root.exists():
            images.grow(root, size=layout.root)
        old = _by_kind(DiskLayout.of(before, had).blanks)
        aside = {key: folder.path / f"aside-{number}.{kind}" for key, number in old.items()}
        for key, number in old.items():
            if folder.blank(number, kind).exists():
                folder.blank(number, kind).rename(aside[key])
        for key, number in _by_kind(layout.blanks).items():
            self._blank(folder.blank(number, kind), layout.blanks[number], aside.get(key), number)
        for path in aside.values():
            path.unlink(missing_ok=True)
        return layout

    def _blank(
        self, path: pathlib.Path, blank: Blank, old: pathlib.Path | None, number: int
    ) -> None:
        """Give a disk its size: one with data grows, swap space is made anew."""
        is_swap = blank.guest_format == SWAP
        if old is not None and old.exists() and (not is_swap or images.size_of(old) == blank.size):
            images.grow(old, size=blank.size)
            old.rename(path)
            return
        new_disks.create(
            path,
            size=blank.size,
            guest_format=blank.guest_format or self.new.ephemeral_format,
            label=f"{'swap' if is_swap else 'ephemeral'}{number}",
        )

    def _put_back(self, folder: GuestFolder, kept: pathlib.Path) -> None:
        for path in [*_disks(folder), *folder.path.glob("aside-*")]:
            path.unlink()
        for path in sorted(kept.iterdir()):
            _copy(path, folder.path / path.name)


def _check_movable(uuid: str, definition: ET.Element) -> None:
    for path, what in _OF_LIBVIRT.items():
        if definition.find(path) is not None:
            raise exception.Unsupported(
                f"The guest {uuid} has {what}, which cannot be copied to another host."
            )


def _disks(folder: GuestFolder) -> list[pathlib.Path]:
    return [
        *([folder.root] if folder.root.exists() else []),
        *sorted(folder.path.glob("blank*")),
    ]


def _about(path: pathlib.Path) -> dict[str, Any]:
    return {
        "name": path.stem,
        "size": images.size_of(path),
        "base": base_of(path),
        "layer": path.stat().st_size,
    }


def _exports(path: pathlib.Path) -> list[Export]:
    layer = [Export(f"{path.stem}.{_LAYER}", str(path))] if base_of(path) else []
    return [*layer, Export(f"{path.stem}.{_WHOLE}", str(path), kind_of(path))]


def _remote(offer: Mapping[str, Any], name: str, size: int) -> RemoteFile:
    return RemoteFile(offer["address"], offer["port"], name, size)


def _by_kind(blanks: tuple[Blank, ...]) -> dict[tuple[str, int], int]:
    """Return the numbers of disks by what they are: swap, or which one of the others."""
    found: dict[tuple[str, int], int] = {}
    for number, blank in enumerate(blanks):
        kind = SWAP if blank.guest_format == SWAP else ""
        found[kind, sum(1 for known, _at in found if known == kind)] = number
    return found


def _keep_copies(folder: GuestFolder, kept: pathlib.Path) -> None:
    partial = kept.with_name(f"{kept.name}.part")
    _remove(partial)
    partial.mkdir(parents=True)
    for path in [*_disks(folder), *([folder.drive] if folder.drive.exists() else []), folder.plan]:
        _copy(path, partial / path.name)
    partial.rename(kept)


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copy a file; its data is shared until it changes, where the file system can do that."""
    images.run("cp", "--reflink=auto", "--sparse=always", str(source), str(target))


def _remove(folder: pathlib.Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
