"""Cold migration and resize of libvirt's guests.

A disk with a backing file is copied without that, if the destination has the same image; any other
is copied whole. On the same host the disks that a guest had are kept as copies until the resize is
confirmed.

Hosts that share the storage of guests share the folder of each, too: nothing is copied between
them, and each has a plan in it. If the guest gets other disks there, the source keeps copies.
"""

import dataclasses
import json
import logging
import os
import pathlib
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.compute.virt.cold_migration import FindImage, NoteCopied
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import elements, guests, images, new_disks
from roost.compute.virt.libvirt.base_images import base_of
from roost.compute.virt.libvirt.disk_exports import CopySettings, Export, Offers, RemoteFile
from roost.compute.virt.libvirt.domain import Domain
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.folder import QCOW2, GuestFolder, kind_of
from roost.compute.virt.libvirt.images import PLAIN, Image
from roost.compute.virt.libvirt.layout import Blank, DiskLayout
from roost.compute.virt.libvirt.new_disks import NewDisks
from roost.compute.virt.libvirt.presence import Residents
from roost.compute.virt.live_migration import check_absent
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo
from roost.objects.instance import SWAP
from roost.operations.presence import Presence

LOG = logging.getLogger(__name__)
_HERE: Final = (Presence.HERE, Presence.STOPPED)
# Elements of a domain whose state libvirt itself keeps, out of this daemon's reach. A firmware that
# libvirt chooses at each start has its variables in no definition.
_OF_LIBVIRT: Final[Mapping[str, str]] = {
    "os[@firmware='efi']": "variables of UEFI",
    "os/nvram": "variables of UEFI",
    "devices/tpm": "a TPM",
}
_LAYER: Final = "layer"
_WHOLE: Final = "whole"
_DISK_NAME: Final = re.compile(r"root|blank\d{1,3}")
_FILE_NAMES: Final = ("kernel", "ramdisk", "console.log")
_OLD: Final = "old-"  # disks until they have the numbers and sizes of the new flavor
_FETCHED: Final = "fetched"  # marks a room in which everything has arrived
_DONE: Final = "reshaped"  # marks copies whose guest has the new flavor
MakeDomain = Callable[[Instance, DiskLayout, NetworkInfo, GuestResources, bool], Domain]


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
    plan: Callable[[Domain, GuestResources, Callable[[str], object]], str]

    @property
    def offers(self) -> Offers:
        return Offers(self.residents.folders.offers, self.settings)

    def leftovers(self) -> set[str]:
        return self.residents.folders.moving() | self.offers.uuids()

    def prepare(self, instance: Instance) -> str:
        folders = self.residents.folders
        check_absent(instance.uuid, self.residents.presence(instance.uuid), folders.node)
        if folders.of(instance.uuid).plan.exists():
            raise exception.Conflict(f"The guest {instance.uuid} is still on this host.")
        folders.make()
        room = folders.room(instance.uuid)
        _remove(room)
        room.mkdir(parents=True)
        return json.dumps({"storage": folders.storage(), "node": folders.node})

    def discard(self, uuid: str) -> None:
        self.offers.close(uuid)
        _remove(self.residents.folders.room(uuid))
        _remove(self.residents.folders.before(uuid))

    def check(self, uuid: str, room: str) -> None:
        definition = self.residents.on(uuid, "describe a guest", guests.as_defined)
        for path, what in _OF_LIBVIRT.items():
            if definition.find(path) is not None:
                raise exception.Unsupported(
                    f"The guest {uuid} has {what}, which cannot be copied to another host."
                )

    def send(self, uuid: str, room: str, *, reshaped: bool) -> str:
        self.residents.require(uuid, Presence.STOPPED)
        definition = self.residents.on(uuid, "describe a guest", guests.as_defined)
        folders, folder = self.residents.folders, self.residents.folders.of(uuid)
        command_line = definition.findtext("os/cmdline")
        if json.loads(room)["storage"] == folders.storage():
            folder.sign()
            if reshaped and not folders.before(uuid).exists():
                _keep_copies(folder, folders.before(uuid))
            about = {"shared": True, "disks": [], "files": [], "command_line": command_line}
            return json.dumps(about)
        disks, files = _disks(folder), [folder.path / name for name in _FILE_NAMES]
        files = [path for path in files if path.exists()]
        exports = [one for path in disks for one in _exports(uuid, path)]
        exports += [Export(_name(uuid, path.name), str(path)) for path in files]
        return json.dumps(
            {
                "address": self.settings.address,
                "port": self.offers.open(uuid, exports),
                "disks": [_about(path) for path in disks],
                "files": [{"name": path.name, "size": path.stat().st_size} for path in files],
                "command_line": command_line,
            }
        )

    def adopt(self, uuid: str) -> str | None:
        plan = self.residents.folders.of(uuid).other_plan
        if plan is None:
            return None
        command_line = elements.parse(plan.read_text()).findtext("os/cmdline")
        return json.dumps({"shared": True, "disks": [], "files": [], "command_line": command_line})

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
        copied: NoteCopied,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None,
    ) -> None:
        uuid, folders = instance.uuid, self.residents.folders
        if self.residents.presence(uuid) in _HERE:
            return
        folder, room = folders.of(uuid), folders.room(uuid)
        if not folder.plan.exists():
            if not room.exists():
                raise exception.NotFound(f"There is no room for the guest {uuid} on this host.")
            offered = _checked(uuid, offer)
            is_shared = "shared" in offered
            arriving = folder if is_shared else GuestFolder(room, folders.node)
            if is_shared:
                self._check_kind(folder)
                self._begin_anew(folder, folders.kept(uuid))
            else:
                about = _Offer(uuid, offered, image, _CopiedBytes(offered["disks"], copied))
                self._fetch(room, about)
            layout = self._arrange(arriving, instance, before)
            domain = self.make(instance, layout, network_info, resources, config_drive is not None)
            if arriving.kernel.exists():
                ramdisk = folder.ramdisk if arriving.ramdisk.exists() else None
                kernel = DirectKernel(folder.kernel, ramdisk, offered["command_line"])
                domain = dataclasses.replace(domain, kernel=kernel)
            self.new.beside(arriving, config_drive, None)

            def settle_in(xml: str) -> None:
                if is_shared:
                    _sync(folder.path)
                    folder.make(xml)
                    _remove(room)
                    return
                (room / folder.plan.name).write_text(xml)
                _sync(room)
                (room / _FETCHED).unlink()
                room.rename(folder.path)

            self.plan(domain, resources, settle_in)
        self._define(folder)

    def reshape(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        before: Instance,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None,
    ) -> None:
        uuid, folders = instance.uuid, self.residents.folders
        folder, kept = folders.of(uuid), folders.before(uuid)
        if (kept / _DONE).exists():
            return
        self.residents.require(uuid, Presence.STOPPED)
        self._check_kind(folder)
        if not kept.exists():
            _keep_copies(folder, kept)
        self._begin_anew(folder, kept)
        layout = self._arrange(folder, instance, before)
        domain = self.make(instance, layout, network_info, resources, config_drive is not None)
        if folder.kernel.exists():
            definition = self.residents.on(uuid, "describe a guest", guests.as_defined)
            ramdisk = folder.ramdisk if folder.ramdisk.exists() else None
            kernel = DirectKernel(folder.kernel, ramdisk, definition.findtext("os/cmdline"))
            domain = dataclasses.replace(domain, kernel=kernel)
        self.new.beside(folder, config_drive, None)
        self.plan(domain, resources, folder.plan.write_text)
        _sync(folder.path)
        self._define(folder)
        (kept / _DONE).touch()

    def restore(self, uuid: str) -> None:
        folder, kept = self.residents.folders.of(uuid), self.residents.folders.before(uuid)
        if kept.exists():
            _remove_disks(folder)
            for path in kept.iterdir():
                if path.name != _DONE:
                    _copy(path, folder.path / path.name)
            _sync(folder.path)
            self._define(folder)
        _remove(kept)

    def settle(self, uuid: str) -> None:
        _remove(self.residents.folders.before(uuid))

    def _check_kind(self, folder: GuestFolder) -> None:
        if folder.root.exists() and kind_of(folder.root) != self.new.images_type:
            raise exception.Unsupported(
                f"The disks of the guest {folder.path.name} are {kind_of(folder.root)}, and"
                f" images_type of this host is {self.new.images_type}: it can move to another host."
            )

    def _begin_anew(self, folder: GuestFolder, kept: pathlib.Path | None) -> None:
        """Begin to arrange disks from copies of what they were, if there are any.

        An earlier call may have been interrupted anywhere.
        """
        if kept is not None:
            _remove_disks(folder)
            for path in _disks(GuestFolder(kept, folder.node)):
                _copy(path, folder.path / f"{_OLD}{path.name}")

    def _define(self, folder: GuestFolder) -> None:
        plan = folder.plan.read_text()
        self.residents.connection.call("define a guest", lambda opened: opened.defineXML(plan))

    def _fetch(self, room: pathlib.Path, offer: "_Offer") -> None:
        if (room / _FETCHED).exists():
            return
        for disk in offer.about["disks"]:
            path = room / f"{_OLD}{disk['name']}.{self.new.images_type}"
            if path.exists():
                offer.copied.finish(disk["name"])
            elif not self._fetch_layer(path, offer, disk):
                partial = path.with_name(f"{_WHOLE}-{path.name}")
                whole = offer.remote(f"{disk['name']}.{_WHOLE}", disk["size"])
                copied = offer.copied.of(disk["name"], disk["size"])
                whole.fetch(partial, self.settings, kind=kind_of(path), copied=copied)
                partial.rename(path)
        for file in offer.about["files"]:
            offer.remote(file["name"], file["size"]).fetch(room / file["name"], self.settings)
        (room / _FETCHED).touch()

    def _fetch_layer(self, path: pathlib.Path, offer: "_Offer", disk: Mapping[str, Any]) -> bool:
        """Fetch a disk without its backing file; False: this host cannot have the same one."""
        if disk["base"] is None or kind_of(path) != QCOW2:
            return False
        found = offer.image()
        if found is None:
            return False
        with self.new.bases.held(found, images.inspect(found)) as base:
            if base.name != disk["base"]:
                return False
            partial = path.with_name(f"{_LAYER}-{path.name}")
            layer = offer.remote(f"{disk['name']}.{_LAYER}", disk["layer"])
            copied = offer.copied.of(disk["name"], disk["layer"])
            layer.fetch(partial, self.settings, copied=copied)
            images.rebase(partial, base, size=disk["size"])
            partial.rename(path)
        return True

    def _arrange(self, folder: GuestFolder, instance: Instance, before: Instance) -> DiskLayout:
        """Make old disks those of the flavor, and return their layout; may be repeated.

        A disk with its final name is done.
        """
        kind = self.new.images_type
        old, root = folder.path / f"{_OLD}root.{kind}", folder.new_root(kind)
        has_root = root if root.exists() else old
        had = Image(PLAIN, images.size_of(has_root) if has_root.exists() else 0)
        layout = DiskLayout.of(instance, had)
        if old.exists():
            images.grow(old, size=layout.root)
            old.rename(root)
        numbers = _by_kind(DiskLayout.of(before, None).blanks)
        for key, number in _by_kind(layout.blanks).items():
            path, had_number = folder.blank(number, kind), numbers.get(key)
            if not path.exists():
                source = folder.path / f"{_OLD}blank{had_number}.{kind}"
                self._blank(path, layout.blanks[number], source, number)
        for path in folder.path.glob(f"{_OLD}*"):
            path.unlink()
        return layout

    def _blank(self, path: pathlib.Path, blank: Blank, old: pathlib.Path, number: int) -> None:
        """Give a disk its size: one with data grows, swap space is made anew."""
        is_swap = blank.guest_format == SWAP
        if old.exists() and (not is_swap or images.size_of(old) == blank.size):
            images.grow(old, size=blank.size)
            old.rename(path)
            return
        partial = path.with_name(f"{_OLD}new.{path.name}")
        new_disks.create(
            partial,
            size=blank.size,
            guest_format=blank.guest_format or self.new.ephemeral_format,
            label=f"{'swap' if is_swap else 'ephemeral'}{number}",
        )
        partial.rename(path)


