"""The clients of a chaos run: they ask for servers, delete them, and look, whatever breaks.

They do what a patient client does: they come again when they are told to or get no answer, but ask
for the same servers only once.
"""

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent import futures
from typing import Any, Final

from roost import exception
from roost.rig import boots
from roost.rig.chaos.answers import Answers
from roost.rig.chaos.watch import ACCEPTED, REFUSED, Register, StormServer
from roost.rig.chaos.wishes import StormRequest
from roost.rig.client import Client

CLIENTS: Final = 16
LOOK_SECONDS: Final = 1.0
_REFUSALS: Final = range(400, 500)
# Say: there is no other host for a server that must stay with others. One on no host waits for one.
_IMPOSSIBLE: Final = 400
# What each action of a server's life asks for, and the status that it leads to.
ACTIONS: Final[Mapping[str, tuple[dict[str, Any] | None, str]]] = {
    "reboot": ({"type": "HARD"}, "ACTIVE"),
    "rebuild": ({}, "ACTIVE"),
    "os-stop": (None, "SHUTOFF"),
    "os-start": (None, "ACTIVE"),
    "pause": (None, "PAUSED"),
    "unpause": (None, "ACTIVE"),
    "suspend": (None, "SUSPENDED"),
    "resume": (None, "ACTIVE"),
    "shelve": (None, "SHELVED_OFFLOADED"),
    "unshelve": (None, "ACTIVE"),
    "migrate": (None, "VERIFY_RESIZE"),
    "os-migrateLive": ({"host": None, "block_migration": "auto"}, "ACTIVE"),
    "resize": ({}, "VERIFY_RESIZE"),
    "confirmResize": (None, "ACTIVE"),
    "revertResize": (None, "ACTIVE"),
}


