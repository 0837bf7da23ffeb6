"""Whether KVM is of use here, found out by running a guest with it.

That the device is there, or that libvirt offers it, says little: where this host is itself a guest,
KVM may work and emulate every instruction, slower than QEMU would, and an ordinary kernel never
ends to unpack itself. So a guest of one sector counts far and then says so, within some seconds or
not at all.
"""

import logging
import pathlib
import tempfile
import time
import uuid as uuids
import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from roost.compute.virt.libvirt.connection import Connection
from roost.compute.virt.libvirt.console import Console, read
from roost.compute.virt.libvirt.cpus import KVM, QEMU
from roost.compute.virt.libvirt.elements import element

LOG = logging.getLogger(__name__)
SAYS: Final = "roost: this guest runs"
_SECONDS: Final = 5.0  # for what a CPU of its own does in a twentieth of one, and QEMU in one
_LOOK: Final = 0.05
_SECTOR: Final = 512
_SECTORS: Final = 128  # SeaBIOS reads no virtio disk of one
_ROUNDS: Final = 50_000_000
_MEMORY_MB: Final = 16
_LOADED_AT: Final = 0x7C00
_SERIAL_PORT: Final = 0x3F8


def disk(says: str = SAYS, *, rounds: int = _ROUNDS) -> bytes:
    """Return a disk whose first sector counts down, writes to the serial port, and rests.

    16 bit code, which every PC begins with.
    """
    text = says.encode("ascii") + b"\r\n\0"
    before = bytes.fromhex("31c0 8ed8 66b9") + rounds.to_bytes(4, "little")  # ds = 0, ecx = rounds
    count = bytes.fromhex("6649 75fc")  # until ecx is 0
    write = b"\xba" + _SERIAL_PORT.to_bytes(2, "little")  # the port
    write += bytes.fromhex("ac 84c0 7403 ee ebf8")  # each letter, until there is a 0
    rest = bytes.fromhex("fb f4 ebfd")  # with interrupts on, so that others may wake it
    size = len(before) + len(count) + 3 + len(write) + len(rest)
    where = b"\xbe" + (_LOADED_AT + size).to_bytes(2, "little")  # si: the text
    code = before + count + where + write + rest + text
    sector = code.ljust(_SECTOR - 2, b"\0") + b"\x55\xaa"
    return sector.ljust(_SECTOR * _SECTORS, b"\0")


def find_virt_type(connection: Connection, folder: pathlib.Path) -> str:
    """Return the best way to run guests here.

    :param folder: where the probe's disk may be for a moment
    """
    with tempfile.TemporaryDirectory(prefix="probe-", dir=folder) as path:
        pathlib.Path(path).chmod(0o711)
        found = KVM if _runs(connection, pathlib.Path(path)) else QEMU
    LOG.info("guests of this host are run by %s", found)
    return found


def _runs(connection: Connection, folder: pathlib.Path) -> bool:
    path, log = folder / "disk", folder / "console.log"
    path.write_bytes(disk())
    xml = _domain(path, Console(log))

    def try_it(opened: Any) -> bool:
        guest = opened.createXML(xml, libvirt.VIR_DOMAIN_START_AUTODESTROY)
        try:
            return _says_so(log)
        finally:
            guest.destroy()

    try:
        return connection.call("try KVM", try_it)
    except libvirt.libvirtError as error:
        LOG.info("KVM does not run guests here: %s", error)
        return False


def _says_so(log: pathlib.Path) -> bool:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if SAYS in read(log):
            return True
        time.sleep(_LOOK)
    return False


def _domain(path: pathlib.Path, console: Console) -> str:
    uuid = str(uuids.uuid4())
    made = element(
        "domain",
        element("name", text=f"probe-{uuid}"),
        element("uuid", text=uuid),
        element("memory", text=_MEMORY_MB, unit="MiB"),
        element("vcpu", text=1),
        element("os", element("type", text="hvm")),
        element(
            "devices",
            element(
                "disk",
                element("driver", name="qemu", type="raw"),
                element("source", file=path),
                element("target", dev="vda", bus="virtio"),
                type="file",
                device="disk",
            ),
            *console.elements(),
        ),
        type=KVM,
    )
    return ET.tostring(made, encoding="unicode")
