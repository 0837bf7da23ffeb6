"""A libvirtd of our own for tests.

Guests are outside of it: they go on when it is killed, and end with it only in :meth:`stop`.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Self

from roost import exception
from roost.rig.hypervisors import needs
from roost.rig.hypervisors.libvirtd import LIBVIRTD, VIRTLOGD, binds, lay

_APART = ("unshare", "--mount", "--uts", "--propagation", "private")
_RUN = "/run/libvirt"
_SECONDS = 60.0


class Libvirtd:
    """One libvirtd.

    :param folder: where its sockets, state and logs are
    :param cache: where it keeps what it knows of QEMU, for others, too
    :param hostname: what it calls itself, where guests go from one to another; None: this machine's
    :param namespace: the network namespace that it and its guests are in; None: this process's
    :param tls: the folder of the certificates by which guests go from one to another; None: none
    :param by: the words of a command that runs it, and its guests
    """

    def __init__(
        self,
        folder: pathlib.Path,
        cache: pathlib.Path,
        *,
        hostname: str | None = None,
        namespace: str | None = None,
        tls: pathlib.Path | None = None,
        by: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._cache = cache
        self._hostname = hostname
        self._by = tuple(by)
        self._within = (
            () if namespace is None else (f"{needs.DAEMONS}/ip", "netns", "exec", namespace)
        )
        self._process: subprocess.Popen[bytes] | None = None
        lay(folder)
        if tls is not None:
            with (folder / "etc/qemu.conf").open("a") as conf:
                conf.write(f'default_tls_x509_cert_dir = "{tls}"\ndefault_tls_x509_verify = 1\n')
        cache.mkdir(parents=True, exist_ok=True)

    @property
    def socket(self) -> pathlib.Path:
        return self._folder / "run/libvirt-sock"

    @property
    def switch_folder(self) -> pathlib.Path:
        """Where it finds an Open vSwitch."""
        return self._folder / "switch"

    @property
    def uri(self) -> str:
        return f"qemu+unix:///system?socket={self.socket}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_failure: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, or start it again: it finds its guests.

        :raises roost.exception.Unavailable: when it does not come up, with what it said
        """
        self.socket.unlink(missing_ok=True)
        steps = binds(self._folder, self._cache)
        if self._hostname is not None:
            steps.append(f"hostname {self._hostname}")
        if self._pid("virtlogd.pid") is None:
            steps.append(f"{VIRTLOGD} -d -p {_RUN}/virtlogd.pid")
        script = " && ".join([*steps, f"exec {LIBVIRTD} -p {_RUN}/libvirtd.pid"])
        with (self._folder / "start.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._by, *self._within, *_APART, "sh", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers()

    def kill(self) -> None:
        """Have it gone from one moment to the next."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Have it answer nobody while the block lasts."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End its guests, itself, and who writes down what guests say."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_SECONDS)
        for path in (self._folder / "run/qemu").glob("*.pid"):
            self._end(f"qemu/{path.name}")
        self._end("virtlogd.pid")

    def guests(self) -> dict[str, int]:
        """Return the processes of its guests by name."""
        names = [path.stem for path in (self._folder / "run/qemu").glob("*-*.pid")]
        return {name: pid for name in names if (pid := self._pid(f"qemu/{name}.pid"))}

    def kept_of(self, uuid: str) -> list[str]:
        """Return what it keeps on disk of a guest, but for its logs."""
        kept = (self._folder / "lib").rglob(f"*{uuid}*")
        return sorted(str(path.relative_to(self._folder)) for path in kept)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _SECONDS
        while not self._answers():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                logs = [(self._folder / name) for name in ("start.log", "libvirtd.log")]
                told = "\n".join(log.read_text() for log in logs if log.exists())
                raise exception.Unavailable(f"libvirtd did not come up: {told}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        import libvirt  # optional: only who asks for real guests has it

        try:
            libvirt.open(self.uri).close()
        except libvirt.libvirtError:
            return False
        return True

    def _pid(self, name: str) -> int | None:
        """Return the process that a file names, if it is alive."""
        try:
            pid = int((self._folder / "run" / name).read_text())
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None
        return pid

    def _end(self, name: str) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + 5
            while (pid := self._pid(name)) and time.monotonic() < deadline:
                os.kill(pid, number)
                time.sleep(0.05)
