"""A TCP port in front of a service, which can be closed or fall silent on purpose.

To its peers a closed one is a service that is down (connections end, new ones are refused), and a
silent one is a network that swallows everything (connections stay, nothing passes, nobody is told).
"""

import contextlib
import socket
import threading

from roost.rig.services.private import LOOPBACK, free_port

_CHUNK = 65536


class Forwarder:
    """Leads from a port to ``target`` while it is open.

    :param target: host and port of the service
    :param port: where to listen once opened; None: a free one
    :param host: the address to listen at
    """

    def __init__(
        self, target: tuple[str, int], *, port: int | None = None, host: str = LOOPBACK
    ) -> None:
        self._target = target
        self._host = host
        self.port = port or free_port()
        self._listener: socket.socket | None = None
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._passing = threading.Event()
        self._passing.set()

    @property
    def is_open(self) -> bool:
        return self._listener is not None

    @property
    def is_silent(self) -> bool:
        return not self._passing.is_set()

    @property
    def connections(self) -> int:
        """How many connections lead through now."""
        with self._lock:
            return len(self._ends) // 2

    def open(self) -> None:
        """Listen; one that is open already stays as it is."""
        if self._listener is None:
            self._listener = socket.create_server((self._host, self.port), backlog=128)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Refuse new connections and end those there are."""
        with self._lock:
            listener, self._listener = self._listener, None
            ends, self._ends = self._ends, set()
        for end in [*([listener] if listener else []), *ends]:
            _shut(end)

    def silence(self) -> None:
        """Let nothing pass any more, in either direction; new connections get no further."""
        self._passing.clear()

    def resume(self) -> None:
        """Let everything pass again, what was held back first."""
        self._passing.set()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._lead, args=(listener, near), daemon=True).start()

    def _lead(self, listener: socket.socket, near: socket.socket) -> None:
        """Serve one connection until one end is through with it."""
        try:
            self._passing.wait()
            far = socket.create_connection(self._target, timeout=10)
        except OSError:  # the service is down: so are we
            _shut(near)
            return
        far.settimeout(None)
        if not self._keep(listener, near, far):
            return
        back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
        back.start()
        self._pump(near, far)
        back.join()
        with self._lock:
            self._ends -= {near, far}
        near.close()
        far.close()

    def _keep(self, listener: socket.socket, near: socket.socket, far: socket.socket) -> bool:
        """Note a connection, unless we were closed meanwhile: then it ends."""
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if listener is self._listener:
                self._ends |= {near, far}
                return True
        _shut(near)
        _shut(far)
        return False

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):  # the latter is how eventlet tells it
            while data := source.recv(_CHUNK):
                self._passing.wait()
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