class _CopiedBytes:
    """Adds up the bytes of a guest's disks, and those that are copied.

    :param disks: as the source offers them
    """

    def __init__(self, disks: Sequence[Mapping[str, Any]], note: NoteCopied) -> None:
        self._sizes = {
            disk["name"]: disk["size" if disk["base"] is None else "layer"] for disk in disks
        }
        self._copied = dict.fromkeys(self._sizes, 0)
        self._note = note

    def finish(self, name: str) -> None:
        """Count a disk that is here already."""
        self._copied[name] = self._sizes[name]

    def of(self, name: str, size: int) -> Callable[[int], None]:
        """Return what notes how much of a disk is copied, which has this size on the way."""
        self._sizes[name] = size

        def note(copied: int) -> None:
            self._copied[name] = copied
            self._note(sum(self._sizes.values()), sum(self._copied.values()))

        return note


@dataclasses.dataclass(frozen=True)
class _Offer:
    """What another host offers of a guest; ``about`` is as that host has sent it."""

    uuid: str
    about: Mapping[str, Any]
    image: FindImage
    copied: _CopiedBytes

    def remote(self, name: str, size: int) -> RemoteFile:
        address, port = str(self.about["address"]), int(self.about["port"])
        return RemoteFile(address, port, _name(self.uuid, name), int(size))


