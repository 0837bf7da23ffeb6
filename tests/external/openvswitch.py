"""An Open vSwitch of our own: its database, and the switch that works without a kernel's module."""

import os
import pathlib
import shutil
import signal
import subprocess
import time
from typing import Self

_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_SECONDS = 10.0


def check() -> None:
    """Make sure that one can be started.

    :raises RuntimeError: saying what is missing
    """
    if os.geteuid() != 0:
        raise RuntimeError("Open vSwitch is tested as root only: it makes links")
    if not shutil.which("ovs-vswitchd"):
        raise RuntimeError("there is no ovs-vswitchd: run sh tools/packages.sh as root")


class OpenVSwitch:
    """One of each of its daemons.

    :param folder: where its sockets, database and logs are
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self.database = f"unix:{folder}/db.sock"
        self._environ = {**os.environ, **dict.fromkeys(
            ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"), str(folder)
        )}  # fmt: skip

    def __enter__(self) -> Self:
        self._run("ovsdb-tool", "create", f"{self._folder}/conf.db", _SCHEMA)
        try:
            self._daemon("ovsdb-server", f"{self._folder}/conf.db",
                         f"--remote=punix:{self._folder}/db.sock")  # fmt: skip
            self.vsctl("--no-wait", "init")
            self._daemon("ovs-vswitchd", self.database)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_failure: object) -> None:
        for bridge in self.vsctl("list-br").split():
            self.vsctl("del-br", bridge)
        for name in ("ovs-vswitchd", "ovsdb-server"):
            self._end(self._folder / f"{name}.pid")
        subprocess.run(["/usr/sbin/ip", "link", "delete", "dev", "ovs-netdev"], capture_output=True)

    def vsctl(self, *words: str) -> str:
        return self._run("ovs-vsctl", f"--db={self.database}", *words)

    def find(self, kind: str, name: str, column: str) -> str:
        """Return what a row says, nothing for one that is not there."""
        return self.vsctl("--if-exists", "get", kind, name, column).strip()

    def _daemon(self, name: str, *words: str) -> None:
        own = [f"--pidfile={self._folder}/{name}.pid", f"--unixctl={self._folder}/{name}.ctl"]
        log = f"--log-file={self._folder}/{name}.log"
        self._run(name, *words, *own, log, "--detach", "--no-chdir")

    def _run(self, *words: str) -> str:
        told = subprocess.run(
            words, env=self._environ, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if told.returncode:
            raise RuntimeError(f"{' '.join(words)}: {told.stderr}")
        return told.stdout

    def _end(self, pid_file: pathlib.Path) -> None:
        if not pid_file.exists():
            return
        os.kill(pid := int(pid_file.read_text()), signal.SIGTERM)
        deadline = time.monotonic() + _SECONDS
        while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
