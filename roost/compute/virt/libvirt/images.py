"""From an image, as somebody uploaded it, to disks: the programs of the host that make them.

Images are not trusted: one that refers to files of this host, or claims to be larger than what was
paid for, is refused before QEMU sees it, and becomes plain bytes before a guest does.
"""

import dataclasses
import json
import logging
import os
import pathlib
import subprocess
from typing import Final

from oslo_utils.imageutils import format_inspector

from roost import exception
from roost.compute.virt.libvirt.folder import RAW, kind_of

LOG = logging.getLogger(__name__)
_SECONDS: Final = 3600.0  # that a program gets for one disk


def run(program: str, *arguments: str) -> str:
    """Run a program to its end, and return what it says.

    :raises roost.exception.BuildFailed: when it fails, which the log has more of, or is not there
    """
    try:
        done = subprocess.run(
            [program, *arguments], check=True, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or error
        LOG.error("%s %s: %s", program, " ".join(arguments), said)  # noqa: TRY400
        raise exception.BuildFailed(f"A disk could not be made ({program}).") from error
    return done.stdout


PLAIN: Final = "raw"
# By the names that images say of themselves, those that qemu-img knows. What is not here has no
# structure that could refer to anything.
_STRUCTURED: Final = {
    "qcow2": "qcow2",
    "vmdk": "vmdk",
    "vdi": "vdi",
    "vhd": "vpc",
    "vhdx": "vhdx",
}
_UNSTRUCTURED: Final = ("raw", "gpt", "iso")
_SAID_OF_PLAIN: Final = ("raw", "iso", "ami", "aki", "ari")
EXPORTS: Final = {PLAIN: PLAIN, **_STRUCTURED}


@dataclasses.dataclass(frozen=True)
class Image:
    """What an image was found to be.

    ``kind`` is in the words of qemu-img; ``size`` are the bytes that its guest sees.
    """

    kind: str
    size: int


def inspect(path: pathlib.Path, *, said: str | None = None) -> Image:
    """Look at an image without trusting it.

    :param said: the format that its owner says it has; None: nobody says
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
    if said is not None and said != _named(image.kind):
        raise _refused(f"it is said to be {said}, and is {_named(image.kind)}")
    return image


def _structured(found: format_inspector.FileInspector) -> Image:
    if found.NAME not in _STRUCTURED:
        raise _refused(f"its format is {found.NAME}")
    found.safety_check()
    return Image(_STRUCTURED[found.NAME], found.virtual_size)


def _named(kind: str) -> str:
    return next(name for name, known in EXPORTS.items() if known == kind)


def said_of(disk_format: str) -> str:
    """Return in which of our words an image's owner speaks of its format."""
    return PLAIN if disk_format in _SAID_OF_PLAIN else disk_format


def _refused(why: str) -> exception.BuildFailed:
    return exception.BuildFailed(f"The image cannot be run: {why}.", reschedulable=False)


def convert(source: pathlib.Path, target: pathlib.Path, *, from_: str, to: str) -> None:
    """Write a disk in another format; holes stay holes."""
    _qemu_img("convert", "-q", "-f", from_, "-O", to, str(source), str(target))


def measure(source: pathlib.Path, image: Image) -> int:
    """Return how many bytes an image takes as plain bytes, of which holes are none."""
    said = _qemu_img("measure", "-f", image.kind, "-O", "qcow2", "--output", "json", str(source))
    return min(image.size, int(json.loads(said)["required"]))


def blank(path: pathlib.Path, *, size: int) -> None:
    """Make a disk of so many bytes with nothing on it, of the kind that its name says."""
    if kind_of(path) == RAW:
        with path.open("wb") as file:
            file.truncate(size)
    else:
        create(path, size=size)


def copy(source: pathlib.Path, image: Image, path: pathlib.Path, *, size: int) -> None:
    """Make a raw disk of so many bytes with what an image has; it stands on nothing."""
    convert(source, path, from_=image.kind, to=PLAIN)
    os.truncate(path, size)


def create(path: pathlib.Path, *, size: int, base: pathlib.Path | None = None) -> None:
    """Make a qcow2 disk of so many bytes: blank, or with what a base has."""
    standing = () if base is None else ("-b", str(base), "-F", PLAIN)
    _qemu_img("create", "-q", "-f", "qcow2", *standing, str(path), str(size))


def _qemu_img(command: str, *arguments: str) -> str:
    return run("qemu-img", command, *arguments)
