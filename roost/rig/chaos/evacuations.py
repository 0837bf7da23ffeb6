"""Hosts that die, are forced down and evacuated by the command, until they are back."""

import pathlib
import subprocess
import sys
import threading
import time
from typing import Final

from roost import exception
from roost.rig.client import Client
from roost.rig.plan import Plan

_PAUSE: Final = 1.0  # seconds between two tries
_BACK_SECONDS: Final = 90.0  # in which the API should take that a host is back


class HostEvacuations:
    """The evacuations that are under way, of several hosts at once."""

    def __init__(self, plan: Plan, client: Client) -> None:
        self._client = client
        program = pathlib.Path(sys.executable).with_name("roost-manage")
        files = f"--config-file={plan.config_file('manage')}"
        self._command = [str(program), files, "host", "evacuate", "--yes"]
        self._over: dict[str, tuple[threading.Event, threading.Thread]] = {}

    def begin(self, host: str) -> None:
        """Force a host down that is dead, and evacuate its servers until :meth:`end`."""
        over = threading.Event()
        thread = threading.Thread(target=self._evacuate, args=(host, over), daemon=True)
        self._over[host] = over, thread
        thread.start()

    def end(self, host: str) -> None:
        """Let the host count as up again, whatever is still on it. May be repeated.

        :raises roost.exception.RoostError: when the API does not take it in time
        """
        over, thread = self._over[host]
        over.set()
        thread.join()
        deadline = time.monotonic() + _BACK_SECONDS
        while True:
            try:
                return self._force_down(host, down=False)
            except exception.RoostError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)

    def _evacuate(self, host: str, over: threading.Event) -> None:
        """Run the command again and again, as whatever it needs may be broken meanwhile."""
        fenced = False
        while not over.is_set():
            try:
                if not fenced:
                    self._force_down(host, down=True)
                    fenced = True
                self._run(host, over)
            except exception.RoostError:
                pass
            over.wait(_PAUSE)

    def _run(self, host: str, over: threading.Event) -> None:
        with subprocess.Popen(
            [*self._command, host], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None:
                if over.wait(_PAUSE):
                    process.kill()

    def _force_down(self, host: str, *, down: bool) -> None:
        (its,) = (each for each in self._client.services() if each["host"] == host)
        self._client.put(f"/os-services/{its['id']}", {"forced_down": down})
