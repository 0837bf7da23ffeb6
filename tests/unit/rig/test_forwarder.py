"""A way to a service that can be closed or fall silent."""

import contextlib
import socket
import threading

import pytest

from roost.rig.forwarder import Forwarder


class Echo:
    """A service that says back what it hears."""

    def __init__(self):
        self._server = socket.create_server(("127.0.0.1", 0))
        self.place = self._server.getsockname()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    @staticmethod
    def _answer(connection):
        with connection, contextlib.suppress(OSError):
            while heard := connection.recv(1024):
                connection.sendall(heard)

    def close(self):
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def echo():
    service = Echo()
    yield service
    service.close()


@pytest.fixture
def way(echo):
    made = Forwarder(echo.place)
    made.open()
    yield made
    made.resume()
    made.close()


def connect(way):
    return socket.create_connection(("127.0.0.1", way.port), timeout=30)


def says_back(connection, word=b"hello"):
    connection.sendall(word)
    return connection.recv(1024) == word


def test_an_open_way_leads_there_and_back(way):
    with connect(way) as one, connect(way) as other:
        assert says_back(one)
        assert says_back(other, b"bye")
        assert way.connections == 2


def test_a_closed_way_ends_connections_and_refuses_new_ones(way):
    with connect(way) as connection:
        assert says_back(connection)
        way.close()
        assert connection.recv(1024) == b""
        assert not way.is_open
    with pytest.raises(ConnectionRefusedError):
        connect(way)


def test_a_way_opened_again_has_the_same_port(way):
    port = way.port
    way.close()
    way.open()
    assert way.port == port
    with connect(way) as connection:
        assert says_back(connection)


def test_a_silent_way_keeps_connections_and_what_was_sent(way):
    with connect(way) as connection:
        assert says_back(connection)
        way.silence()
        assert way.is_silent
        connection.sendall(b"still there?")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1024)
        connection.settimeout(30)
        way.resume()
        assert connection.recv(1024) == b"still there?"
