"""The rig's daemons as processes, under a supervisord of their own.

It outlives the command that started it, reaps what dies, keeps a log per daemon, and ends
everything within a bounded time. It restarts nothing: a daemon that was killed stays dead, for that
is what the rig is for.
"""

import contextlib
import dataclasses
import os
import pathlib
import signal as signals
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from collections.abc import Mapping, Sequence
from typing import Any, cast

import psutil
from supervisor.xmlrpc import SupervisorTransport

from roost import exception

STOP_SECONDS = 20
START_SECONDS = 15
_PID_FILE = "supervisord.pid"
NOT_STARTED = "stopped"  # the state of a process that nobody has started yet
_TO_ALL = (signals.SIGKILL, signals.SIGSTOP, signals.SIGCONT)


@dataclasses.dataclass(frozen=True)
class Program:
    """What supervisord is to run under one name; ``environment`` is beside that of all."""

    name: str
    command: Sequence[str]
    log: pathlib.Path
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Process:
    """One daemon's process as it is now; ``pid`` 0 when there is none. Memory in bytes."""

    name: str
    state: str
    pid: int
    started: float

    @property
    def running(self) -> bool:
        return self.pid != 0


class Supervisor:
    """The supervisord of one rig.

    :param rig: the rig's name; the control socket is named after it (and is in the folder for
        temporary files, because the path of a socket may not be long)
    :param grace: seconds that a daemon gets to end in peace before it is killed
    """

    def __init__(self, rig: str, state: pathlib.Path, *, grace: int = STOP_SECONDS) -> None:
        self._state = state
        self._grace = grace
        self._socket = pathlib.Path(tempfile.gettempdir()) / f"roost-rig-{rig}.sock"
        self._config = state / "supervisord.conf"

    def start(self, programs: Sequence[Program], environment: Mapping[str, str]) -> None:
        """Start supervisord, which then runs nothing yet.

        :raises roost.exception.Unavailable: when it does not come up
        """
        self._config.write_text(self._configuration(programs))
        command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(self._config)]
        with (self._state / "supervisord.out").open("w") as output:
            subprocess.run(
                command,
                check=False,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._wait_until_answering()

    def start_process(self, name: str) -> None:
        """Start one daemon; one that runs already is left alone."""
        self._call("startProcess", name, False)

    def signal(self, name: str, signal: str) -> int:
        """Send a signal to a daemon and return its pid (0: it did not run).

        KILL, STOP and CONT go to its worker processes too, which would otherwise work on. After a
        KILL supervisord knows that the daemon is dead: else it would not start it again.

        :raises roost.exception.Invalid: when there is no such signal
        """
        number = _number(signal)
        found = self.find(name)
        if found.running:
            _send(found.pid, number)
            if number == signals.SIGKILL:
                self._wait_until_buried(found)
        return found.pid

    def _wait_until_buried(self, killed: Process) -> None:
        deadline = time.monotonic() + self._grace
        while self.find(killed.name).pid == killed.pid and time.monotonic() < deadline:
            time.sleep(0.02)

    def find(self, name: str) -> Process:
        return next(found for found in self.list_processes() if found.name == name)

    def list_processes(self) -> list[Process]:
        """Return all daemons, in the order of their start.

        :raises roost.exception.Unavailable: when supervisord is not there
        """
        infos = cast("list[dict[str, Any]]", self._call("getAllProcessInfo"))
        return [
            Process(
                name=info["name"],
                state=info["statename"].lower(),
                pid=info["pid"],
                started=float(info["start"]),
            )
            for info in infos
        ]

    @property
    def running(self) -> bool:
        return self.pid is not None

    @property
    def pid(self) -> int | None:
        """The pid of supervisord itself, if it runs."""
        try:
            return int(cast("int", self._call("getPID")))
        except exception.Unavailable:
            return None

    def stop(self, first: Sequence[str] = ()) -> None:
        """End all daemons at once, then supervisord; return when all are gone.

        Daemons whose supervisord was killed are killed, too.

        :param first: names of those that end before others, on whom they stand
        """
        pid = self.pid
        if pid is None:
            self._end_orphans()
            self._socket.unlink(missing_ok=True)
            return
        self._stop_some(first)
        self._call("stopAllProcesses", True)  # at once; a shutdown would end one after the other
        self._call("shutdown")
        deadline = time.monotonic() + self._grace + 5
        while _lives(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        if _lives(pid):
            self._end_by_force(pid)
        self._socket.unlink(missing_ok=True)

    def _stop_some(self, names: Sequence[str]) -> None:
        for name in self._running(names):
            self._call("stopProcess", name, False)
        deadline = time.monotonic() + self._grace + 5
        while names and self._running(names) and time.monotonic() < deadline:
            time.sleep(0.05)

    def _running(self, names: Sequence[str]) -> list[str]:
        return [one.name for one in self.list_processes() if one.running and one.name in names]

    def _end_orphans(self) -> None:
        """End who is in the session that a supervisord which is no more has begun.

        Its number is nobody else's while anybody is in there; its file goes when it ends in peace.
        """
        with contextlib.suppress(FileNotFoundError, ValueError):
            session = int((self._state / _PID_FILE).read_text())
            deadline = time.monotonic() + self._grace
            while _lives(session) and time.monotonic() < deadline:
                time.sleep(0.05)  # it answers nobody some time before it is gone
            for pid in [] if _lives(session) else psutil.pids():
                with contextlib.suppress(ProcessLookupError):
                    if os.getsid(pid) == session:
                        os.kill(pid, signals.SIGKILL)

    def _end_by_force(self, pid: int) -> None:
        mine = psutil.Process(pid)
        for process in [*mine.children(recursive=True), mine]:
            process.kill()

    def _wait_until_answering(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.running:
            if time.monotonic() > deadline:
                said = (self._state / "supervisord.out").read_text().strip()
                raise exception.Unavailable(f"supervisord did not come up: {said or 'no word'}")
            time.sleep(0.05)

    def _call(self, method: str, *arguments: Any) -> Any:
        transport = SupervisorTransport(serverurl=f"unix://{self._socket}")
        proxy = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
        try:
            return getattr(proxy.supervisor, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            if fault.faultString.startswith(("ALREADY_STARTED", "NOT_RUNNING")):
                return None
            raise exception.Unavailable(f"supervisord: {fault.faultString}") from fault
        except OSError as error:
            raise exception.Unavailable(f"the rig in {self._state} does not run") from error
        finally:
            transport.close()

    def _configuration(self, programs: Sequence[Program]) -> str:
        sections = [
            "[supervisord]",
            f"logfile = {self._state}/supervisord.log",
            f"pidfile = {self._state}/{_PID_FILE}",
            f"childlogdir = {self._state}",
            "minfds = 1024",
            "[unix_http_server]",
            f"file = {self._socket}",
            "chmod = 0700",
            "[rpcinterface:supervisor]",
            "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface",
        ]
        for priority, program in enumerate(programs):
            sections += _program_section(program, priority, self._grace)
        return "\n".join(sections) + "\n"


def usage(pid: int) -> tuple[float, int]:
    """Return CPU seconds and bytes of memory of a process and its children (0, 0: it is gone).

    Memory that several processes share counts once, in equal parts.
    """
    seconds, memory = 0.0, 0
    try:
        mine = psutil.Process(pid)
        for process in [mine, *mine.children(recursive=True)]:
            times = process.cpu_times()
            seconds += times.user + times.system
            memory += process.memory_full_info().pss
    except psutil.NoSuchProcess:
        pass
    return seconds, memory


def _program_section(program: Program, priority: int, grace: int) -> list[str]:
    command = " ".join(f'"{word}"' for word in program.command)
    variables = ",".join(f'{name}="{value}"' for name, value in program.environment.items())
    return [
        f"[program:{program.name}]",
        f"command = {command}".replace("%", "%%"),
        f"environment = {variables}".replace("%", "%%"),
        f"priority = {priority}",
        "autostart = false",
        "autorestart = false",
        "startsecs = 0",
        f"stopwaitsecs = {grace}",
        "killasgroup = true",
        "redirect_stderr = true",
        f"stdout_logfile = {program.log}".replace("%", "%%"),
        "stdout_logfile_maxbytes = 0",
    ]


def _send(pid: int, number: signals.Signals) -> None:
    if number in _TO_ALL:
        with contextlib.suppress(ProcessLookupError):  # just started, it has no group yet
            os.killpg(pid, number)
            return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _number(signal: str) -> signals.Signals:
    try:
        return signals.Signals[f"SIG{signal.upper().removeprefix('SIG')}"]
    except KeyError:
        raise exception.Invalid(f"there is no signal {signal!r}; say TERM, KILL, HUP …") from None


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
