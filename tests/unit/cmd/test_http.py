import threading
from concurrent import futures

import pytest
import requests

from roost.cmd import _http


class App:
    """Answers at once, or under /slow when it may."""

    def __init__(self):
        self.begun = threading.Event()
        self.may_answer = threading.Event()

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/slow":
            self.begun.set()
            self.may_answer.wait(5)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"hello"]


@pytest.fixture
def app():
    return App()


@pytest.fixture
def server(app):
    server = _http.in_process(app, host="127.0.0.1", port=0, threads=2)
    server.start()
    yield server
    server.stop()
    server.wait()


def get(server, path="/"):
    return requests.get(f"http://127.0.0.1:{server.port}{path}", timeout=10).text


def test_it_serves_on_a_port_of_the_systems_choice(server):
    assert server.port != 0
    assert get(server) == "hello"


def test_a_request_under_way_is_answered_before_the_end(server, app):
    with futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(get, server, "/slow")
        assert app.begun.wait(5)
        stopping = pool.submit(server.stop)
        app.may_answer.set()
        assert answer.result() == "hello"
        stopping.result()
    server.wait()


def test_after_the_stop_nobody_listens(server):
    server.stop()
    server.wait()
    with pytest.raises(requests.ConnectionError):
        get(server)


def test_a_port_that_is_taken_is_an_error_and_may_be_tried_again(server, app):
    second = _http.in_process(app, host="127.0.0.1", port=server.port, threads=1)
    with pytest.raises(OSError, match="in use"):
        second.start()
    server.stop()
    server.wait()
    second.start()
    assert get(second) == "hello"
    second.stop()
    second.wait()
