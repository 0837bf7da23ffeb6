"""The commands and processes by which a host's networks are made: the seam for what is outside.

Commands are lists of words and see no shell. All are short: one that does not end is given up.
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
_MERCY: Final = 5.0  # seconds that a process gets to end by itself
_NAMESPACES: Final = pathlib.Path("/run/netns")
# program: the package of Debian that it comes with
PACKAGES: Final = {"ip": "iproute2", "nft": "nftables", "dnsmasq": "dnsmasq-base"}
_FILTERS_BRIDGES: Final = pathlib.Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
_PATH: Final = "/usr/sbin:/sbin"  # where Debian has them, and not all that start us look


class System:
    """The host that we run on."""

    def check(self) -> None:
        """Make sure that networks can be made here.

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

    def run(self, *words: str, text: str = "") -> str:
        """Run a command to its end and return what it says.

        :param text: what it reads
        :raises roost.exception.Internal: when it fails, with its last words
        """
        done = self._run(words, text)
        if done.returncode:
            raise exception.Internal(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def succeeds(self, *words: str) -> bool:
        """Run a command and tell whether it has done what it is for."""
        return self._run(words, "").returncode == 0

    def _run(self, words: tuple[str, ...], text: str) -> subprocess.CompletedProcess[str]:
        program = _find(words[0])
        if program is None:
            package = PACKAGES.get(words[0], words[0])
            raise exception.Internal(f"there is no {words[0]}: apt-get install {package}")
        try:
            return subprocess.run(
                [program, *words[1:]],
                input=text,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise exception.Internal(f"{' '.join(words)}: {error}") from error

    def index(self, link: str) -> int:
        """Return the number of a link: no other has it while this one is there.

        :raises roost.exception.Internal: when there is no such link
        """
        try:
            return int(pathlib.Path(f"/sys/class/net/{link}/ifindex").read_text())
        except OSError as error:
            raise exception.Internal(f"there is no link {link}: {error}") from error

    def namespace(self, name: str) -> int | None:
        """Return what tells a network namespace from all others, None when there is none."""
        with contextlib.suppress(OSError):
            return (_NAMESPACES / name).stat().st_ino
        return None

    def runs(self, pid_file: pathlib.Path, *, knows: str, within: str) -> bool:
        """Tell whether the process of a file lives, in a network namespace.

        :param knows: a word of its command line, as its number may be another's by now
        """
        pid = _alive(pid_file, knows)
        if pid is None:
            return False
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{pid}/ns/net").stat().st_ino == self.namespace(within)
        return False

    def end(self, pid_file: pathlib.Path, *, knows: str) -> None:
        """End the process of a file, and forget it; one that has ended is fine.

        :raises roost.exception.Internal: when it does not end
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in _while_alive(pid_file, knows):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if _alive(pid_file, knows) is not None:
            raise exception.Internal(f"the process of {pid_file} does not end")
        pid_file.unlink(missing_ok=True)


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_PATH}")


def _while_alive(pid_file: pathlib.Path, knows: str) -> Iterator[int]:
    deadline = time.monotonic() + _MERCY
    while time.monotonic() < deadline and (pid := _alive(pid_file, knows)) is not None:
        yield pid
        time.sleep(_LOOK)


def _alive(pid_file: pathlib.Path, knows: str) -> int | None:
    """Return the process of a file; one that has ended has no command line any more."""
    with contextlib.suppress(OSError, ValueError):
        pid = int(pid_file.read_text())
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if any(knows.encode() in word for word in words):
            return pid
    return None
