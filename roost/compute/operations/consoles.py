"""Consoles of guests: what was written there, and the listener that roost-consoleproxy connects to.

One port leads to all of them: who brings a token is led to the console that it was made for, by a
socket that the hypervisor hands over just then. So no guest's console listens anywhere, and no
port that was one guest's becomes another's while somebody holds its URL. What is open is kept in
memory only: after a restart of the daemon users ask again. Diagnostics are here, too.
"""

import dataclasses
import logging
import selectors
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from roost import exception, states
from roost.clock import boot_clock
from roost.compute.virt.driver import GivesConsoles, KeepsConsoles, MeasuresGuests, VirtDriver
from roost.objects import consoles

LOOK: Final = 0.5  # seconds between two looks whether it is to end
_CHUNK: Final = 65536  # bytes
_PIPE_SECONDS: Final = 60.0  # seconds in which a side must take what the other says


def join(one: socket.socket, other: socket.socket, *, until: Callable[[], bool]) -> None:
    """Pass on what both say; return when either closes, or it is to end.

    :raises OSError: when a side breaks off, or takes nothing any more
    """
    for side in (one, other):
        side.settimeout(_PIPE_SECONDS)
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, (one, other))
        waiting.register(other, selectors.EVENT_READ, (other, one))
        while not until():
            for found, _ in waiting.select(LOOK):
                speaker, hearer = found.data
                said = speaker.recv(_CHUNK)
                if not said:
                    return
                hearer.sendall(said)


LOG = logging.getLogger(__name__)
_PATIENCE: Final = 10.0  # seconds that whoever comes has to say which token they bring
_LONGEST: Final = 256  # bytes of what they say
_MOST: Final = 200  # consoles that are open at once; each takes a thread
_BACKLOG: Final = 16
_PAUSE: Final = 0.1  # seconds after an accept() that failed


@dataclasses.dataclass(frozen=True)
class ConsoleSettings:
    """Where the door is; ``address`` is what the proxy is told. Port 0: any that is free."""

    listen: str = "127.0.0.1"
    port: int = 0
    address: str | None = None


@dataclasses.dataclass(frozen=True)
class _Grant:
    instance_uuid: str
    kind: str
    until: float


