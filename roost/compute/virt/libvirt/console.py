"""What guests write to their serial consoles: a file each, which outlives their restarts."""

import dataclasses
import pathlib
import xml.etree.ElementTree as ET
from typing import Final

from roost.compute.virt.libvirt.elements import element

MOST: Final = 256 * 1024  # bytes that anybody is told
_OLDER: Final = ".0"  # what virtlogd calls the part before, once the file has become large


@dataclasses.dataclass(frozen=True)
class Console:
    """A serial console that virtlogd writes down in ``log``."""

    log: pathlib.Path

    def elements(self, ports: int = 1) -> list[ET.Element]:
        """Return it with the further serial ports, which a guest has for itself."""
        return [
            element(
                "serial",
                # without "on" it begins anew at every start
                element("log", file=self.log, append="on"),
                element("target", port=0),
                type="pty",
            ),
            *[element("serial", element("target", port=at), type="pty") for at in range(1, ports)],
            element("console", element("target", type="serial", port=0), type="pty"),
        ]


def read(log: pathlib.Path) -> str:
    """Return the end of what was written; nothing, if the guest never was started."""
    return tail(log).decode(errors="replace").replace("\r\n", "\n").replace("\0", "")


def tail(log: pathlib.Path) -> bytes:
    """Return the same as the guest wrote it."""
    return b"".join(_tail(part) for part in (_older(log), log))[-MOST:]


def write_before(log: pathlib.Path, data: bytes) -> None:
    """Keep what the guest wrote elsewhere before it wrote here, unless that is too long ago."""
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
