"""The identity of a host's state path, by which its cell detects a second daemon of the same name.

A state path gets an id when it is first used, and keeps it. So the cell can distinguish a daemon of
the same name with another or an empty state path. It cannot distinguish two on the same state path,
so a daemon locks its state path while it runs. Operators must not run copies of a state path.
"""

import fcntl
import functools
import json
import pathlib
import uuid as uuids
from typing import Final, TextIO

from roost import exception
from roost.compute.network import bindings

_FILE: Final = "identity.json"
_LOCK: Final = "lock"


class HostIdentity:
    """The identity of one host.

    :param folder: the host's own, which must survive restarts
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._lock: TextIO | None = None

    def hold(self) -> None:
        """Lock this state path until :meth:`close` or the end of this process.

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
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @functools.cached_property
    def state_id(self) -> str:
        """The id of the state path; it is stored before it is sent to any other service.

        :raises roost.exception.Conflict: when the file is damaged; the message says what to do
        """
        file = self._folder / _FILE
        try:
            return str(bindings.read_whole(file)["state_id"])
        except FileNotFoundError:
            made = str(uuids.uuid4())
            bindings.write_whole(file, json.dumps({"state_id": made}))
            return made
        except (exception.Internal, LookupError, TypeError) as error:
            raise exception.Conflict(
                f"The file {file} is damaged, which has the id of this state path. Restore it from"
                " a copy; or remove it, start roost-compute again, and run roost-manage cell"
                f" replace-host {self._folder.name}."
            ) from error
