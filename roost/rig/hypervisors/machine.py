"""A host of a rig, apart from this machine as far as its guests, links and names go.

It is a mount, a UTS and a network namespace, in which ``/run/libvirt`` and its like are folders of
its own. Nobody keeps a record of who is in there: it is whoever sees the host's folder as
``/run/libvirt``. So what was started by who has died is found, too, and no number of a process is
ever taken for another's.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import socket
import time
from collections.abc import Sequence
from typing import Final, Self

from roost import exception
from roost.rig.hypervisors import libvirtd
from roost.rig.hypervisors.network import MANAGEMENT, PREFIX, UPLINK

_RUN: Final = "/run/libvirt"
_LINKS: Final = "net"  # a file in there that says which network namespace is the host's own
_END_SECONDS: Final = 15.0
_LOOK: Final = 0.05
# Guests go from host to host as root of both: that is not for everybody who is on this machine.
_GUARD: Final = """\
table inet roost_rig {{
    chain arriving {{
        type filter hook input priority filter;
        ip saddr {gateway} tcp dport {{ {ports} }} reject with tcp reset
    }}
}}
"""
_PORTS: Final = f"{libvirtd.TCP_PORT}, 49152-49215"  # the latter is where QEMU takes guests over


@dataclasses.dataclass(frozen=True)
class Link:
    """A link between this machine and a host: its two ends, and the switch here."""

    inner: str
    outer: str
    switch: str


@dataclasses.dataclass(frozen=True)
class HostNamespace:
    """One host.

    :param folder: what it is; its path may be long
    :param cache: where its libvirtd keeps what it knows of QEMU, with others
    :param names: a file with the names and addresses of all hosts
    """

    name: str
    folder: pathlib.Path
    cache: pathlib.Path
    names: pathlib.Path
    address: str
    gateway: str
    links: tuple[Link, ...]

    def lay(self) -> None:
        """Write what its processes read; nothing runs yet."""
        self.folder.mkdir(parents=True)
        libvirtd.lay(self.folder, address=self.address)
        guard = _GUARD.format(gateway=self.gateway, ports=_PORTS)
        (self.folder / "guard.nft").write_text(guard)
        self.cache.mkdir(parents=True, exist_ok=True)
        text = json.dumps(dataclasses.asdict(self), indent=2, default=str)
        (self.folder / "machine.json").write_text(text + "\n")

    @classmethod
    def load(cls, folder: pathlib.Path) -> Self:
        """Read which host a folder is.

        :raises roost.exception.NotFound: when it is none
        """
        try:
            values = json.loads((folder / "machine.json").read_text())
        except FileNotFoundError:
            raise exception.NotFound(f"there is no host in {folder}") from None
        paths = {name: pathlib.Path(values[name]) for name in ("folder", "cache", "names")}
        links = tuple(Link(**link) for link in values["links"])
        return cls(**{**values, **paths, "links": links})

    def members(self) -> list[int]:
        """Return the processes that are in it, its guests included."""
        try:
            mine = (self.folder / "run").stat()
        except FileNotFoundError:
            return []
        pids = sorted(int(one.name) for one in pathlib.Path("/proc").glob("[0-9]*"))
        return [pid for pid in pids if _sees(pid, mine)]

    def inside(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs another in it.

        :raises roost.exception.Conflict: when nobody is there, so that there is no such place
        """
        own = ["--mount", "--uts", "--net"]
        return ["nsenter", "--target", str(self._anybody()), *own, "--", *words]

    @property
    def stands(self) -> bool:
        """Tell whether there is such a place now: it ends with the last process."""
        return bool(self._residents())

    def _anybody(self) -> int:
        residents = self._residents()
        if not residents:
            raise exception.Conflict(
                f"nothing of {self.name} runs any more; start {self.name}-virtlogd, then"
                f" {self.name}-libvirtd and {self.name}"
            )
        return residents[0]

    def _residents(self) -> list[int]:
        """Return those who see the links of the host itself, not those of a network of guests."""
        try:
            links = (self.folder / "run" / _LINKS).read_text().strip()
        except FileNotFoundError:
            return []
        return [pid for pid in self.members() if _namespace(pid) == links]

    def beginning(self, words: Sequence[str]) -> list[str]:
        """Return the command that makes it, and is its first process then.

        The name of the network namespace goes before it is used: it ends with those who are in it.
        """
        namespace = self.links[0].outer
        make = [
            *(f"ip link delete dev {link.outer} 2>/dev/null || :" for link in self.links),
            f"ip netns delete {namespace} 2>/dev/null || :",
            f"ip netns add {namespace}",
        ]
        for link in self.links:
            make += [
                f"ip link add {link.outer} type veth peer name {link.inner} netns {namespace}",
                f"ip link set {link.outer} addrgenmode none",
                f"ip link set {link.outer} master {link.switch} up",
            ]
        first = f"ip netns delete {namespace}; exec unshare --mount --uts {_sh(self._inner(words))}"
        return [
            "sh",
            "-ec",
            _lines([*make, f"exec nsenter --net=/run/netns/{namespace} {_sh(first)}"]),
        ]

    def _inner(self, words: Sequence[str]) -> str:
        own = f"{self.address}/{PREFIX}"
        return _lines(
            [
                f"hostname {self.name}",
                "mount -t sysfs sysfs /sys",  # that of these links
                "mkdir -p /run/netns; mount -t tmpfs tmpfs /run/netns",
                *libvirtd.binds(self.folder, self.cache),
                f"mount --bind {shlex.quote(str(self.names))} /etc/hosts",
                "ip link set lo up",
                f"ip address add {own} dev {MANAGEMENT}; ip link set {MANAGEMENT} up",
                f"ip link set {UPLINK} addrgenmode none; ip link set {UPLINK} up",
                f"nft -f {shlex.quote(str(self.folder / 'guard.nft'))}",
                f"readlink /proc/self/ns/net >{_RUN}/{_LINKS}",
                f"exec {shlex.join(words)}",
            ]
        )

    def wait_until(self, name: str, *, seconds: float) -> None:
        """Wait until somebody listens at a socket in ``/run/libvirt``, or for so long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._listens(name):
            time.sleep(_LOOK)

    def _listens(self, name: str) -> bool:
        """Try it from within the folder: paths of sockets have 107 characters at most."""
        here = os.open(self.folder / "run", os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(f"/proc/self/fd/{here}/{name}") == 0
        finally:
            os.close(here)

    @property
    def uri(self) -> str:
        """Where its libvirtd answers, for this machine."""
        return f"qemu+unix:///system?socket=/proc/{self._anybody()}/root{_RUN}/libvirt-sock"

    def end(self) -> None:
        """End all that runs in it, guests first of all; namespaces and links go with the last.

        :raises roost.exception.Timeout: when something does not end
        """
        deadline = time.monotonic() + _END_SECONDS
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise exception.Timeout(f"{self.name}: {members} do not end")
            time.sleep(_LOOK)


def _sees(pid: int, folder: os.stat_result) -> bool:
    """Tell whether a process has that folder as ``/run/libvirt``; one that has ended has none."""
    with contextlib.suppress(OSError):
        return os.path.samestat(pathlib.Path(f"/proc/{pid}/root{_RUN}").stat(), folder)
    return False


def _namespace(pid: int) -> str | None:
    with contextlib.suppress(OSError):
        return str(pathlib.Path(f"/proc/{pid}/ns/net").readlink())
    return None


def _sh(script: str) -> str:
    return f"sh -ec {shlex.quote(script)}"


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines)
