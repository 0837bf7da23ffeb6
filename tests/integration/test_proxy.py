"""HAProxy before roost-api, as ``etc/haproxy/roost.cfg`` sets it up: slow clients hurt nobody."""

import contextlib
import pathlib
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
import requests

from roost.rig.plan import Plan

ROOST_RIG = pathlib.Path(sys.executable).parent / "roost-rig"
ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
IDLE_BODIES, READERS = 210, 150
IMAGE = 64 << 20  # bytes: more than the proxy and the system keep of an answer
pytestmark = pytest.mark.timeout(300)
POST = b"POST /v2.1/servers HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def address(rabbitmq, postgresql, tmp_path_factory):
    """The host and port of the proxy of a rig."""
    state = tmp_path_factory.mktemp("rig") / "state"

    def roost_rig(*arguments):
        done = subprocess.run(
            [str(ROOST_RIG), *arguments, "--state", str(state)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    servers = ["--bus", rabbitmq.url(""), "--db", postgresql.url("")]
    roost_rig("up", "--cells", "1", "--hosts", "1", "--any-ports", "--proxy", *servers)
    yield "127.0.0.1", urlsplit(Plan.load(state).endpoint).port
    roost_rig("down")


@contextlib.contextmanager
def a_crowd(address, number, data):
    """Connect, from three addresses in turn, and send something."""
    with contextlib.ExitStack() as crowd:
        connected = []
        for turn in range(number):
            source = (ADDRESSES[turn % len(ADDRESSES)], 0)
            one = socket.create_connection(address, timeout=60, source_address=source)
            connected.append(crowd.enter_context(one))
            one.sendall(data)
        yield connected


def url(address, path):
    return f"http://{address[0]}:{address[1]}{path}"


def is_served(address):
    headers = {"X-Auth-Token": "good:good"}
    answers = [
        requests.get(url(address, "/v2.1/flavors"), headers=headers, timeout=20) for _ in range(5)
    ]
    return [answer.status_code for answer in answers] == [200] * 5


@pytest.mark.parametrize(
    "body", [b"Content-Length: 1000\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"]
)
def test_bodies_that_do_not_come_keep_nobody_waiting_and_are_ended(address, body):
    with a_crowd(address, IDLE_BODIES, POST + b"X-Auth-Token: slow:slow\r\n" + body) as crowd:
        assert is_served(address)
        assert {one.recv(12) for one in crowd} == {b"HTTP/1.1 408"}
    assert is_served(address)


def test_downloads_that_nobody_reads_keep_nobody_waiting_and_are_cut_off(address):
    path = an_image(address)
    get = f"GET {path} HTTP/1.1\r\nHost: a\r\nX-Auth-Token: greedy:greedy\r\n\r\n".encode()
    with a_crowd(address, READERS, get) as crowd:
        assert {one.recv(12) for one in crowd} == {b"HTTP/1.1 200", b"HTTP/1.1 429"}
        assert is_served(address)
        download = requests.get(url(address, path), headers={"X-Auth-Token": "b:b"}, timeout=60)
        assert len(download.content) == IMAGE
    assert is_served(address)


def an_image(address):
    """Upload an image; return the path of its data."""
    images, headers = url(address, "/image/v2/images"), {"X-Auth-Token": "admin:ops"}
    body = {"name": "large", "disk_format": "raw", "container_format": "bare"}
    made = requests.post(images, json=body | {"visibility": "public"}, headers=headers, timeout=30)
    path = f"/image/v2/images/{made.json()['id']}/file"
    kind = {"Content-Type": "application/octet-stream"}
    data = requests.put(url(address, path), data=bytes(IMAGE), headers=headers | kind, timeout=60)
    assert data.status_code == 204, data.text
    return path


def test_one_address_has_so_many_connections_and_no_more(address):
    with contextlib.ExitStack() as crowd:
        connected = []
        for _ in range(IDLE_BODIES):
            with contextlib.suppress(ConnectionResetError):  # refused before it was used
                one = socket.create_connection(address, timeout=60, source_address=("127.0.0.9", 0))
                connected.append(crowd.enter_context(one))
        assert len(connected) < IDLE_BODIES or not is_answered(connected[-1])
        assert is_served(address)
    assert is_served(address)


def is_answered(connection):
    with contextlib.suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        return bool(connection.recv(100))
    return False
