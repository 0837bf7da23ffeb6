"""What guests have on disk: a folder each, so that nothing is left when it is gone.

Hosts may share the storage that these are on. Then a plan says whose a guest is, by its name: while
one goes from host to host there are two, and its disks go with the last.
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

# Others, such as the user that QEMU runs as, pass through, but cannot look around.
_PASSABLE: Final = 0o711
_UNSIGNED: Final = "guest.xml"  # plans of an earlier release: no two hosts shared their storage
_ANY_PLAN: Final = "guest*.xml"
_MARK: Final = "storage"
# The kinds of files that disks are in: a file's name ends so, and it is never asked itself.
QCOW2: Final = "qcow2"
RAW: Final = "raw"


def kind_of(disk: pathlib.Path) -> str:
    """Return what kind of file a disk is in, in the words of QEMU."""
    return RAW if disk.suffix == f".{RAW}" else QCOW2


@dataclasses.dataclass(frozen=True)
class GuestFolder:
    """The folder of one guest, and what is where in it."""

    path: pathlib.Path
    node: str

    @property
    def plan(self) -> pathlib.Path:
        """The guest as it is to become, from before anything else of it is there."""
        unsigned = self.path / _UNSIGNED
        return unsigned if unsigned.exists() else self.path / _signed(self.node)

    @property
    def is_shared(self) -> bool:
        """Whether another host has a plan of the same guest."""
        return any(plan != self.plan for plan in self.path.glob(_ANY_PLAN))

    @property
    def root(self) -> pathlib.Path:
        """Its root disk, whatever kind of file it is."""
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
        """Made and removed again: the root disk at one moment."""
        return self.path / "snapshot.qcow2"

    @property
    def export(self) -> pathlib.Path:
        """Made and removed again: the same as it is given away."""
        return self.path / "snapshot.export"

    @property
    def announced(self) -> pathlib.Path:
        """There as soon as the cell has accepted the guest as somebody's server."""
        return self.path / "announced"

    @property
    def started(self) -> pathlib.Path:
        """Its age is how long ago the guest was started."""
        return self.path / "started"

    @property
    def kernel(self) -> pathlib.Path:
        """What it is started by, if that is not on its disk; likewise its ramdisk."""
        return self.path / "kernel"

    @property
    def ramdisk(self) -> pathlib.Path:
        return self.path / "ramdisk"

    @property
    def rescue_kernel(self) -> pathlib.Path:
        """What it is started by while it is rescued, if the image says so; likewise its ramdisk."""
        return self.path / "rescue.kernel"

    @property
    def rescue_ramdisk(self) -> pathlib.Path:
        return self.path / "rescue.ramdisk"

    def blank(self, number: int, images_type: str = QCOW2) -> pathlib.Path:
        return self.path / f"blank{number}.{images_type}"

    @property
    def aside(self) -> pathlib.Path:
        """Where it is while it has no plan yet, or is to have none any more."""
        return _aside(self.path.parent, self.node) / self.path.name

    def sign(self) -> None:
        """Let other hosts see whose guest it is, if it was made when there were none."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / _UNSIGNED).rename(self.path / _signed(self.node))

    def make(self, plan: str) -> None:
        """Begin a guest: its folder comes with its plan in it, or not at all.

        One that is there gets the plan of this host.
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
        """Remove all of it, the plan last: as long as there is one the guest is found.

        Of what is another host's, too, nothing but the plan goes.
        """
        if self.is_shared:
            self.plan.unlink(missing_ok=True)
            return
        for entry in self.path.glob("*"):
            if entry != self.plan:
                entry.unlink()
        _clear(self.aside)
        if self.path.exists():
            self.aside.parent.mkdir(exist_ok=True)
            self.path.rename(self.aside)
            _clear(self.aside)


@dataclasses.dataclass(frozen=True)
class Folders:
    """All guests of the host ``node``, below ``path``."""

    path: pathlib.Path
    node: str

    def of(self, uuid: str) -> GuestFolder:
        return GuestFolder(self.path / str(uuids.UUID(uuid)), self.node)

    @property
    def bases(self) -> pathlib.Path:
        """Where the images are that root disks stand on."""
        return self.path / "bases"

    def uuids(self) -> set[str]:
        """Return whose folders are there."""
        return {plan.parent.name for plan in self._plans()}

    def plans(self) -> Iterator[str]:
        """Yield what each guest was to become, as it was written down."""
        for plan in self._plans():
            with contextlib.suppress(FileNotFoundError):  # its guest goes at this moment
                yield plan.read_text()

    def disks(self) -> Iterator[pathlib.Path]:
        """Yield all disks of all guests that may stand on others."""
        return self.path.glob(f"*/*.{QCOW2}")

    def make(self) -> None:
        for path in (self.path, self.bases):
            _make(path)

    def clear(self) -> None:
        """Remove what is left of folders that were made or removed when the daemon was killed."""
        _clear(_aside(self.path, self.node))

    def storage(self) -> str:
        """Return the name of the storage that this is on: all hosts that share it say the same."""
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
    """Return where folders of guests come and go; not those of other hosts."""
    return folder / f"aside.{node}"


def _clear(path: pathlib.Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def _make(path: pathlib.Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(_PASSABLE)  # whatever the umask is
