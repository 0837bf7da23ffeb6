"""Creates disks from images, by the host's programs (qemu-img and others).

Images are untrusted: one that refers to files of this host, or is larger than the flavor allows, is
refused before QEMU reads it, and converted to raw before a guest uses it.
"""

import dataclasses
import json
import logging
import os
import pathlib
import struct
import subprocess
from typing import Final

from oslo_utils.imageutils import format_inspector

from roost import exception
from roost.compute.virt.libvirt.folder import QCOW2, RAW, kind_of

LOG = logging.getLogger(__name__)
_SECONDS: Final = 3600.0  # timeout of a program for one disk


def run(program: str, *arguments: str) -> str:
    """Run a program to its end, and return its output.

    :raises roost.exception.BuildFailed: when it fails (the log has the details) or is not installed
    """
    try:
        done = subprocess.run(
            [program, *arguments], check=True, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or error
        LOG.warning("%s %s: %s", program, " ".join(arguments), output)
        raise exception.BuildFailed(f"A disk could not be created ({program}).") from error
    return done.stdout


PLAIN: Final = "raw"
# Our names of image formats, and qemu-img's. Other formats have no structure that could refer to
# files.
_STRUCTURED: Final = {
    "qcow2": "qcow2",
    "vmdk": "vmdk",
    "vdi": "vdi",
    "vhd": "vpc",
    "vhdx": "vhdx",
}
_UNSTRUCTURED: Final = ("raw", "gpt", "iso")
_DECLARED_PLAIN: Final = ("raw", "iso", "ami", "aki", "ari")
EXPORTS: Final = {PLAIN: PLAIN, **_STRUCTURED}


@dataclasses.dataclass(frozen=True)
class Image:
    """The detected format of an image.

    ``kind`` is qemu-img's name; ``size`` is the virtual size in bytes.
    """

    kind: str
    size: int


def inspect(path: pathlib.Path, *, declared: str | None = None) -> Image:
    """Detect the format of an image without trusting it.

    :param declared: the format that its owner declares; None: none
    :raises roost.exception.BuildFailed: when no host will run it, and why
    """
    try:
        found = format_inspector.detect_file_format(str(path))
        if found is None or found.NAME in _UNSTRUCTURED:
            image = Image(PLAIN, path.stat().st_size)
        else:
            image = _structured(found)
    except (format_inspector.ImageFormatError, format_inspector.SafetyCheckFailed) as error:
        raise _refused(str(error)) from error
    if declared is not None and declared != _named(image.kind):
        raise _refused(f"its disk_format is {declared}, but it is {_named(image.kind)}")
    return image


def _structured(found: format_inspector.FileInspector) -> Image:
    if found.NAME not in _STRUCTURED:
        raise _refused(f"its format is {found.NAME}")
    found.safety_check()
    return Image(_STRUCTURED[found.NAME], found.virtual_size)


def _named(kind: str) -> str:
    return next(name for name, known in EXPORTS.items() if known == kind)


def declared_kind(disk_format: str) -> str:
    """Return our name of an image's ``disk_format``."""
    return PLAIN if disk_format in _DECLARED_PLAIN else disk_format


def _refused(why: str) -> exception.BuildFailed:
    return exception.BuildFailed(f"The image cannot be run: {why}.", reschedulable=False)


def convert(source: pathlib.Path, target: pathlib.Path, *, from_: str, to: str) -> None:
    """Convert a disk to another format; holes stay holes."""
    _qemu_img("convert", "-q", "-f", from_, "-O", to, str(source), str(target))


def measure(source: pathlib.Path, image: Image) -> int:
    """Return how many bytes an image takes as raw, without holes."""
    output = _qemu_img("measure", "-f", image.kind, "-O", "qcow2", "--output", "json", str(source))
    return min(image.size, int(json.loads(output)["required"]))


def blank(path: pathlib.Path, *, size: int) -> None:
    """Create a blank disk of ``size`` bytes, of the kind of its file name."""
    if kind_of(path) == RAW:
        with path.open("wb") as file:
            file.truncate(size)
    else:
        create(path, size=size)


def copy(source: pathlib.Path, image: Image, path: pathlib.Path, *, size: int) -> None:
    """Create a raw disk of ``size`` bytes from an image, without a backing file."""
    convert(source, path, from_=image.kind, to=PLAIN)
    os.truncate(path, size)


def create(path: pathlib.Path, *, size: int, base: pathlib.Path | None = None) -> None:
    """Create a qcow2 disk of ``size`` bytes: blank, or with a backing file."""
    backing = () if base is None else ("-b", str(base), "-F", PLAIN)
    _qemu_img("create", "-q", "-f", "qcow2", *backing, str(path), str(size))


def size_of(path: pathlib.Path) -> int:
    """Return the size in bytes of a disk of this host, as its guest sees it."""
    if kind_of(path) == RAW:
        return path.stat().st_size
    about = _qemu_img("info", "-f", kind_of(path), "--output", "json", str(path))
    return int(json.loads(about)["virtual-size"])


def grow(path: pathlib.Path, *, size: int) -> None:
    """Make a disk larger, unless it is so large already; its guest sees that when it starts."""
    if size <= size_of(path):
        return
    if kind_of(path) == RAW:
        os.truncate(path, size)
    else:
        _qemu_img("resize", "-q", "-f", kind_of(path), str(path), str(size))


_QCOW2_HEADER: Final = struct.Struct(">4sIQIIQ")  # magic, version, backing name, bits, size
_INCOMPATIBLE_AT: Final = 72  # in version 3
_DIRTY: Final = 1  # the only incompatible feature that our disks may have


def rebase(path: pathlib.Path, base: pathlib.Path, *, size: int) -> None:
    """Name the backing file of a qcow2 layer that came from another host, which has the same base.

    The layer is not trusted: one that could name other files of this host is refused.

    :param size: of the disk in bytes
    :raises roost.exception.BuildFailed: when it is no such layer
    """
    with path.open("rb") as file:
        head = file.read(_INCOMPATIBLE_AT + 8)
    magic, version, _backing, _length, _bits, found = _QCOW2_HEADER.unpack_from(head.ljust(80))
    features = int.from_bytes(head[_INCOMPATIBLE_AT:], "big") if version > 2 else 0  # noqa: PLR2004
    if magic != b"QFI\xfb" or features & ~_DIRTY or found != size:
        raise exception.BuildFailed("A disk that came from another host is not as it was offered.")
    _qemu_img("rebase", "-u", "-f", QCOW2, "-b", str(base), "-F", PLAIN, str(path))


def _qemu_img(command: str, *arguments: str) -> str:
    return run("qemu-img", command, *arguments)
