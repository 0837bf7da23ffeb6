"""A daemon in a process of its own, and the service manager that it reports to."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import uuid

import psutil

ROOT = pathlib.Path(__file__).parents[2]
PATIENCE = 40  # seconds; the machine of a CI may be slow


class ServiceManager:
    """Plays systemd: reads what a daemon says on its notification socket."""

    def __init__(self):
        name = f"roost-test-{uuid.uuid4().hex}"
        self.address = "@" + name
        self.heard = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + name)

    def hear(self, seconds=0.0):
        """Take in what is said within so many seconds; return all that was ever said."""
        self._socket.settimeout(seconds or 0.01)
        try:
            while True:
                self.heard.append(self._socket.recv(4096).decode())
                self._socket.settimeout(0.01)
        except TimeoutError:
            return self.heard

    def wait_for(self, words):
        deadline = time.monotonic() + PATIENCE
        while not any(words in message for message in self.hear(0.2)):
            assert time.monotonic() < deadline, f"no {words!r} in {self.heard}"

    @property
    def ready(self):
        return any("READY=1" in message for message in self.hear())

    def close(self):
        self._socket.close()


class DaemonProcess:
    """A program with ``--config-file``, its log in a file, killed at the end if need be.

    :param program: a script of Roost, or a module to run
    """

    def __init__(self, program, config, log, *, environment=None):
        self.manager = ServiceManager()
        self.log_file = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*_command(program), "--config-file", str(config)],
                cwd=ROOT,
                env={
                    **{
                        name: value
                        for name, value in os.environ.items()
                        if not name.startswith("OS_")
                    },
                    "NOTIFY_SOCKET": self.manager.address,
                    **(environment or {}),
                },
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self):
        return self._process.pid

    @property
    def log(self):
        return self.log_file.read_text()

    @property
    def running(self):
        return self._process.poll() is None

    def send(self, number):
        self._process.send_signal(number)

    def wait_for_log(self, words, times=1):
        deadline = time.monotonic() + PATIENCE
        while self.log.count(words) < times:
            assert time.monotonic() < deadline, f"no {words!r} in:\n{self.log}"
            time.sleep(0.05)

    def terminate(self):
        self.send(signal.SIGTERM)

    def exit_status(self):
        return self._process.wait(timeout=PATIENCE)

    def workers(self):
        return psutil.Process(self.pid).children()

    def end(self):
        """Kill what is left of it."""
        if self.running:
            family = [*psutil.Process(self.pid).children(recursive=True), self._process]
            for member in family:
                member.kill()
        self._process.wait()
        self.manager.close()


def _command(program):
    if program.startswith("roost-"):
        return [str(pathlib.Path(sys.executable).parent / program)]
    return [sys.executable, "-m", program]
