"""The commands and processes that set up a host's networks; tests replace this module's class.

Commands are argument lists, run without a shell. All are short: they have a timeout.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Final

from roost import exception

_SECONDS: Final = 30.0
_LOOK: Final = 0.01
_MERCY: Final = 5.0  # seconds that a process has to end after a signal
_NAMESPACES: Final = pathlib.Path("/run/netns")
# by program: the Debian package that has it
PACKAGES: Final = {"ip": "iproute2", "nft": "nftables", "dnsmasq": "dnsmasq-base"}
_FILTERS_BRIDGES: Final = pathlib.Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
_PATH: Final = "/usr/sbin:/sbin"  # where Debian has them; the PATH of this process may lack it


class System:
    """The host that this process runs on."""

    def check(self) -> None:
        """Make sure that this host can have bridge networks.

        :raises roost.exception.Invalid: saying what is missing
        """
        if os.geteuid() != 0:
            raise exception.Invalid(
                "[network] driver = bridge makes links and network namespaces: run roost-compute as"
                " root"
            )
        missing = [package for name, package in PACKAGES.items() if _find(name) is None]
        if missing:
            raise exception.Invalid(
                "[network] driver = bridge lacks programs: apt-get install " + " ".join(missing)
            )
        if not _FILTERS_BRIDGES.exists():
            raise exception.Invalid(
                "[network] driver = bridge filters by security groups, and the kernel lacks"
                " br_netfilter: modprobe br_netfilter, and name it in /etc/modules-load.d"
            )

    def run(self, *command: str, text: str = "") -> str:
        """Run a command to its end and return its standard output.

        :param text: its standard input
        :raises roost.exception.Internal: when it fails, with its standard error
        """
        done = self._run(command, text)
        if done.returncode:
            raise exception.Internal(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def succeeds(self, *command: str) -> bool:
        """Run a command and return whether it has succeeded."""
        return self._run(command, "").returncode == 0

    def _run(self, command: tuple[str, ...], text: str) -> subprocess.CompletedProcess[str]:
        program = _find(command[0])
        if program is None:
            package = PACKAGES.get(command[0], command[0])
            raise exception.Internal(f"there is no {command[0]}: apt-get install {package}")
        try:
            return subprocess.run(
                [program, *command[1:]],
                input=text,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise exception.Internal(f"{' '.join(command)}: {error}") from error

    def index(self, link: str) -> int:
        """Return the interface index of a link, which is unique while the link exists.

        :raises roost.exception.Internal: when there is no such link
        """
        try:
            return int(pathlib.Path(f"/sys/class/net/{link}/ifindex").read_text())
        except OSError as error:
            raise exception.Internal(f"there is no link {link}: {error}") from error

    def namespace(self, name: str) -> int | None:
        """Return the inode of a network namespace; None: it does not exist."""
        with contextlib.suppress(OSError):
            return (_NAMESPACES / name).stat().st_ino
        return None

    def runs(self, pid_file: pathlib.Path, *, argument: str, within: str) -> bool:
        """Return whether the process of a pid file runs in a network namespace.

        :param argument: part of its command line, because the pid may have been reused
        """
        pid = _alive(pid_file, argument)
        if pid is None:
            return False
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{pid}/ns/net").stat().st_ino == self.namespace(within)
        return False

    def end(self, pid_file: pathlib.Path, *, argument: str) -> None:
        """End the process of a pid file, and remove the file; it may have ended already.

        :raises roost.exception.Internal: when it does not end
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in _while_alive(pid_file, argument):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if _alive(pid_file, argument) is not None:
            raise exception.Internal(f"the process of {pid_file} does not end")
        pid_file.unlink(missing_ok=True)


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_PATH}")


def _while_alive(pid_file: pathlib.Path, argument: str) -> Iterator[int]:
    deadline = time.monotonic() + _MERCY
    while time.monotonic() < deadline and (pid := _alive(pid_file, argument)) is not None:
        yield pid
        time.sleep(_LOOK)


def _alive(pid_file: pathlib.Path, argument: str) -> int | None:
    """Return the running process of a pid file; an ended one has no command line."""
    with contextlib.suppress(OSError, ValueError):
        pid = int(pid_file.read_text())
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if any(argument.encode() in each for each in command):
            return pid
    return None
