"""A server of our own: its folder, its processes, its log; and what all services have in common."""

import contextlib
import dataclasses
import json
import os
import pathlib
import pwd
import secrets
import shutil
import signal as signals
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import psutil

from roost import exception

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 30
REVIVE_SECONDS = 120
_PORTS = range(10240, 22000)
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


@dataclasses.dataclass(frozen=True)
class ServiceAddress:
    """Where a service listens, and as whom we come."""

    host: str
    port: int
    user: str
    password: str = ""


class PrivateService:
    """A broker or database server that we may use.

    :param private: the processes behind it, when they are ours
    """

    kind: ClassVar[str]

    def __init__(self, address: ServiceAddress, private: "Private | None" = None) -> None:
        self.address = address
        self.private = private

    @classmethod
    def find(cls) -> Self:
        """Return the service at its usual port on loopback.

        :raises roost.exception.Unavailable: when nobody is there, or does not let us in
        """
        raise NotImplementedError

    @classmethod
    def start(cls, state_dir: pathlib.Path) -> Self:
        """Start a private service whatever else runs, or return the one started from ``state_dir``.

        :raises roost.exception.Unavailable: when its packages are missing or it does not come up
        """
        raise NotImplementedError

    @classmethod
    def find_or_start(cls, state_dir: pathlib.Path) -> Self:
        """Return a service that lets us in, started if need be.

        :param state_dir: where the logs of private services are, and the notes by which a later
            call finds one that is left running
        :raises roost.exception.Unavailable: when there is none and none can be started; the message
            says what is missing
        """
        try:
            return cls.find()
        except exception.Unavailable as absent:
            try:
                return cls.start(state_dir)
            except exception.Unavailable as missing:
                message = f"{absent.message}; and {missing.message}"
                raise exception.Unavailable(message) from missing

    def check(self) -> None:
        """Make sure that the service lets us in.

        :raises roost.exception.Unavailable: when it does not
        """
        raise NotImplementedError

    def halt(self, signal: signals.Signals | None = None) -> None:
        """End a private service, but keep what it had; SIGKILL: as a crash would.

        :raises roost.exception.Invalid: when it is not ours
        """
        self._ours().halt(signal)

    def revive(self) -> None:
        """Start a private service again that was halted; return when it lets us in.

        :raises roost.exception.Unavailable: when it does not come up
        :raises roost.exception.Invalid: when it is not ours
        """
        self._ours().revive()
        self._ours().wait_until(self.check, seconds=REVIVE_SECONDS)

    def stop(self) -> None:
        """End a private service and remove all it had; a service of others is left alone."""
        if self.private is not None:
            self.private.stop()

    def _ours(self) -> "Private":
        if self.private is None:
            raise exception.Invalid("a service that others started is left alone")
        return self.private


