"""Bytes that are no requests, or bad ones, against the HTTP servers that roost-api runs on."""

import contextlib
import json
import socket
import time

import pytest
import requests

from tests.functional import http_servers

_CROWD = 100  # connections
_FLAVOR = {"ram": 1, "vcpus": 1, "disk": 0}
_LARGE = 114688
_POST = b"POST /v2.1/flavors HTTP/1.1\r\nHost: a\r\n"
_RUBBISH = {
    "nothing": b"",
    "zeros": b"\0" * 2000,
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xa5" * 300,
    "half a line": b"GET",
    "no version": b"GET\r\n\r\n",
    "an odd version": b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    "no host": b"GET /v2.1/flavors HTTP/1.1\r\n\r\n",
    "an odd method": b"G\xc3\xa9T / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a method of proxies": b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "the whole server": b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "a path that is no text": b"GET /v2.1/\xff\xfe\x80 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a path that is no path": b"GET v2.1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a long path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "a large header": b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 500_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-A: a\r\n" * 20_000 + b"\r\n",
    "a header without name": b"GET / HTTP/1.1\r\nHost: a\r\n: a\r\nnonsense\r\n\r\n",
    "a header with a zero": b"GET / HTTP/1.1\r\nHost: a\r\nX-Auth-Token: a\0b\r\n\r\n",
    "a length that is none": _POST + b"Content-Length: x\r\n\r\n",
    "a length below nothing": _POST + b"Content-Length: -1\r\n\r\n",
    "two lengths": _POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}{",
    "length and chunks": _POST
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a longer length": _POST + b"Content-Length: 50\r\n\r\n{}",
    "a shorter length": _POST + b"Content-Length: 2\r\n\r\n{}{}{}",
    "odd chunks": _POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "huge chunks": _POST
    + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "an odd encoding": _POST + b"Transfer-Encoding: nonsense\r\n\r\n",
}


@pytest.fixture(scope="module", params=http_servers.KINDS)
def place(request, tmp_path_factory):
    """An API; where it listens."""
    with http_servers.serving(request.param, tmp_path_factory.mktemp("api")) as served:
        yield served


def say(place, data, *, end=True):
    """Send bytes; return all that is answered until the server closes, or has said enough."""
    with socket.create_connection(place, timeout=30) as connection:
        with contextlib.suppress(OSError):  # the server may have closed it long before
            connection.sendall(data)
            if end:
                connection.shutdown(socket.SHUT_WR)
        return listen(connection)


def listen(connection):
    told = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        while piece := connection.recv(65536):
            told += piece
            connection.settimeout(1)
    return told


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else None


def flavor_request(name, *, headers="", token="admin:ops"):
    body = json.dumps({"flavor": {"name": name, **_FLAVOR}}).encode()
    head = (
        f"POST /v2.1/flavors HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Auth-Token: {token}\r\n"
        f"Content-Type: application/json\r\n{headers}"
    )
    return head.encode(), body


def works(place):
    answer = requests.get(
        f"http://{place[0]}:{place[1]}/v2.1/flavors",
        headers={"X-Auth-Token": "good:good"},
        timeout=30,
    )
    return answer.status_code == 200


@pytest.mark.parametrize("kind", _RUBBISH)
def test_rubbish_is_refused_or_not_answered_and_hurts_nobody(place, kind):
    status = status_of(say(place, _RUBBISH[kind]))
    assert status is None or status < 500 or status in (501, 505)
    assert works(place)


def test_a_body_in_chunks_is_understood(place):
    head, body = flavor_request(f"chunks {time.monotonic_ns()}")
    chunks = b"".join(b"1\r\n" + bytes([one]) + b"\r\n" for one in body) + b"0\r\n\r\n"
    answer = say(place, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, end=False)
    assert status_of(answer) == 200, answer


def test_a_body_that_is_too_large_is_refused(place):
    head, _ = flavor_request("large")
    body = b" " * (_LARGE + 1)
    answer = say(place, head + b"Content-Length: %d\r\n\r\n" % len(body) + body, end=False)
    assert status_of(answer) == 413
    assert b"overLimit" in answer
    assert works(place)


def test_a_body_in_chunks_that_is_too_large_is_refused(place):
    head, _ = flavor_request("large")
    chunks = (b"1000\r\n" + b" " * 4096 + b"\r\n") * 40 + b"0\r\n\r\n"
    answer = say(place, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, end=False)
    assert status_of(answer) == 413
    assert works(place)


def test_a_body_as_large_as_allowed_is_looked_at(place):
    head, body = flavor_request("large but good")
    body += b" " * (_LARGE - len(body))
    answer = say(place, head + b"Content-Length: %d\r\n\r\n" % len(body) + body, end=False)
    assert status_of(answer) in (200, 409)


def test_those_who_send_their_headers_slowly_hurt_nobody(place):
    with contextlib.ExitStack() as crowd:
        for _ in range(_CROWD):
            one = crowd.enter_context(socket.create_connection(place, timeout=30))
            one.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow")
        assert works(place)
