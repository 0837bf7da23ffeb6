"""Consoles of guests: their logs, and the listener that roost-consoleproxy connects to.

One port serves all consoles: a client that sends a token is connected to the console of that token,
by a socket that the hypervisor opens at that moment. So no guest's console listens on a port, and a
URL in use never leads to another guest's console. Tokens are in memory only: after a restart
of the daemon users request new ones. Diagnostics are here, too.
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

LOOK: Final = 0.5  # seconds between two checks whether to end
_CHUNK: Final = 65536  # bytes
_PIPE_SECONDS: Final = 60.0  # timeout for sending to a side


def join(one: socket.socket, other: socket.socket, *, until: Callable[[], bool]) -> None:
    """Relay data both ways; return when either side closes, or ``until`` returns True.

    :raises OSError: when a side breaks off, or receives nothing any more
    """
    for side in (one, other):
        side.settimeout(_PIPE_SECONDS)
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, (one, other))
        waiting.register(other, selectors.EVENT_READ, (other, one))
        while not until():
            for found, _ in waiting.select(LOOK):
                source, target = found.data
                data = source.recv(_CHUNK)
                if not data:
                    return
                target.sendall(data)


LOG = logging.getLogger(__name__)
_PATIENCE: Final = 10.0  # seconds that a client has to send its token
_LONGEST: Final = 256  # bytes of the greeting with the token
_MOST: Final = 200  # consoles that are open at once; each takes a thread
_BACKLOG: Final = 16
_PAUSE: Final = 0.1  # seconds after an accept() that failed


@dataclasses.dataclass(frozen=True)
class ConsoleSettings:
    """Where to listen; ``address`` is sent to the proxy. Port 0: any free port."""

    listen: str = "127.0.0.1"
    port: int = 0
    address: str | None = None


@dataclasses.dataclass(frozen=True)
class _Grant:
    instance_uuid: str
    kind: str
    until: float


class ConsoleListener:
    """The console listener; it opens with the first token, so most hosts have none.

    :param clock: monotonic seconds
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
        """Let a token open a console for ``seconds``; return the listener's address and port.

        :raises roost.exception.Unavailable: when the listener cannot be opened
        """
        now = self._clock()
        with self._lock:
            port = self._opened()
            self._grants = {key: one for key, one in self._grants.items() if one.until > now}
            self._grants[token_digest] = _Grant(instance_uuid, kind, now + seconds)
        return self._settings.address or self._settings.listen, port

    def close(self) -> None:
        """Close the listener, and end all open consoles."""
        self._closing.set()
        with self._lock:
            if self._listener is not None:
                # close() alone does not wake a thread in accept()
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
        address, port = self._settings.listen, self._settings.port
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            return socket.create_server((address, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            LOG.error("cannot listen for consoles on port %d of %s: %s", port, address, error)  # noqa: TRY400 - the error says enough
            raise exception.Unavailable("The consoles of this host cannot be reached.") from error

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                if self._closing.wait(_PAUSE):
                    return
                continue  # the client has disconnected, or the process has too many files open
            if not self._enters():
                LOG.warning("%d consoles are open, the maximum: another is refused", _MOST)
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
            LOG.debug("a console connection ended: %s", error)
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
            LOG.info("a console connection was refused: its token is not valid")
            return
        with virt.open_console(granted.instance_uuid, granted.kind) as console:
            caller.sendall(consoles.WELCOME)
            LOG.info("[instance: %s] %s console is open", granted.instance_uuid, granted.kind)
            join(caller, console, until=self._closing.is_set)
        LOG.info("[instance: %s] %s console is closed", granted.instance_uuid, granted.kind)

    def _granted(self, token: str) -> _Grant | None:
        with self._lock:
            found = self._grants.get(consoles.digest(token))
        return found if found is not None and found.until > self._clock() else None


def _token(caller: socket.socket) -> str:
    """Return the token that a client sends; empty: none, or not in the proxy's format."""
    caller.settimeout(_PATIENCE)
    data = b""
    while consoles.END not in data:
        more = caller.recv(_LONGEST - len(data))
        if not more:
            return ""
        data += more
    before, _, after = consoles.GREETING.partition("{token}")
    text = data.decode("ascii", errors="replace")
    return text.removeprefix(before).removesuffix(after)


MOST: Final = 100 * 1024  # characters


def tail(virt: VirtDriver, instance_uuid: str, *, lines: int | None) -> str:
    """Return the last lines of a guest's console log; None: all, at most :data:`MOST` characters.

    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor keeps no console logs
    """
    if not isinstance(virt, KeepsConsoles):
        raise exception.Unsupported("The requested functionality is not supported.")
    found = virt.console_output(instance_uuid).removesuffix("\n").split("\n")
    if lines is not None:
        found = found[-lines:] if lines else []
    return "\n".join(found)[-MOST:]


def let_in(
    virt: VirtDriver,
    door: ConsoleListener,
    instance_uuid: str,
    *,
    kind: str,
    token_digest: str,
    seconds: int,
) -> dict[str, Any]:
    """Let a token open a console of a guest, and return the listener's host and port.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Invalid: when this guest has other consoles
    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor has no remote consoles
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
    """Return the diagnostics of a guest, as plain values.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor does not measure guests
    """
    if not isinstance(virt, MeasuresGuests):
        raise exception.Unsupported("The requested functionality is not supported.")
    if virt.describe(instance_uuid).power_state != states.RUNNING:
        raise exception.Conflict(f"The guest of instance {instance_uuid} does not run.")
    return dataclasses.asdict(virt.diagnostics(instance_uuid))
