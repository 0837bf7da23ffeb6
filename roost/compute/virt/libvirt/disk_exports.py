"""Files of stopped guests, offered to and fetched by other hosts: NBD over TLS, by QEMU's programs.

``qemu-storage-daemon`` offers the files of one guest on one port, read-only, to hosts with a
certificate of the same authority. ``qemu-img`` fetches them piece by piece, so that a copy that was
interrupted goes on with the next piece; holes stay holes.
"""

import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from roost import exception
from roost.compute.virt.libvirt import images
from roost.compute.virt.libvirt.folder import QCOW2, RAW

LOG = logging.getLogger(__name__)
PROGRAM: Final = "qemu-storage-daemon"
_PORTS: Final = range(49152, 49216)  # those of live migrations, which firewalls allow
_OPENING: Final = 10.0  # seconds
_CLOSING: Final = 5.0
_LOOK: Final = 0.05
_PIECE: Final = 1024**3  # bytes
_SECTOR: Final = 512
_READERS: Final = 16
_MIB: Final = 1024**2


@dataclasses.dataclass(frozen=True)
class CopySettings:
    """How disks go from host to host.

    :param address: where other hosts reach this one
    :param tls: the folder of certificates and keys, by QEMU's names; None: no TLS
    :param bandwidth: limit of one copy in MiB per second; 0: none
    """

    address: str
    tls: pathlib.Path | None
    bandwidth: int = 0

    def objects(self, endpoint: str) -> list[str]:
        """Return the arguments that define the TLS credentials of one side."""
        if self.tls is None:
            return []
        verify = ",verify-peer=on" if endpoint == "server" else ""
        return ["--object", f"tls-creds-x509,id=tls,dir={self.tls},endpoint={endpoint}{verify}"]


@dataclasses.dataclass(frozen=True)
class Export:
    """A file that is offered: its bytes (raw), or the contents of the disk that is in it."""

    name: str
    path: str
    kind: str = RAW

    def arguments(self, node: str) -> list[str]:
        """Return the arguments for it, as read-only nodes of QEMU's block layer."""
        file = {"driver": "file", "node-name": f"{node}-file", "filename": self.path}
        nodes: list[dict[str, Any]] = [file]
        if self.kind != RAW:
            nodes.append({"driver": self.kind, "node-name": f"{node}-disk", "file": f"{node}-file"})
        shown = {"type": "nbd", "id": node, "node-name": nodes[-1]["node-name"], "name": self.name}
        blocks = [f"--blockdev={json.dumps(one | {'read-only': True})}" for one in nodes]
        return [*blocks, f"--export={json.dumps(shown | {'writable': False})}"]


