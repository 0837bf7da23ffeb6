"""Console logs of guests: a file each, which outlives restarts of the guest."""

import dataclasses
import pathlib
import xml.etree.ElementTree as ET
from typing import Final

from roost.compute.virt.libvirt.elements import element

MOST: Final = 256 * 1024  # bytes that a reader receives
_OLDER: Final = ".0"  # suffix of virtlogd's rotated file


@dataclasses.dataclass(frozen=True)
class Console:
    """A serial console that virtlogd writes to ``log``."""

    log: pathlib.Path

    def elements(self, ports: int = 1) -> list[ET.Element]:
        """Return the console and further serial ports, which are not logged."""
        return [
            element(
                "serial",
                # otherwise every start truncates it
                element("log", file=self.log, append="on"),
                element("target", port=0),
                type="pty",
            ),
            *[element("serial", element("target", port=at), type="pty") for at in range(1, ports)],
            element("console", element("target", type="serial", port=0), type="pty"),
        ]


def read(log: pathlib.Path) -> str:
    """Return the end of the log as text; empty if the guest never started."""
    return tail(log).decode(errors="replace").replace("\r\n", "\n").replace("\0", "")


def tail(log: pathlib.Path) -> bytes:
    """Return the end of the log as the guest wrote it."""
    return b"".join(_tail(part) for part in (_older(log), log))[-MOST:]


def write_before(log: pathlib.Path, data: bytes) -> None:
    """Store the log from the migration's source as the older part, unless there is one already."""
    if not _older(log).exists():
        _older(log).write_bytes(data)


def _older(log: pathlib.Path) -> pathlib.Path:
    return log.with_name(log.name + _OLDER)


def _tail(path: pathlib.Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - MOST))
            return file.read()
    except FileNotFoundError:
        return b""
