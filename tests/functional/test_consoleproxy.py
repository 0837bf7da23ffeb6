"""Browsers come to consoles of servers: API, proxy and host as they are, with a pretended guest."""

import datetime
import logging
import socket
import ssl
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync.client import connect

from roost import exception
from roost.compute.operations import consoles as operations_consoles
from roost.compute.operations.consoles import ConsoleListener
from roost.compute.virt.driver import GuestResources, HostResources
from roost.compute.virt.fake.console import GREETINGS
from roost.compute.virt.fake.driver import FakeDriver
from roost.compute.virt.fake.faults import Faults
from roost.consoleproxy.proxy import ConsoleProxy, ProxySettings
from roost.consoleproxy.tokens import Tokens
from roost.objects import NetworkInfo, consoles
from tests.api_harness import ALICE, options, world
from tests.builders import CELL1, NOW, a_context
from tests.fakes.tls import Authority
from tests.functional.api.test_server_actions import ACTIVE
from tests.functional.api.test_server_remote_consoles import (
    SERIAL,
    SPICE,
    VNC,
    remote_console,
    token_of,
)
from tests.stories.cloud import wait_until

__all__ = ["options", "world"]
RESOURCES = HostResources(
    node="h1", vcpus=4, memory_mb=4096, disk_gb=40, hypervisor_type="fake", hypervisor_version=1
)
RFB = GREETINGS["vnc"]


class Host:
    """A host with a door, which the API's bus reaches."""

    def __init__(self, folder):
        self.virt = FakeDriver(RESOURCES, folder=folder, faults=Faults(None, host="h1"))
        self.door = ConsoleListener(self.virt)

    def spawn(self, instance):
        self.virt.spawn(
            a_context(),
            instance,
            image_path=None,
            network_info=NetworkInfo.of(vifs=[]),
            resources=GuestResources(),
        )

    def open_console(self, *, instance_uuid, **asked):
        return operations_consoles.let_in(self.virt, self.door, instance_uuid, **asked)


@pytest.fixture
def host(world, tmp_path):
    host = Host(tmp_path)
    world.buses["fake://cell1/"].answers["open_console"] = host.open_console
    yield host
    host.door.close()


@pytest.fixture
def server(world, host):
    """Return a server that runs on the host."""
    server = world.place(CELL1, **ACTIVE)
    host.spawn(server)
    return server


@pytest.fixture
def serve(world):
    """Start a proxy with some settings; return it."""
    started = []

    def serve(**values):
        proxy = ConsoleProxy(ProxySettings(**{"port": 0} | values), Tokens(world.api_db))
        proxy.start()
        started.append(proxy)
        return proxy

    yield serve
    for proxy in started:
        proxy.stop()
        proxy.wait()


@pytest.fixture
def proxy(serve):
    return serve()


def ask(world, server, body=VNC):
    """Ask the API for a console; return the token in its URL."""
    return token_of(remote_console(world, server.uuid, body).json["remote_console"]["url"])


def visit(proxy, token, **more):
    """Come as a browser does, with a token in the query."""
    return come(proxy, f"/?token={token}", **more)


def come(proxy, target, scheme="ws", **more):
    return connect(
        f"{scheme}://127.0.0.1:{proxy.port}{target}", proxy=None, open_timeout=30, **more
    )


def refused(proxy, target, **more):
    """Return the status with which the proxy refuses, and says no more."""
    with pytest.raises(InvalidStatus) as refusal:
        come(proxy, target, **more)
    assert refusal.value.response.body == b""
    return refusal.value.response.status_code


def end_of(browser):
    """Return the code with which the other side closes, whatever it says before."""
    try:
        while True:
            browser.recv(timeout=30)
    except ConnectionClosed as closed:
        return closed.rcvd.code


@pytest.mark.parametrize(
    ("body", "greeting"),
    [(VNC, RFB), (SPICE, GREETINGS["spice"]), (SERIAL, GREETINGS["serial"])],
)
def test_who_was_told_a_url_types_at_the_console(world, server, proxy, body, greeting):
    with visit(proxy, ask(world, server, body)) as browser:
        assert browser.recv(timeout=30) == greeting
        browser.send(b"\x03\x00")
        assert browser.recv(timeout=30) == b"\x03\x00"
        browser.send("text of a terminal")
        assert browser.recv(timeout=30) == b"text of a terminal"


def test_bad_and_expired_tokens_are_refused(world, server, proxy):
    expired = world.console_token(expires_at=NOW)
    digest = consoles.digest(ask(world, server))
    for token in (expired, consoles.new_token(), digest, "", "x" * 5000):
        assert refused(proxy, f"/?token={token}") == 403
    assert refused(proxy, "/") == 403


def test_a_deleted_server_loses_those_who_are_at_its_console(world, server, proxy):
    token = ask(world, server)
    with visit(proxy, token) as browser:
        assert browser.recv(timeout=30) == RFB
        proxy.end_revoked()
        browser.send(b"still there")
        assert browser.recv(timeout=30) == b"still there"
        world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE)
        proxy.end_revoked()
        end_of(browser)
    assert refused(proxy, f"/?token={token}") == 403


def expire_soon(world, server, host):
    """Let a token lead to the server for hardly two seconds more."""
    place = host.open_console(
        instance_uuid=server.uuid, kind="vnc", token_digest=consoles.digest(SOON), seconds=60
    )
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    digest = consoles.digest(SOON)
    world.console_token(**place, digest=digest, expires_at=then, instance_uuid=server.uuid)


SOON = consoles.new_token()


