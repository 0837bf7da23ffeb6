"""Detects whether KVM is usable on this host, by running a guest with it.

An existing device, or libvirt's offer, proves little: on a nested host KVM may emulate every
instruction, slower than QEMU does, so that an ordinary kernel never finishes unpacking. So a guest
of one sector counts to a high number and then writes a message, within some seconds or not at all.
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
MESSAGE: Final = "roost: this guest runs"
_SECONDS: Final = 5.0  # a real CPU needs 0.05, QEMU 1
_LOOK: Final = 0.05
_SECTOR: Final = 512
_SECTORS: Final = 128  # SeaBIOS does not read a virtio disk of one sector
_ROUNDS: Final = 50_000_000
_MEMORY_MB: Final = 16
_LOADED_AT: Final = 0x7C00
_SERIAL_PORT: Final = 0x3F8


def disk(message: str = MESSAGE, *, rounds: int = _ROUNDS) -> bytes:
    """Return a disk whose first sector counts down, writes to the serial port, and halts.

    16 bit code, as every PC starts with.
    """
    text = message.encode("ascii") + b"\r\n\0"
    before = bytes.fromhex("31c0 8ed8 66b9") + rounds.to_bytes(4, "little")  # ds = 0, ecx = rounds
    count = bytes.fromhex("6649 75fc")  # until ecx is 0
    write = b"\xba" + _SERIAL_PORT.to_bytes(2, "little")  # the port
    write += bytes.fromhex("ac 84c0 7403 ee ebf8")  # each letter, until there is a 0
    rest = bytes.fromhex("fb f4 ebfd")  # with interrupts on, so that it can be woken
    size = len(before) + len(count) + 3 + len(write) + len(rest)
    where = b"\xbe" + (_LOADED_AT + size).to_bytes(2, "little")  # si: the text
    code = before + count + where + write + rest + text
    sector = code.ljust(_SECTOR - 2, b"\0") + b"\x55\xaa"
    return sector.ljust(_SECTOR * _SECTORS, b"\0")


def find_virt_type(connection: Connection, folder: pathlib.Path) -> str:
    """Return the best virtualization type of this host: KVM if it works.

    :param folder: for the probe's temporary disk
    """
    with tempfile.TemporaryDirectory(prefix="probe-", dir=folder) as path:
        pathlib.Path(path).chmod(0o711)
        found = KVM if _runs(connection, pathlib.Path(path)) else QEMU
    LOG.info("guests of this host run with %s", found)
    return found


def _runs(connection: Connection, folder: pathlib.Path) -> bool:
    path, log = folder / "disk", folder / "console.log"
    path.write_bytes(disk())
    xml = _domain(path, Console(log))

    def try_it(opened: Any) -> bool:
        guest = opened.createXML(xml, libvirt.VIR_DOMAIN_START_AUTODESTROY)
        try:
            return _has_reported(log)
        finally:
            guest.destroy()

    try:
        return connection.call("try KVM", try_it)
    except libvirt.libvirtError as error:
        LOG.info("KVM does not run guests here: %s", error)
        return False


def _has_reported(log: pathlib.Path) -> bool:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if MESSAGE in read(log):
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
