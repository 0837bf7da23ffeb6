"""Which state path a host has, and as which of its starts: how its cell knows it from a twin.

A state path gets an id of its own when it is first used, and counts how often its cell has taken
it in. So a daemon of the same name with another or an empty one is told from this one by the id;
and of two that have copies of the same, only the one that was taken in last goes on. Two that have
the very same cannot be told apart: so a daemon holds its state path while it lives.
"""

import fcntl
import json
import pathlib
import uuid as uuids
from typing import Any, Final, TextIO

from roost import exception
from roost.compute.network import bindings

_FILE: Final = "identity.json"
_LOCK: Final = "lock"


class HostIdentity:
    """The identity of one daemon of one host.

    :param folder: the host's own, which must survive restarts
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._file = folder / _FILE
        self._lock: TextIO | None = None
        self._told: dict[str, Any] | None = None
        self._confirmed = False

    def hold(self) -> None:
        """Keep other daemons from this state path until :meth:`close`, or the end of this process.

        :raises roost.exception.Conflict: when another daemon holds it
        """
        if self._lock is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = (self._folder / _LOCK).open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise exception.Conflict(
                f"Another roost-compute runs on {self._folder}. Is it enabled twice, as a unit and"
                " as an instance of one? End one of the two."
            ) from error
        except OSError:
            lock.close()
            raise
        self._lock = lock

    def close(self) -> None:
        """Let another daemon have it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def told(self) -> dict[str, Any]:
        """Return what the cell is to compare: ``state_id``, ``starts`` and ``run_id``.

        It is written down before: a start that the cell has heard of is not to be a stranger.
        """
        if self._told is None:
            self._told = self._next()
        return self._told

    def confirm(self) -> None:
        """Note that the cell has taken it in: the next start is another one."""
        if not self._confirmed:
            self._write({**self.told(), "run_id": None})
            self._confirmed = True

    def _next(self) -> dict[str, Any]:
        known = self._read()
        if known["run_id"] is not None:  # nobody knows whether it was heard
            return known
        following = known | {"starts": known["starts"] + 1, "run_id": str(uuids.uuid4())}
        self._write(following)
        return following

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._file.read_text())
        except FileNotFoundError:
            return {"state_id": str(uuids.uuid4()), "starts": 0, "run_id": None}
        return found

    def _write(self, values: dict[str, Any]) -> None:
        bindings.write_whole(self._file, json.dumps(values))