class Storm:
    """Sends the requests of a schedule, and looks at what becomes of them.

    :param prototype: flavor, image and networks of all servers
    :param larger: the id of the flavor that servers are resized to
    :param pause: seconds between two looks, and until a client comes again
    """

    def __init__(
        self,
        client: Client,
        wishes: Sequence[StormRequest],
        prototype: boots.BootRequest,
        *,
        larger: str,
        pause: float = LOOK_SECONDS,
    ) -> None:
        self.register = Register()
        self.answers = Answers()
        self._client = client
        self._wishes = wishes
        self._prototype = prototype
        self._larger = larger
        self._pause = pause
        self._over = threading.Event()
        self._closed = threading.Event()
        self._pool = futures.ThreadPoolExecutor(CLIENTS, thread_name_prefix="storm")
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._send, self._watch)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Ask for nothing new; what was asked for goes on, and everything is still looked at."""
        self._over.set()
        self._threads[0].join()

    def close(self) -> None:
        """Stop altogether."""
        self._over.set()
        self._closed.set()
        for thread in self._threads:
            thread.join()
        self._pool.shutdown(cancel_futures=True)

    def delete_all(self) -> None:
        """Delete every server, too, that was to stay."""
        for server in self.register.all():
            if server.ids and server.gone is None and server.delete_asked is None:
                server.delete_asked = time.monotonic()
                self._pool.submit(self._delete, server)

    def look(self) -> bool:
        """Look at all servers once; return whether there was an answer."""
        try:
            with self.answers.noted("GET servers"):
                seen = list(self._client.servers())
        except exception.RoostError:
            return False
        for server in self.register.take_in(seen, now=time.monotonic()):
            self._look_at(server)
        return True

    def _send(self) -> None:
        began = time.monotonic()
        for request in self._wishes:
            if self._over.wait(began + request.at - time.monotonic()):
                return
            self._pool.submit(self._ask_for, request)

    def _watch(self) -> None:
        while not self._closed.wait(self._pause):
            self.look()
            if not self._over.is_set():
                self._delete_those_due(time.monotonic())
                self._begin_lives()

    def _delete_those_due(self, now: float) -> None:
        for server in self.register.all():
            if server.delete_asked is None and server.due(now):
                server.delete_asked = now
                self._pool.submit(self._delete, server)

    def _begin_lives(self) -> None:
        for server in self.register.all():
            if server.may_act:
                server.acting = True
                self._pool.submit(self._live, server)

    def _live(self, server: StormServer) -> None:
        """Carry out the actions of a server, one after the other, unless it is in ERROR or gone."""
        try:
            for action in server.request.life:
                if not self._act(server, action):
                    return
        finally:
            server.acted = time.monotonic()
            server.acting = False

    def _act(self, server: StormServer, action: str) -> bool:
        """Ask until the server rests in the status that the action leads to."""
        given, wanted = ACTIONS[action]
        if action == "rebuild":
            given = {"imageRef": self._prototype.image}
        if action == "resize":
            given = {"flavorRef": self._larger}
        accepted = False
        while not self._closed.is_set():
            try:
                if not accepted:
                    accepted = self._post(server, {action: given})
                with self.answers.noted("GET server"):
                    seen = self._client.server(server.ids[0])
            except (exception.NotFound, exception.Invalid):
                return False
            except exception.RoostError:
                self._closed.wait(self._pause)
                continue
            if seen["status"] == "ERROR":
                return False
            # While the cell of a server does not answer, it is shown without a task (2.69).
            if seen.get("OS-EXT-STS:task_state", "unknown") is None:
                if seen["status"] == wanted and (accepted or wanted != "ACTIVE"):
                    return True
                accepted = False  # it ended without having been done: its host was down, say
            self._closed.wait(self._pause)
        return False

    def _post(self, server: StormServer, action: dict[str, Any]) -> bool:
        """Ask for an action; return whether it was accepted, as far as is known.

        :raises roost.exception.Invalid: when it is impossible
        """
        try:
            with self.answers.noted(f"POST {min(action)}"):
                self._client.act(server.ids[0], action)
        except exception.Conflict as error:
            if error.details.get("status") == _IMPOSSIBLE and "unshelve" not in action:
                raise exception.Invalid(error.message) from error
            return False
        except exception.Unavailable:
            return False
        return True

    def _ask_for(self, request: StormRequest) -> None:
        group = self._make_group(request) if request.policy else None
        body = self._body(request, group)
        servers = self.register.ask(request, now=time.monotonic(), group=group)
        answer: dict[str, Any] = {}
        try:
            with self.answers.noted("POST servers"):
                answer = self._client.post("/servers", body)
        except exception.RoostError as error:
            if error.details.get("status") in _REFUSALS or isinstance(error, exception.NotFound):
                _mark(servers, REFUSED)
            return
        _mark(servers, ACCEPTED)
        if request.count == 1:
            servers[0].identify(answer["server"]["id"])

    def _body(self, request: StormRequest, group: str | None) -> dict[str, Any]:
        body = self._prototype.body(request.name)
        if request.count > 1:
            body["server"] |= {"min_count": request.count, "return_reservation_id": True}
        if group:
            body["os:scheduler_hints"] = {"group": group}
        return body

    def _make_group(self, request: StormRequest) -> str | None:
        """Return a group for the servers of one request; without one they do without."""
        body = {"server_group": {"name": request.name, "policy": request.policy}}
        with contextlib.suppress(exception.RoostError), self.answers.noted("POST groups"):
            return str(self._client.post("/os-server-groups", body)["server_group"]["id"])
        return None

    def _delete(self, server: StormServer) -> None:
        """Delete until it is accepted: an answer that was lost may be asked for again."""
        while not self._closed.is_set():
            with contextlib.suppress(exception.Conflict, exception.Unavailable):
                for one in server.ids:
                    self._delete_one(one)
                server.delete_accepted = time.monotonic()
                return
            self._closed.wait(self._pause)

    def _delete_one(self, server_id: str) -> None:
        with contextlib.suppress(exception.NotFound), self.answers.noted("DELETE server"):
            self._client.delete(f"/servers/{server_id}")

    def _look_at(self, server: StormServer) -> None:
        """See whether a server is gone that a list lacks."""
        try:
            with self.answers.noted("GET server"):
                self._client.server(server.ids[0])
        except exception.NotFound:
            server.gone = time.monotonic()
        except exception.RoostError:
            return


def _mark(servers: Sequence[StormServer], answer: str) -> None:
    for server in servers:
        server.answer = answer
        server.answered = time.monotonic()
