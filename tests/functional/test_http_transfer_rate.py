"""How slowly clients may send and take, and by how many connections: a server in this process.

The tests run under eventlet, too, see ``tests/integration/test_under_eventlet.py``.
"""

import contextlib
import socket
import threading
import time

import pytest
import requests

from roost.api import admission
from roost.api.callers import ApiCaller, FairShare
from roost.cmd import _asgi, _http
from tests.functional.http_servers import free_port
from tests.stories.cloud import wait_until

AT_ONCE = 16  # so there are four places for uploads, and 64 for long answers
UPLOADS = 4
LONG = 4 << 20  # bytes
BODIES = 5  # that one address may be sending: a half
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"
PUT = b"PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\nX-Caller: %s\r\n\r\n"
GET = b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n"


class App:
    """Answers how much was sent, or with a long answer, which it makes in pieces."""

    def __init__(self):
        self.failed = []
        self.made = 0  # bytes of long answers

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/long":
            start_response("200 OK", [("Content-Length", str(LONG))])
            return self._pieces()
        try:
            sent = self._count(environ["wsgi.input"])
        except OSError as error:
            self.failed.append(error)
            return admission.refused(400)(environ, start_response)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(sent).encode()]

    def _pieces(self):
        for _ in range(LONG // 65536):
            self.made += 65536
            yield b"x" * 65536

    @staticmethod
    def _count(stream):
        sent = 0
        while piece := stream.read(65536):
            sent += len(piece)
        return sent


def is_upload(environ):
    return environ["PATH_INFO"] == "/upload"


class Served:
    """A server, with the gate before its application."""

    def __init__(self):
        self.app = App()
        self.gate = admission.Admission(
            self.app,
            at_once=AT_ONCE,
            waiting=AT_ONCE,
            share=FairShare(proven=0.5, unproven=0.5),
            max_body=1000,
            caller=lambda environ: ApiCaller(environ.get("HTTP_X_CALLER", "a"), proven=True),
            is_upload=is_upload,
            patience=0.2,
        )
        self.server = _http.in_process(
            self.gate,
            host="127.0.0.1",
            port=free_port(),
            threads=200,
            max_body=1000,
            address_share=0.5,
        )

    def connect(self, address="127.0.0.1", window=None):
        made = socket.socket()
        made.settimeout(30)
        if window:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        made.bind((address, 0))
        made.connect(("127.0.0.1", self.server.port))
        return contextlib.closing(made)

    def ask(self, method="GET", path="/", **more):
        return requests.request(
            method, f"http://127.0.0.1:{self.server.port}{path}", timeout=30, **more
        )


@pytest.fixture
def serve(monkeypatch):
    """Serve with so much patience for a transfer, in seconds, and with the least bytes a second."""
    with contextlib.ExitStack() as ending:

        def make(grace=30.0, slowest=4096):
            monkeypatch.setattr(_asgi, "GRACE", grace)
            monkeypatch.setattr(_asgi, "SLOWEST", slowest)
            monkeypatch.setattr(_http, "CONNECTIONS", 2 * BODIES)
            monkeypatch.setattr(_http, "LINGER_SECONDS", 0.5)
            served = Served()
            served.server.start()
            ending.callback(served.server.wait)
            ending.callback(served.server.stop)
            return served

        yield make


@contextlib.contextmanager
def trickling(connection, data=b"x", pause=0.05):
    """Send a little, again and again."""
    ended = threading.Event()

    def send():
        with contextlib.suppress(OSError):
            while not ended.wait(pause):
                connection.sendall(data)

    sending = threading.Thread(target=send)
    sending.start()
    yield
    ended.set()
    sending.join()


def answer_on(connection):
    """Return all that is answered until the server closes."""
    told = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            told += piece
    return told


def test_an_upload_that_trickles_is_cut_off(serve):
    served = serve(grace=0.5)
    with served.connect() as slow:
        slow.sendall(PUT % b"a")
        with trickling(slow):  # something comes all the time
            told = answer_on(slow)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert len(served.app.failed) == 1


def test_an_upload_that_comes_fast_enough_may_take_its_time(serve):
    served = serve(grace=1.5, slowest=20_000)

    def data():
        for _ in range(30):  # twice as long as it may stand still, faster than it must be
            time.sleep(0.1)
            yield b"x" * 6000

    assert served.ask("PUT", "/upload", data=data()).text == "180000"


def test_one_caller_does_not_have_all_places_for_uploads(serve):
    served = serve()
    with contextlib.ExitStack() as greedy:
        for _ in range(UPLOADS):
            one = greedy.enter_context(served.connect())
            one.sendall(PUT % b"greedy" + b"x" * 70000)
        wait_until(
            lambda: served.gate.waiting == 0 and served.gate.present == 2, "two wait no more"
        )
        assert served.ask("PUT", "/upload", data=b"1234", headers={"X-Caller": "b"}).text == "4"


def test_an_answer_that_is_taken_in_trickles_is_cut_off_and_its_place_is_free(serve):
    served = serve(grace=0.5, slowest=100 << 20)
    with served.connect(window=16384) as slow:
        slow.sendall(GET)
        assert slow.recv(1000)
        wait_until(lambda: served.gate.sending == 1, "the answer is sent")
        ended, taken = time.monotonic() + 30, 0
        while served.gate.sending and time.monotonic() < ended:
            taken += len(slow.recv(4096))  # something is taken all the time
            time.sleep(0.05)
        assert served.gate.sending == 0
        assert taken + len(answer_on(slow)) < LONG


def test_no_more_of_an_answer_is_on_its_way_than_tells_how_fast_it_goes(serve):
    served = serve()
    with served.connect(window=16384) as slow:
        slow.sendall(GET)
        wait_until(lambda: served.gate.sending == 1, "the answer is sent")
        time.sleep(0.5)
        assert 0 < served.app.made < LONG // 4


def test_an_answer_that_is_taken_fast_enough_may_take_its_time(serve):
    served = serve(grace=1.5, slowest=256 << 10)
    taken = 0
    with served.connect(window=65536) as slow:
        slow.sendall(GET)
        while taken < LONG:  # faster than it must be
            time.sleep(0.05)
            taken += len(slow.recv(100_000, socket.MSG_WAITALL)) or LONG
    assert LONG <= taken < LONG + 1000  # headers included


def test_one_address_does_not_send_more_bodies_than_its_share(serve):
    served = serve()
    with contextlib.ExitStack() as crowd:
        for _ in range(BODIES):
            crowd.enter_context(served.connect()).sendall(POST)
        wait_until(lambda: refused_status(served) == 429, "the share is taken")
        begun = time.monotonic()
        with served.connect() as another:
            another.sendall(POST)
            with trickling(another):
                told = answer_on(another)  # to the end: the connection is closed
        assert told.startswith(b"HTTP/1.1 429 ")
        assert b"etry-" in told
        assert time.monotonic() - begun < 15  # not as long as a body may take
        assert served.ask().status_code == 200  # without a body
        with served.connect("127.0.0.2") as neighbour:
            neighbour.sendall(POST + b"x" * 999)
            assert neighbour.recv(12) == b"HTTP/1.1 200"
    wait_until(lambda: refused_status(served) == 200, "those who left have given back")


def refused_status(served):
    return served.ask("POST", data=b"x").status_code