def _checked(uuid: str, offer: str) -> dict[str, Any]:
    """Return the offer of another host, whose names must be those of a guest's files.

    :raises roost.exception.Invalid: when they are not
    """
    found: dict[str, Any] = json.loads(offer)
    fine = all(_DISK_NAME.fullmatch(disk["name"]) for disk in found["disks"]) and all(
        file["name"] in _FILE_NAMES for file in found["files"]
    )
    if not fine:
        raise exception.Invalid(f"The offer of the disks of {uuid} has names that no guest has.")
    return found


def _disks(folder: GuestFolder) -> list[pathlib.Path]:
    return [
        *([folder.root] if folder.root.exists() else []),
        *sorted(folder.path.glob("blank*")),
    ]


def _remove_disks(folder: GuestFolder) -> None:
    for path in [*_disks(folder), *folder.path.glob(f"{_OLD}*")]:
        path.unlink()


def _base_of(path: pathlib.Path) -> str | None:
    """Return the name of a disk's backing file; guests may write anything into a raw one."""
    return base_of(path) if kind_of(path) == QCOW2 else None


def _about(path: pathlib.Path) -> dict[str, Any]:
    return {
        "name": path.stem,
        "size": images.size_of(path),
        "base": _base_of(path),
        "layer": path.stat().st_size,
    }


