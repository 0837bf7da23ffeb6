"""What the clients of a storm know of each server: asked for, built, deleted, gone.

Times are those of ``time.monotonic``, in seconds.
"""

import dataclasses
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.rig.chaos import wishes
from roost.rig.chaos.wishes import StormRequest

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"
UNKNOWN: Final = "unknown"  # the answer was lost, or was an error behind which it may have worked
SETTLED: Final = ("ACTIVE", "ERROR")
_IDS: Final = threading.Lock()  # an answer and a list may tell the same id at once
PATIENCE: Final = 60.0  # with a server that is to be deleted once it is ACTIVE, and never is


@dataclasses.dataclass
class StormServer:
    """One server of a request.

    :param group: the server group that it was asked to be in
    :param ids: all ids seen under its name, which should be one
    :param settled: when it was first seen ACTIVE or in ERROR
    :param acting: whether its actions are under way
    :param acted: when the last of them ended
    :param delete_asked: when somebody first tried to delete it
    :param gone: when it was first seen to be gone
    :param flickers: how often it was there again after having been gone
    """

    name: str
    request: StormRequest
    asked: float
    answer: str = UNKNOWN
    answered: float | None = None
    group: str | None = None
    ids: list[str] = dataclasses.field(default_factory=list)
    state: str = ""
    host: str = ""
    fault: str = ""
    settled: float | None = None
    acting: bool = False
    acted: float | None = None
    delete_asked: float | None = None
    delete_accepted: float | None = None
    gone: float | None = None
    flickers: int = 0

    @property
    def accepted(self) -> bool:
        """Whether Roost took the request, whatever its answer was."""
        return self.answer == ACCEPTED or bool(self.ids)

    @property
    def under_way(self) -> bool:
        """Whether something is still to happen to it."""
        if not self.accepted or self.gone is not None:
            return False
        return self.acting or self.delete_asked is not None or self.state not in SETTLED

    @property
    def may_act(self) -> bool:
        """Whether the first of its actions may begin."""
        begun = self.acting or self.acted is not None or self.delete_asked is not None
        return bool(self.request.life) and self.state == "ACTIVE" and not begun

    def identify(self, uuid: str) -> None:
        """Note an id that goes by its name."""
        with _IDS:
            if uuid not in self.ids:
                self.ids.append(uuid)

    def due(self, now: float) -> bool:
        """Tell whether it is time to delete it."""
        if not self.ids or self.delete_accepted is not None or self.gone is not None:
            return False
        begins = self._delete_from()
        return begins is not None and now >= begins + self.request.after

    def _delete_from(self) -> float | None:
        if self.request.fate == wishes.STAY:
            return None
        if self.request.fate == wishes.ACTIVE:
            return self.asked + PATIENCE if self.settled is None else self.settled
        return self.asked if self.answered is None else self.answered


class Register:
    """All servers of a storm, by name; used by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[str, StormServer] = {}

    def ask(
        self, request: StormRequest, *, now: float, group: str | None = None
    ) -> list[StormServer]:
        """Note that servers are about to be asked for."""
        made = [StormServer(name, request, now, group=group) for name in request.names]
        with self._lock:
            self._servers.update({server.name: server for server in made})
        return made

    def all(self) -> list[StormServer]:
        with self._lock:
            return list(self._servers.values())

    def take_in(self, seen: Iterable[Mapping[str, Any]], *, now: float) -> list[StormServer]:
        """Take in a list of servers as the API tells it; return those that it lacks."""
        names = set()
        for one in seen:
            server = self._servers.get(one["name"])
            if server is not None:
                names.add(server.name)
                _update(server, one, now)
        return [
            server
            for server in self.all()
            if server.ids and server.gone is None and server.name not in names
        ]


def _update(server: StormServer, seen: Mapping[str, Any], now: float) -> None:
    server.identify(seen["id"])
    if server.gone is not None:
        server.gone = None
        server.flickers += 1
    state = seen.get("status", "")
    if state == "UNKNOWN":  # its cell does not answer, so nothing is known of it now
        return
    server.state = state
    server.host = seen.get("OS-EXT-SRV-ATTR:host") or server.host
    server.fault = seen.get("fault", {}).get("message", "")
    if server.settled is None and state in SETTLED:
        server.settled = now
