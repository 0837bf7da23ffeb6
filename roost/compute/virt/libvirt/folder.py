"""The files of guests: a folder each, so that nothing is left when a guest is removed.

Hosts may share the storage of these folders. Then the file name of a plan says which host has the
guest: during a migration there are two plans, and the disks are removed with the last one.
"""

import contextlib
import dataclasses
import glob
import os
import pathlib
import shutil
import uuid as uuids
from collections.abc import Iterator
from typing import Final

# Other users, such as QEMU's, may traverse the folders, but not list them.
_PASSABLE: Final = 0o711
_UNSIGNED: Final = "guest.xml"  # plans of an earlier release, without shared storage
_ANY_PLAN: Final = "guest*.xml"
_MARK: Final = "storage"
_ANY: Final = str(uuids.UUID(int=0))
_ROOMS: Final = "arriving"
_BEFORE: Final = "before"
# File formats of disks, known by the file's suffix; the file itself is never probed.
QCOW2: Final = "qcow2"
RAW: Final = "raw"


def kind_of(disk: pathlib.Path) -> str:
    """Return a disk's format by QEMU's name."""
    return RAW if disk.suffix == f".{RAW}" else QCOW2


@dataclasses.dataclass(frozen=True)
class GuestFolder:
    """The folder of one guest, and the paths in it."""

    path: pathlib.Path
    node: str

    @property
    def plan(self) -> pathlib.Path:
        """The guest's definition, written before anything else of it."""
        unsigned = self.path / _UNSIGNED
        return unsigned if unsigned.exists() else self.path / _signed(self.node)

    @property
    def is_shared(self) -> bool:
        """Whether another host has a plan of the same guest."""
        return self.other_plan is not None

    @property
    def other_plan(self) -> pathlib.Path | None:
        """The plan that another host has of the same guest."""
        return next((plan for plan in self.path.glob(_ANY_PLAN) if plan != self.plan), None)

    @property
    def root(self) -> pathlib.Path:
        """Its root disk, in either format."""
        plain = self.new_root(RAW)
        return plain if plain.exists() else self.new_root(QCOW2)

    def new_root(self, images_type: str) -> pathlib.Path:
        return self.path / f"root.{images_type}"

    @property
    def rescue(self) -> pathlib.Path:
        return self.path / "rescue.qcow2"

    @property
    def drive(self) -> pathlib.Path:
        return self.path / "config_drive.iso"

    @property
    def console(self) -> pathlib.Path:
        return self.path / "console.log"

    @property
    def snapshot(self) -> pathlib.Path:
        """Temporary: a copy of the root disk for a snapshot."""
        return self.path / "snapshot.qcow2"

    @property
    def export(self) -> pathlib.Path:
        """Temporary: the snapshot in the format of its export."""
        return self.path / "snapshot.export"

    @property
    def announced(self) -> pathlib.Path:
        """Exists when the cell has accepted the guest as a server."""
        return self.path / "announced"

    @property
    def started(self) -> pathlib.Path:
        """Its mtime is the time of the guest's last start."""
        return self.path / "started"

    @property
    def kernel(self) -> pathlib.Path:
        """The kernel for direct boot; ``ramdisk`` is its ramdisk."""
        return self.path / "kernel"

    @property
    def ramdisk(self) -> pathlib.Path:
        return self.path / "ramdisk"

    @property
    def rescue_kernel(self) -> pathlib.Path:
        """The kernel of the rescue image, if it has one; ``rescue_ramdisk`` is its ramdisk."""
        return self.path / "rescue.kernel"

    @property
    def rescue_ramdisk(self) -> pathlib.Path:
        return self.path / "rescue.ramdisk"

    def blank(self, number: int, images_type: str = QCOW2) -> pathlib.Path:
        return self.path / f"blank{number}.{images_type}"

    @property
    def aside(self) -> pathlib.Path:
        """The folder's path before it has a plan, and after its plan was removed."""
        return _aside(self.path.parent, self.node) / self.path.name

    def sign(self) -> None:
        """Rename a plan of an earlier release, so that other hosts see whose guest it is."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / _UNSIGNED).rename(self.path / _signed(self.node))

    def make(self, plan: str) -> None:
        """Create the folder with its plan in it, atomically.

        In a folder that exists, add or replace the plan of this host.
        """
        _clear(self.aside)
        _make(self.aside)
        (self.aside / self.plan.name).write_text(plan)
        if self.path.exists():
            (self.aside / self.plan.name).replace(self.plan)
            _clear(self.aside)
        else:
            self.aside.rename(self.path)

    def remove(self) -> None:
        """Remove all files, the plan last: a guest with a plan is listed.

        If another host has a plan of the guest, remove only this host's plan. Of hosts that do so
        at the same time each removes what is left.
        """
        if self.is_shared:
            self.plan.unlink(missing_ok=True)
            if any(self.path.glob(_ANY_PLAN)):
                return
        for entry in self.path.glob("*"):
            if entry != self.plan:
                entry.unlink(missing_ok=True)
        _clear(self.aside)
        self.aside.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self.path.rename(self.aside)
        _clear(self.aside)


@dataclasses.dataclass(frozen=True)
class Folders:
    """All guests of the host ``node``, below ``path``."""

    path: pathlib.Path
    node: str

    def of(self, uuid: str) -> GuestFolder:
        return GuestFolder(self.path / str(uuids.UUID(uuid)), self.node)

    def room(self, uuid: str) -> pathlib.Path:
        """The folder in which the disks of a guest arrive from another host."""
        return self.path / f"{_ROOMS}.{self.node}" / str(uuids.UUID(uuid))

    def before(self, uuid: str) -> pathlib.Path:
        """The folder of what a guest was before it got another flavor on this host."""
        return self.path / f"{_BEFORE}.{self.node}" / str(uuids.UUID(uuid))

    def kept(self, uuid: str) -> pathlib.Path | None:
        """Return the folder of what a guest was, whichever host keeps it; None: there is none."""
        return next(self.path.glob(f"{_BEFORE}.*/{uuids.UUID(uuid)}"), None)

    def moving(self) -> set[str]:
        """Return the guests of which moves have left something: rooms, or what they were."""
        places = (self.room(_ANY).parent, self.before(_ANY).parent)
        return {path.name.split(".")[0] for place in places for path in place.glob("*")}

    @property
    def offers(self) -> pathlib.Path:
        """The folder of notes on what this host offers to others."""
        return self.path / f"offers.{self.node}"

    @property
    def bases(self) -> pathlib.Path:
        """The folder of base images, the backing files of root disks."""
        return self.path / "bases"

    def uuids(self) -> set[str]:
        """Return the uuids of this host's guests."""
        return {plan.parent.name for plan in self._plans()}

    def plans(self) -> Iterator[str]:
        """Yield each guest's definition as written before it was built."""
        for plan in self._plans():
            with contextlib.suppress(FileNotFoundError):  # its guest is being removed
                yield plan.read_text()

    def disks(self) -> Iterator[pathlib.Path]:
        """Yield all disks of all guests that may have a backing file."""
        for folder in (_ROOMS, _BEFORE):  # first: from there they come into those of guests
            yield from self.path.glob(f"{folder}.*/*/*.{QCOW2}")
        yield from self.path.glob(f"*/*.{QCOW2}")

    def make(self) -> None:
        for path in (self.path, self.bases):
            _make(path)

    def clear(self) -> None:
        """Remove folders that were being created or removed when the daemon was killed."""
        _clear(_aside(self.path, self.node))

    def storage(self) -> str:
        """Return the id of the storage; all hosts that share it return the same."""
        self.make()
        mark, own = self.path / _MARK, self.path / f"{_MARK}.{uuids.uuid4()}"
        try:
            return mark.read_text()
        except FileNotFoundError:
            own.write_text(str(uuids.uuid4()))
            with contextlib.suppress(FileExistsError):  # another host was first
                os.link(own, mark)
            own.unlink()
            return mark.read_text()

    def _plans(self) -> Iterator[pathlib.Path]:
        for name in (_UNSIGNED, _signed(self.node)):
            yield from self.path.glob(f"*/{glob.escape(name)}")


def _signed(node: str) -> str:
    return f"guest.{node}.xml"


def _aside(folder: pathlib.Path, node: str) -> pathlib.Path:
    """Return this host's folder for guests that are being created or removed."""
    return folder / f"aside.{node}"


def _clear(path: pathlib.Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def _make(path: pathlib.Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(_PASSABLE)  # whatever the umask is