@pytest.mark.parametrize("ends_with_token", [True, False])
def test_a_token_that_expires_ends_a_visit_where_the_operator_says_so(
    world, server, host, serve, ends_with_token
):
    proxy = serve(ends_with_token=ends_with_token)
    expire_soon(world, server, host)
    with visit(proxy, SOON) as browser:
        assert browser.recv(timeout=30) == RFB
        proxy.end_revoked()
        browser.send(b"early")
        assert browser.recv(timeout=30) == b"early"
        time.sleep(2.5)
        proxy.end_revoked()
        if ends_with_token:
            end_of(browser)
        else:
            browser.send(b"late")
            assert browser.recv(timeout=30) == b"late"
    assert refused(proxy, f"/?token={SOON}") == 403


def test_there_may_be_so_many_at_once(world, server, serve):
    proxy, token = serve(most=1), ask(world, server)
    with visit(proxy, token) as browser:
        assert browser.recv(timeout=30) == RFB
        with pytest.raises((ConnectionClosed, InvalidMessage, OSError)):
            visit(proxy, token)
    wait_until(lambda: _comes_in(proxy, token), "there is a place again")


def _comes_in(proxy, token):
    try:
        with visit(proxy, token) as browser:
            return browser.recv(timeout=30) == RFB
    except (ConnectionClosed, InvalidMessage, OSError):
        return False


def test_a_console_at_which_nothing_happens_is_closed(world, server, serve):
    with visit(serve(idle_seconds=1), ask(world, server)) as browser:
        assert browser.recv(timeout=30) == RFB
        end_of(browser)


def test_who_gives_no_sign_of_life_is_gone(world, server, host, serve):
    proxy, token = serve(ping_seconds=1.0), ask(world, server)
    with (
        visit(proxy, token, ping_interval=None) as alive,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as mute,
    ):
        assert alive.recv(timeout=30) == RFB
        mute.sendall(HANDSHAKE.format(token=token).encode())
        assert mute.recv(4096).startswith(b"HTTP/1.1 101 ")
        assert _closes(mute)
        wait_until(lambda: host.door.visitors == 1, "the door is left")
        alive.send(b"still there")
        assert alive.recv(timeout=30) == b"still there"


HANDSHAKE = (
    "GET /?token={token} HTTP/1.1\r\nHost: c\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def test_a_host_that_was_started_again_knows_no_token(world, server, host, proxy):
    token = ask(world, server)
    host.door.close()
    with visit(proxy, token) as browser:
        assert end_of(browser) == 1011


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 403 Forbidden\r\n\r\n", b"RFB 003.008\n" * 99])
def test_what_is_no_door_is_not_taken_for_a_console(world, server, proxy, answer):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_answer_once, args=(listener, answer), daemon=True).start()
        port = listener.getsockname()[1]
        token = world.console_token(host="127.0.0.1", port=port, instance_uuid=server.uuid)
        with visit(proxy, token) as browser:
            assert end_of(browser) == 1011


def _answer_once(listener, answer):
    caller, _ = listener.accept()
    with caller:
        caller.recv(1000)
        caller.sendall(answer)


def test_a_database_that_is_away_is_waited_for(world, proxy):
    class Away:
        def read(self):
            raise exception.Unavailable("the database is away")

    proxy._tokens = Tokens(Away())
    assert refused(proxy, f"/?token={consoles.new_token()}") == 503


def test_no_token_is_ever_in_the_log(world, server, host, proxy, caplog):
    caplog.set_level(logging.DEBUG)
    token, unknown = ask(world, server), consoles.new_token()
    with visit(proxy, token) as browser:
        assert browser.recv(timeout=30) == RFB
    refused(proxy, f"/?token={unknown}")
    host.door.close()
    with visit(proxy, token) as browser:
        end_of(browser)
    ours = [record for record in caplog.records if not record.name.startswith("websockets.client")]
    assert any("vnc console is open" in record.getMessage() for record in ours)
    for record in ours:
        assert token not in record.getMessage()
        assert unknown not in record.getMessage()


def test_with_a_certificate_only_tls_is_spoken(world, server, serve, tmp_path):
    authority = Authority(tmp_path)
    proxy, token = serve(tls=authority.context()), ask(world, server)
    trusting = ssl.create_default_context(cafile=authority.ca)
    with visit(proxy, token, scheme="wss", ssl=trusting) as browser:
        assert browser.recv(timeout=30) == RFB
    with pytest.raises((ConnectionClosed, InvalidMessage, OSError)):
        visit(proxy, token)
    with pytest.raises(ssl.SSLError):
        visit(proxy, token, scheme="wss", ssl=ssl.create_default_context())


def _closes(caller):
    try:
        while caller.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def test_balancers_learn_that_the_proxy_lives_and_browsers_read_pages(serve, tmp_path):
    (tmp_path / "vnc.html").write_text("page")
    proxy = serve(web={"": tmp_path})

    def asked(line):
        with socket.create_connection((proxy.host, proxy.port), timeout=30) as talk:
            talk.sendall(f"{line} HTTP/1.0\r\n\r\n".encode())
            head, _, body = talk.makefile("rb").read().partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    for path in ("/", "/healthcheck"):
        assert asked(f"GET {path}") == (200, b"OK\n")
        assert asked(f"HEAD {path}") == asked(f"OPTIONS {path}") == (200, b"")
    assert asked("GET /vnc.html") == (200, b"page")
    assert asked("HEAD /vnc.html") == (200, b"")
    assert asked("GET /none.html")[0] == 404
    assert asked("POST /vnc.html")[0] == 405