def _exports(uuid: str, path: pathlib.Path) -> list[Export]:
    layer = [Export(_name(uuid, f"{path.stem}.{_LAYER}"), str(path))] if _base_of(path) else []
    return [*layer, Export(_name(uuid, f"{path.stem}.{_WHOLE}"), str(path), kind_of(path))]


def _name(uuid: str, name: str) -> str:
    """Return the name of an export, which no other guest's offer has."""
    return f"{uuid}.{name}"


def _by_kind(blanks: tuple[Blank, ...]) -> dict[tuple[str, int], int]:
    """Return the numbers of disks by what they are: swap, or which one of the others."""
    found: dict[tuple[str, int], int] = {}
    for number, blank in enumerate(blanks):
        kind = SWAP if blank.guest_format == SWAP else ""
        found[kind, sum(1 for known, _at in found if known == kind)] = number
    return found


def _keep_copies(folder: GuestFolder, kept: pathlib.Path) -> None:
    _remove(kept)
    partial = kept.with_name(f"{kept.name}.part")
    partial.mkdir(parents=True)
    for path in [*_disks(folder), *([folder.drive] if folder.drive.exists() else []), folder.plan]:
        _copy(path, partial / path.name)
    _sync(partial)
    partial.rename(kept)


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copy a file; its data is shared until it changes, where the file system can do that."""
    images.run("cp", "--reflink=auto", "--sparse=always", str(source), str(target))


def _sync(folder: pathlib.Path) -> None:
    """Have all files of a folder on the disk, so that they outlive a crash of the node."""
    for path in (*folder.iterdir(), folder):
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _remove(folder: pathlib.Path) -> None:
    """Remove a folder and what is left of an unfinished one: at once, or not at all."""
    gone = folder.with_name(f"{folder.name}.gone")
    if folder.exists():
        if gone.exists():
            shutil.rmtree(gone)
        folder.rename(gone)
    for left in (gone, folder.with_name(f"{folder.name}.part")):
        if left.exists():
            shutil.rmtree(left)