@dataclasses.dataclass(frozen=True)
class Offers:
    """What this host offers: a process and a note of it per guest, in ``folder``.

    A process ends with its offer; :meth:`reopen` starts those anew that have ended with the daemon.
    """

    folder: pathlib.Path
    settings: CopySettings

    def open(self, uuid: str, exports: Sequence[Export]) -> int:
        """Offer files of a guest, instead of what was offered of it before; return the port.

        :raises roost.exception.Unavailable: when no port can be opened
        """
        self.close(uuid)
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = random.sample(_PORTS, len(_PORTS))
        for port in filter(self._is_free, ports):
            if self._start(uuid, exports, port):
                about = {"port": port, "exports": [dataclasses.asdict(one) for one in exports]}
                _write(self._note(uuid), json.dumps(about))
                return port
        raise exception.Unavailable(
            f"The disks of the guest {uuid} cannot be offered: {PROGRAM} opens no port of"
            f" {_PORTS.start} to {_PORTS.stop - 1} at {self.settings.address}; see the log."
        )

    def close(self, uuid: str) -> None:
        """Offer nothing of a guest any more."""
        self._note(uuid).unlink(missing_ok=True)
        until = time.monotonic() + _CLOSING
        while (pid := self._pid(uuid)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if time.monotonic() < until else signal.SIGKILL)
            time.sleep(_LOOK)
        self._pid_file(uuid).unlink(missing_ok=True)

    def reopen(self) -> None:
        """Start the processes of offers anew that have ended; call it at start, and sometimes."""
        for note in self.folder.glob("*.json"):
            if self._pid(note.stem) is None:
                about = json.loads(note.read_text())
                exports = [Export(**one) for one in about["exports"]]
                if not self._start(note.stem, exports, about["port"]):
                    LOG.warning("[instance: %s] its disks are not offered any more", note.stem)

    def uuids(self) -> set[str]:
        """Return the guests of which something is offered."""
        return {path.stem for path in self.folder.glob("*.json")}

    def _pid(self, uuid: str) -> int | None:
        """Return the process of an offer; None: there is none."""
        pid_file = self._pid_file(uuid)
        try:
            pid = int(pid_file.read_text())
            words = pathlib.Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if str(pid_file).encode() in words else None

    def _start(self, uuid: str, exports: Sequence[Export], port: int) -> bool:
        inet = {"type": "inet", "host": self.settings.address, "port": str(port)}
        server: dict[str, Any] = {"addr": inet, "max-connections": _READERS}
        if self.settings.tls is not None:
            server["tls-creds"] = "tls"
        arguments = [
            *self.settings.objects("server"),
            *("--nbd-server", json.dumps(server), "--pidfile", str(self._pid_file(uuid))),
            *(part for at, one in enumerate(exports) for part in one.arguments(f"e{at}")),
        ]
        try:
            subprocess.run(  # noqa: S603 - our own words; it returns when the port is open
                [PROGRAM, "--daemonize", *arguments],
                check=True,
                capture_output=True,
                text=True,
                timeout=_OPENING,
            )
        except (OSError, subprocess.SubprocessError) as error:
            output = getattr(error, "stderr", None) or error
            LOG.warning("[instance: %s] %s: %s", uuid, PROGRAM, output)
            return False
        return True

    def _is_free(self, port: int) -> bool:
        """Return whether nothing listens on a port of this host."""
        try:
            family = socket.getaddrinfo(self.settings.address, port)[0][0]
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((self.settings.address, port))
        except OSError:
            return False
        return True

    def _note(self, uuid: str) -> pathlib.Path:
        return self.folder / f"{uuid}.json"

    def _pid_file(self, uuid: str) -> pathlib.Path:
        return self.folder / f"{uuid}.pid"


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file that another host offers; ``size`` in bytes."""

    address: str
    port: int
    name: str
    size: int

    def fetch(
        self,
        target: pathlib.Path,
        settings: CopySettings,
        *,
        kind: str = RAW,
        copied: Callable[[int], None] = lambda _at: None,
    ) -> None:
        """Copy it to a file of this host; what an earlier call has copied is not copied again.

        :param kind: of the target: raw bytes, or a disk with these contents
        :param copied: called with the bytes that are copied, first and after each piece
        :raises roost.exception.Unavailable: when the other host does not give it
        """
        at = _copied(target)
        if at == 0:
            target.unlink(missing_ok=True)
            if kind == RAW:
                target.touch()
            else:
                images.blank(target, size=self.size)
        if kind == RAW:
            os.truncate(target, -(-self.size // _SECTOR) * _SECTOR)
        copied(min(at, self.size))
        while at < self.size:
            length = min(_PIECE, -(-(self.size - at) // _SECTOR) * _SECTOR)
            self._fetch_piece(target, settings, kind, at, length)
            at += length
            with target.open("rb") as file:
                os.fsync(file.fileno())
            _write(_progress(target), str(at))
            copied(min(at, self.size))
            LOG.info("%s: %d of %d bytes are copied", target, min(at, self.size), self.size)
        if kind == RAW:
            os.truncate(target, self.size)
        _progress(target).unlink(missing_ok=True)

    def _fetch_piece(
        self, target: pathlib.Path, settings: CopySettings, kind: str, at: int, length: int
    ) -> None:
        piece = {"driver": "raw", "offset": at, "size": length}
        host = {"type": "inet", "host": self.address, "port": str(self.port)}
        remote: dict[str, Any] = {"driver": "nbd", "server": host, "export": self.name}
        if settings.tls is not None:
            remote["tls-creds"] = "tls"
        local: dict[str, Any] = {"driver": "file", "filename": str(target)}
        if kind == QCOW2:
            local = {"driver": QCOW2, "file": local}
        rate = ("-r", str(settings.bandwidth * _MIB)) if settings.bandwidth else ()
        try:
            images.run(
                "qemu-img",
                *("convert", "-q", "-n", "--target-is-zero", *rate),
                *settings.objects("client"),
                f"json:{json.dumps(piece | {'file': remote})}",
                f"json:{json.dumps(piece | {'file': local})}",
            )
        except exception.BuildFailed as error:
            raise exception.Unavailable(
                f"The file {self.name} could not be copied from {self.address}; the log of this"
                " host says why."
            ) from error


def _progress(target: pathlib.Path) -> pathlib.Path:
    """Return the path of the note how much of a file is copied."""
    return target.with_name(f"{target.name}.done")


def _copied(target: pathlib.Path) -> int:
    try:
        return int(_progress(target).read_text()) if target.exists() else 0
    except (OSError, ValueError):
        return 0


def _write(path: pathlib.Path, text: str) -> None:
    """Write a file, whole or not at all."""
    partial = path.with_name(f"{path.name}.part")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