class Private:
    """The processes of one private service.

    The folder is a temporary one, so that paths of sockets stay short and the account that a server
    runs under can reach it; a note in ``state_dir`` says where everything is.

    :param account: whom to become when we are root, which servers refuse to run as
    """

    def __init__(self, kind: str, state_dir: pathlib.Path, *, account: str) -> None:
        self.kind = kind
        self.log = state_dir / f"{kind}.log"
        self.note = note_of(kind, state_dir)
        self.folder = pathlib.Path("/nowhere")
        self.details: dict[str, Any] = {}
        self._account = _account(account)
        self._processes: list[psutil.Process] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self._last: tuple[Sequence[str], Mapping[str, str] | None] | None = None

    def running(self) -> bool:
        """Take up a service that an earlier call left running, if there is one."""
        try:
            noted = json.loads(self.note.read_text())
            processes = [psutil.Process(pid) for pid, _created in noted["processes"]]
        except (FileNotFoundError, psutil.NoSuchProcess):
            return False
        created = [moment for _pid, moment in noted["processes"]]
        if created != [process.create_time() for process in processes]:
            return False
        self.folder, self.details = pathlib.Path(noted["folder"]), noted["details"]
        self._processes = processes
        return True

    def make_folder(self, **details: Any) -> pathlib.Path:
        """Begin a new service: an empty folder that its account owns, and what to note of it."""
        self.note.parent.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"roost-{self.kind}-"))
        if self._account is not None:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
        self.details = details
        return self.folder

    def write_secret(self, name: str, text: str) -> None:
        """Write a file into its folder that only the service's account may read."""
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text)
        if self._account is not None:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Run a command to its end, as the service's account.

        :raises roost.exception.Unavailable: when it fails, with the end of the log
        """
        process = self._popen(command, environment or {})
        if process.wait() != 0:
            self.fail(f"{pathlib.Path(command[0]).name} failed")

    def spawn(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start a process that runs until :meth:`stop`, the last one spawned being ended first."""
        self._last = (command, environment)
        process = self._popen(command, environment or {})
        self._children.append(process)
        self._processes.append(psutil.Process(process.pid))
        noted = [(each.pid, each.create_time()) for each in self._processes]
        self.note.write_text(
            json.dumps(
                {"folder": str(self.folder), "processes": noted, "details": self.details}, indent=1
            )
        )

    def halt(self, signal: signals.Signals | None = None) -> None:
        """End the process that was spawned last, with all its children; its folder stays."""
        process = self._processes.pop()
        family = _family(process)
        _end([process], self._stop_signal(signal), seconds=STOP_SECONDS)
        _end(family, signals.SIGKILL, seconds=STOP_SECONDS)
        if self._children:
            self._children.pop().wait()

    def revive(self) -> None:
        """Spawn again, in the same way, what was halted."""
        if self._last is None:
            raise exception.Invalid(f"this {self.kind} was started by another process")
        self.spawn(*self._last)

    def wait_until(self, ready: Callable[[], None], *, seconds: float) -> None:
        """Wait until ``ready`` raises no Unavailable any more.

        :raises roost.exception.Unavailable: when a process ended or the time is over; all is
            stopped then
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                return ready()
            except exception.Unavailable as error:
                if time.monotonic() > deadline:
                    self.fail(f"did not answer within {seconds:.0f} s ({error.message})")
                if not all(_lives(process) for process in self._processes):
                    self.fail("ended at once")
            time.sleep(0.1)

    def fail(self, what: str) -> None:
        """Stop all that runs, and say what happened.

        :raises roost.exception.Unavailable: always
        """
        last = self.log.read_text(errors="replace").splitlines()[-15:]
        self.stop()
        lines = "\n    ".join(last)
        raise exception.Unavailable(
            f"a private {self.kind} could not be started: it {what}; the end of {self.log}:"
            f"\n    {lines}"
        )

    def stop(self, signal: signals.Signals | None = None) -> None:
        """End the processes, in peace if they can, and remove the folder; the log stays."""
        first = self._stop_signal(signal)
        family = [each for process in reversed(self._processes) for each in _family(process)]
        for process in reversed(self._processes):
            _end([process], first, seconds=STOP_SECONDS)
        _end(family, signals.SIGKILL, seconds=STOP_SECONDS)
        for child in self._children:
            child.wait()
        self._processes, self._children = [], []
        shutil.rmtree(self.folder, ignore_errors=True)
        self.note.unlink(missing_ok=True)

    def _stop_signal(self, signal: signals.Signals | None) -> signals.Signals:
        return signals.Signals(signal or self.details.get("stop_signal", signals.SIGTERM))

    @property
    def pids(self) -> list[int]:
        """The processes of the service, children included."""
        return [each.pid for process in self._processes for each in _family(process)]

    def account_arguments(self) -> dict[str, Any]:
        """Return what makes a subprocess run as the service's account."""
        if self._account is None:
            return {}
        return {
            "user": self._account.pw_uid,
            "group": self._account.pw_gid,
            "extra_groups": [],
        }

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**_ENVIRONMENT, "HOME": str(self.folder), **more}

    def _popen(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                list(command),
                cwd=self.folder,
                env=self.environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self.account_arguments(),
            )


def note_of(kind: str, state_dir: pathlib.Path) -> pathlib.Path:
    """Return the file that tells of a private service, as long as it was not stopped."""
    return state_dir / f"{kind}.json"


def free_port(preferred: int | None = None) -> int:
    """Return a port of loopback that nobody listens on: the preferred one if it is free.

    Any other is below those that outgoing connections get, which might take it while its service
    restarts.
    """
    if preferred is not None and is_free(preferred):
        return preferred
    while True:
        port = secrets.choice(_PORTS)
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    """Tell whether nobody listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) != 0


def program(name: str, *folders: str, package: str) -> str:
    """Return the path of a program, looked for in ``folders`` (patterns; the newest) and the PATH.

    :raises roost.exception.Unavailable: when it is not installed; the message names the package
    """
    for pattern in folders:
        found = sorted(pathlib.Path("/").glob(f"{pattern.lstrip('/')}/{name}"), key=_by_version)
        if found:
            return str(found[-1])
    path = shutil.which(name, path=_ENVIRONMENT["PATH"])
    if path is None:
        raise exception.Unavailable(
            f"none can be started, because {name} is not installed: as root, run"
            f" apt-get install {package}"
        )
    return path


def _by_version(path: pathlib.Path) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else 0, part) for part in path.parts]


def _account(name: str) -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name)
    return pwd.getpwnam("nobody")


def _family(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def _lives(process: psutil.Process) -> bool:
    """Tell whether a process runs; one that has ended and waits for its parent does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _end(processes: Sequence[psutil.Process], signal: signals.Signals, *, seconds: float) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if _lives(process):
                process.send_signal(signal)
    deadline = time.monotonic() + seconds
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
