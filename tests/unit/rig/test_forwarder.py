"""A way to a service that can be closed or fall silent."""

import contextlib
import socket
import threading

import pytest

from roost.rig.forwarder import Forwarder
from tests.stories.cloud import wait_until


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


def test_connections_that_ended_are_forgotten(way):
    with connect(way) as connection:
        assert says_back(connection)
    wait_until(lambda: way.connections == 0, "it is forgotten")


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


def test_an_open_way_may_be_opened_and_a_closed_one_closed(way):
    way.open()
    way.close()
    way.close()


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


def test_a_silent_way_takes_connections_that_get_no_further(way):
    way.silence()
    with connect(way) as connection:
        connection.settimeout(0.2)
        connection.sendall(b"hello")
        with pytest.raises(TimeoutError):
            connection.recv(1024)
        way.resume()
        connection.settimeout(30)
        assert connection.recv(1024) == b"hello"


def test_a_service_that_is_down_is_down_for_its_peers_and_then_up(echo, way):
    place = echo.place
    echo.close()
    with connect(way) as connection, contextlib.suppress(ConnectionResetError):
        assert connection.recv(1024) == b""
    with socket.create_server(place) as again, connect(way):
        again.settimeout(30)
        again.accept()[0].close()
