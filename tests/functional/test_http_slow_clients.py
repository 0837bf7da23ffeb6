"""Clients that take their time, or for ever, against the HTTP servers that roost-api runs on."""

import contextlib
import socket
import threading

import psutil
import pytest
import requests

from roost.api import admission
from roost.api.callers import ApiCaller, FairShare
from roost.cmd import _http
from tests.functional import http_servers
from tests.stories.cloud import wait_until

ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
CROWD = 210
POST = b"POST /v2.1/servers HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
READERS = 150
IMAGE = 64 << 20  # bytes
MEMORY = 256 << 20  # bytes that a worker may take more, of 9 GiB that it is asked for
LONG = 8 << 20  # bytes: more than the system keeps of an answer that nobody reads


@pytest.fixture(scope="module", params=http_servers.KINDS)
def place(request, tmp_path_factory):
    """An API with the options that it has by default; where it listens."""
    folder = tmp_path_factory.mktemp("api")
    with http_servers.serving(request.param, folder, image={"local_path": folder}) as served:
        yield served


@contextlib.contextmanager
def a_crowd(place, number, data):
    """Connect, from three addresses in turn, and send something."""
    with contextlib.ExitStack() as crowd:
        connected = []
        for turn in range(number):
            source = (ADDRESSES[turn % len(ADDRESSES)], 0)
            one = socket.create_connection(place, timeout=30, source_address=source)
            connected.append(crowd.enter_context(one))
            one.sendall(data)
        yield connected


def url(place, path):
    return f"http://{place[0]}:{place[1]}{path}"


def works(place, token="good:good"):
    headers = {"X-Auth-Token": token}
    answers = [
        requests.get(url(place, "/v2.1/flavors"), headers=headers, timeout=20) for _ in range(5)
    ]
    return [answer.status_code for answer in answers] == [200] * 5


@pytest.mark.parametrize("token", [b"", b"X-Auth-Token: slow:slow\r\n"])
@pytest.mark.parametrize(
    "sent", [b"Content-Length: 1000\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"]
)
def test_a_crowd_that_sends_one_byte_of_each_body_hurts_nobody(place, token, sent):
    with a_crowd(place, CROWD, POST + token + sent):
        assert works(place)
        assert works(place, token="")
    assert works(place)


def test_a_crowd_that_says_nothing_hurts_nobody(place):
    with a_crowd(place, CROWD, b""):
        assert works(place)


def an_image(place):
    """Upload an image; return the path of its data."""
    api, headers = url(place, "/image/v2/images"), {"X-Auth-Token": "admin:ops"}
    body = {"name": "large", "disk_format": "raw", "container_format": "bare"}
    made = requests.post(api, json=body | {"visibility": "public"}, headers=headers, timeout=30)
    path = f"/image/v2/images/{made.json()['id']}/file"
    put = requests.put(
        url(place, path),
        data=bytes(IMAGE),
        headers={**headers, "Content-Type": "application/octet-stream"},
        timeout=60,
    )
    assert put.status_code == 204, put.text
    return path


def memory():
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(one.memory_info().rss for one in family)


def test_downloads_that_nobody_reads_hurt_nobody_and_take_little_memory(place):
    path = an_image(place)
    before = memory()
    get = f"GET {path} HTTP/1.1\r\nHost: a\r\nX-Auth-Token: greedy:greedy\r\n\r\n".encode()
    with a_crowd(place, READERS, get) as crowd:
        answers = {one.recv(12) for one in crowd}
        assert answers == {b"HTTP/1.1 200", b"HTTP/1.1 429"}
        assert works(place)
        download = requests.get(url(place, path), headers={"X-Auth-Token": "b:b"}, timeout=60)
        assert len(download.content) == IMAGE
        assert memory() - before < MEMORY
    assert works(place)


class App:
    """Answers with what was sent, or with a long answer, which it makes in pieces."""

    def __call__(self, environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        if environ["PATH_INFO"] == "/long":
            return (b"x" * 65536 for _ in range(LONG // 65536))
        return [environ["wsgi.input"].read()]


@pytest.fixture
def served(monkeypatch):
    """A server in this process that has little patience; the gate before its application."""
    monkeypatch.setattr(admission, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(_http, "SEND_SECONDS", 1)
    share = FairShare(proven=0.5, unproven=0.5)
    app = admission.Admission(
        App(),
        at_once=4,
        waiting=4,
        share=share,
        max_body=1000,
        caller=lambda _: ApiCaller("all", proven=True),
        is_upload=lambda environ: environ["PATH_INFO"] == "/upload",
    )
    server = _http.ThreadedHttp(
        app, host="127.0.0.1", port=0, threads=4, max_body=1000, address_share=0.5
    )
    server.start()
    yield server, app
    server.stop()
    server.wait()


def test_a_body_that_does_not_end_is_refused_after_a_while(served):
    server, app = served
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(head)
        answer, trickle = b"", threading.Event()
        feeding = threading.Thread(target=feed, args=(slow, trickle))
        feeding.start()  # one byte after the other does not help
        with contextlib.suppress(ConnectionError):
            while piece := slow.recv(65536):
                answer += piece
        trickle.set()
        feeding.join()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert app.present == 0


def feed(connection, ended):
    with contextlib.suppress(OSError):
        while not ended.wait(0.1):
            connection.sendall(b"x")


def test_an_answer_that_nobody_takes_is_cut_off_and_its_place_is_free(served):
    server, app = served
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stalled:
        stalled.sendall(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(lambda: app.sending == 1, "the answer is sent")
        wait_until(lambda: app.sending == 0, "the connection is cut off")


def test_a_long_answer_comes_whole(served):
    answer = requests.get(f"http://127.0.0.1:{served[0].port}/long", timeout=30)
    assert len(answer.content) == LONG


@pytest.mark.parametrize("size", [0, 1, 1000, 1001, 500_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_an_upload_comes_whole(served, size, chunked):
    data = b"x" * size
    sent = iter([data[:700], data[700:]]) if chunked and size else data
    url = f"http://127.0.0.1:{served[0].port}/upload"
    assert requests.put(url, data=sent, timeout=30).content == data
