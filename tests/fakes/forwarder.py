"""A TCP port that is closed until the test opens it, and then leads to a real service."""

import contextlib
import socket
import threading


class Forwarder:
    """Listens on ``port`` while open; to its peers, a closed one is a service that is down."""

    def __init__(self, target):
        self._target = target
        self._connections = []
        self._listener = None
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]

    @property
    def is_open(self):
        return self._listener is not None

    def open(self):
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self):
        if self._listener is not None:
            _shut(self._listener)
            self._listener = None
        while self._connections:
            _shut(self._connections.pop())

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
                self._connections += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()


def _pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    _shut(source)
    _shut(sink)


def _shut(end):
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