class ConsoleListener:
    """Opens when the first console is asked for, so most hosts have none.

    :param clock: seconds that only grow
    """

    def __init__(
        self,
        virt: VirtDriver,
        settings: ConsoleSettings | None = None,
        *,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self._virt = virt
        self._settings = settings or ConsoleSettings()
        self._clock = clock
        self._lock = threading.Lock()
        self._grants: dict[str, _Grant] = {}
        self._listener: socket.socket | None = None
        self.visitors = 0
        self._closing = threading.Event()

    def grant(
        self, instance_uuid: str, *, kind: str, token_digest: str, seconds: float
    ) -> tuple[str, int]:
        """Let a token open a console for so long; return the address and port of the door.

        :raises roost.exception.Unavailable: when the door cannot be opened
        """
        now = self._clock()
        with self._lock:
            port = self._opened()
            self._grants = {key: one for key, one in self._grants.items() if one.until > now}
            self._grants[token_digest] = _Grant(instance_uuid, kind, now + seconds)
        return self._settings.address or self._settings.listen, port

    def close(self) -> None:
        """Let nobody in any more, and end what goes on."""
        self._closing.set()
        with self._lock:
            if self._listener is not None:
                # who waits in accept() is not woken by close() alone
                self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
                self._listener = None

    def _opened(self) -> int:
        if self._closing.is_set():
            raise exception.Unavailable("This host is about to stop.")
        if self._listener is None:
            self._listener = self._listen()
            threading.Thread(
                target=self._serve, args=(self._listener,), name="consoles", daemon=True
            ).start()
        port: int = self._listener.getsockname()[1]
        return port

    def _listen(self) -> socket.socket:
        place = self._settings.listen, self._settings.port
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        try:
            return socket.create_server(place, family=family, backlog=_BACKLOG)
        except OSError as error:
            LOG.error("consoles cannot be reached at port %d of %s: %s", place[1], place[0], error)  # noqa: TRY400 - why is all there is to say
            raise exception.Unavailable("The consoles of this host cannot be reached.") from error

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                if self._closing.wait(_PAUSE):
                    return
                continue  # the caller has gone again, or the process has too many files open
            if not self._enters():
                LOG.warning("%d consoles are open at once; another is refused", _MOST)
                caller.close()
                continue
            threading.Thread(
                target=self._receive, args=(caller,), name="console", daemon=True
            ).start()

    def _receive(self, caller: socket.socket) -> None:
        try:
            with caller:
                self._lead_on(caller)
        except OSError as error:
            LOG.debug("a console came to an end: %s", error)
        except exception.RoostError as error:
            LOG.info("a console could not be opened: %s", error.message)
        except Exception:
            LOG.exception("a console could not be opened")
        finally:
            with self._lock:
                self.visitors -= 1

    def _enters(self) -> bool:
        with self._lock:
            if self.visitors == _MOST:
                return False
            self.visitors += 1
            return True

    def _lead_on(self, caller: socket.socket) -> None:
        granted = self._granted(_token(caller))
        virt = self._virt
        if granted is None or not isinstance(virt, GivesConsoles):
            LOG.info("somebody came to the consoles with a token that opens none")
            return
        with virt.open_console(granted.instance_uuid, granted.kind) as console:
            caller.sendall(consoles.WELCOME)
            LOG.info("instance %s: its %s console is open", granted.instance_uuid, granted.kind)
            join(caller, console, until=self._closing.is_set)
        LOG.info("instance %s: its %s console is closed", granted.instance_uuid, granted.kind)

    def _granted(self, token: str) -> _Grant | None:
        with self._lock:
            found = self._grants.get(consoles.digest(token))
        return found if found is not None and found.until > self._clock() else None


def _token(caller: socket.socket) -> str:
    """Return the token that is brought; empty: none, or in other words than the proxy's."""
    caller.settimeout(_PATIENCE)
    said = b""
    while consoles.END not in said:
        more = caller.recv(_LONGEST - len(said))
        if not more:
            return ""
        said += more
    before, _, after = consoles.GREETING.partition("{token}")
    text = said.decode("ascii", errors="replace")
    return text.removeprefix(before).removesuffix(after)


MOST: Final = 100 * 1024  # characters


def tail(virt: VirtDriver, instance_uuid: str, *, lines: int | None) -> str:
    """Return the last lines of a guest's console; None: all, as far as one message carries them.

    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor keeps no consoles
    """
    if not isinstance(virt, KeepsConsoles):
        raise exception.Unsupported("The requested functionality is not supported.")
    kept = virt.console_output(instance_uuid).removesuffix("\n").split("\n")
    if lines is not None:
        kept = kept[-lines:] if lines else []
    return "\n".join(kept)[-MOST:]


def let_in(
    virt: VirtDriver,
    door: ConsoleListener,
    instance_uuid: str,
    *,
    kind: str,
    token_digest: str,
    seconds: int,
) -> dict[str, Any]:
    """Let a token open a console of a guest, and return where.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Invalid: when this guest has other consoles
    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor has none to type at
    """
    if not isinstance(virt, GivesConsoles):
        raise exception.Unsupported(f"Unable to get {kind} console, functionality not implemented")
    if kind not in virt.console_kinds(instance_uuid):
        raise exception.Invalid(f"Unavailable console type {kind}.")
    if virt.describe(instance_uuid).power_state not in (states.RUNNING, states.HELD):
        raise exception.Conflict(f"Instance {instance_uuid} is not ready")
    host, port = door.grant(instance_uuid, kind=kind, token_digest=token_digest, seconds=seconds)
    return {"host": host, "port": port}


def measure(virt: VirtDriver, instance_uuid: str) -> dict[str, Any]:
    """Return what is measured, as plain values.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor does not measure guests
    """
    if not isinstance(virt, MeasuresGuests):
        raise exception.Unsupported("The requested functionality is not supported.")
    if virt.describe(instance_uuid).power_state != states.RUNNING:
        raise exception.Conflict(f"The guest of instance {instance_uuid} does not run.")
    return dataclasses.asdict(virt.diagnostics(instance_uuid))
