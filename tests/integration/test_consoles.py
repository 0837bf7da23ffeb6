"""Users type at a real guest: API, RabbitMQ, host, libvirt and roost-consoleproxy as they are."""

import contextlib
import os
import re
import signal
import struct
import urllib.parse

import pytest
import requests
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from roost.rig.hypervisors import linux_guest
from roost.rig.services.private import free_port
from tests.fakes.processes import DaemonProcess
from tests.stories.cloud import wait_until
from tests.stories.real_guests import console, linux_of, wait_until_it_says
from tests.stories.real_rig import running

pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU
NOVNC, SPICE, SERIAL = ("vnc", "novnc"), ("spice", "spice-html5"), ("serial", "serial")
SECONDS = 60


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def cloud(rabbitmq, postgresql, libvirtd, linux_image, port):
    """One host of libvirt, whose guests have all consoles that there are."""
    overrides = {
        "consoles": {
            "novnc_base_url": f"http://127.0.0.1:{port}/vnc_lite.html",
            "spice_base_url": f"http://127.0.0.1:{port}/spice/spice_auto.html",
            "serial_base_url": f"ws://127.0.0.1:{port}/",
        },
        "compute": {"virt_driver": "libvirt"},
        "libvirt": {
            "connection_uri": libvirtd.uri,
            "virt_type": "qemu",
            "screens": "vnc,spice",
        },
    }
    with (
        running("threading", rabbitmq, postgresql, overrides=overrides, cells=1, hosts=1) as rig,
        linux_of(rig, linux_image) as cloud,
    ):
        yield cloud
    assert libvirtd.guests() == {}


@pytest.fixture(scope="module")
def server(cloud):
    """A server whose Linux is up."""
    (server_id,) = cloud.boot()
    cloud.wait([server_id], "ACTIVE")
    wait_until_it_says(cloud, server_id, linux_guest.READY)
    return server_id


@pytest.fixture(scope="module")
def start_proxy(cloud, port, pages, tmp_path_factory):
    """Start the daemon; return it when it serves."""
    folder = tmp_path_factory.mktemp("proxy")
    config = folder / "roost.conf"
    config.write_text(f"""
[api_database]
connection = {cloud.plan.database_url("api", as_="api")}
[console_proxy]
port = {port}
web = {pages.web}
spice_web = {pages.spice_web}
""")
    started = []

    def start_proxy():
        started.append(DaemonProcess("roost-consoleproxy", config, folder / "proxy.log"))
        started[-1].manager.wait_for("READY=1")
        return started[-1]

    yield start_proxy
    for daemon in started:
        daemon.end()


@pytest.fixture(scope="module", autouse=True)
def proxy(start_proxy):
    return start_proxy()


def url_of(cloud, server_id, kind):
    """Return the URL that a user is told."""
    protocol, type_ = kind
    body = {"remote_console": {"protocol": protocol, "type": type_}}
    return cloud.client.post(f"/servers/{server_id}/remote-consoles", body)["remote_console"]["url"]


def websocket_of(url):
    """Return the WebSocket that is behind a URL: that which its page opens."""
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    return f"ws://{parts.netloc}/{query['path']}" if "path" in query else url


def visit(url, **more):
    """Come as a browser does that has the page of the proxy."""
    origin = f"http://{urllib.parse.urlsplit(url).netloc}"
    return connect(websocket_of(url), proxy=None, origin=origin, open_timeout=SECONDS, **more)


def hear(browser, words):
    """Return what a console says until it has said some words."""
    heard = b""
    while words not in heard:
        heard += browser.recv(timeout=SECONDS)
    return heard


def ends(browser):
    """Tell that the other side closes the connection, whatever it says before."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            browser.recv(timeout=SECONDS)
    return True


def test_a_line_that_is_typed_is_heard_by_the_guest_and_stands_in_its_log(cloud, server):
    with visit(url_of(cloud, server, SERIAL)) as browser:
        browser.send("open sesame\r")
        assert b"guest: heard open sesame" in hear(browser, b"heard open sesame\r\n")
    wait_until_it_says(cloud, server, "guest: heard open sesame")
    assert "guest: boot 1\n" in console(cloud, server)


def test_who_comes_last_has_the_serial_console(cloud, server):
    with visit(url_of(cloud, server, SERIAL)) as first:
        first.send(b"first\r")
        hear(first, b"heard first\r\n")
        with visit(url_of(cloud, server, SERIAL)) as second:
            assert ends(first)
            second.send(b"second\r")
            hear(second, b"heard second\r\n")


@pytest.mark.parametrize(("kind", "module"), [(NOVNC, "core/rfb.js"), (SPICE, "main.js")])
def test_the_page_that_a_user_is_sent_to_is_there_with_its_modules(cloud, server, kind, module):
    url = url_of(cloud, server, kind)
    page = requests.get(url, timeout=SECONDS)
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html")
    assert re.search(rf"""from ['"]\./{module}['"]""", page.text)
    found = requests.get(urllib.parse.urljoin(url, module), timeout=SECONDS)
    assert (found.status_code, found.headers["Content-Type"]) == (200, "text/javascript")


def test_the_page_of_novnc_speaks_to_the_guests_screen(cloud, server):
    with visit(url_of(cloud, server, NOVNC), subprotocols=["binary"]) as browser:
        assert browser.subprotocol == "binary"
        assert hear(browser, b"\n") == b"RFB 003.008\n"
        browser.send(b"RFB 003.008\n")
        assert hear(browser, b"\x01\x01") == b"\x01\x01"  # one way to prove who one is: none
        browser.send(b"\x01")
        assert hear(browser, b"\0\0\0\0") == b"\0\0\0\0"  # welcome


# SpiceLinkHeader and SpiceLinkMess of its protocol: the channel "main", without capabilities.
LINK = b"REDQ" + struct.pack("<III", 2, 2, 18) + struct.pack("<IBBIII", 0, 1, 0, 0, 0, 18)


def test_the_page_of_spice_speaks_to_the_guests_screen_as_often_as_it_has_channels(cloud, server):
    url = url_of(cloud, server, SPICE)
    with visit(url, subprotocols=["binary"]) as one, visit(url, subprotocols=["binary"]) as other:
        for browser in (one, other):
            browser.send(LINK)
            magic, major, _minor, _size, error = struct.unpack("<4sIIII", hear(browser, b"R")[:20])
            assert (magic, major, error) == (b"REDQ", 2, 0)


def test_a_libvirtd_that_dies_ends_serial_consoles_which_may_be_opened_again(
    cloud, server, libvirtd
):
    url = url_of(cloud, server, SERIAL)
    with visit(url) as browser:
        browser.send(b"one\r")
        hear(browser, b"heard one\r\n")
        libvirtd.kill()
        try:
            assert ends(browser)
        finally:
            libvirtd.start()
    with visit(url) as browser:
        browser.send(b"two\r")
        hear(browser, b"heard two\r\n")


def test_a_proxy_that_is_told_to_end_closes_what_is_open_and_another_goes_on(
    cloud, server, proxy, start_proxy
):
    url = url_of(cloud, server, NOVNC)
    with visit(url) as browser:
        assert browser.recv(timeout=SECONDS) == b"RFB 003.008\n"
        proxy.terminate()
        assert ends(browser)
        assert proxy.exit_status() == 0
    assert "Traceback" not in proxy.log
    start_proxy()
    with visit(url) as browser:
        assert browser.recv(timeout=SECONDS) == b"RFB 003.008\n"


def test_a_guest_that_is_killed_ends_all_its_consoles(cloud, server, libvirtd):
    with (
        visit(url_of(cloud, server, NOVNC)) as screen,
        visit(url_of(cloud, server, SERIAL)) as line,
    ):
        assert screen.recv(timeout=SECONDS) == b"RFB 003.008\n"
        line.send(b"last\r")
        hear(line, b"heard last\r\n")
        os.kill(libvirtd.guests()[f"instance-{server}"], signal.SIGKILL)
        assert ends(screen)
        assert ends(line)
    wait_until(lambda: cloud.show(server)["status"] == "SHUTOFF", "it is seen")
    body = {"remote_console": {"protocol": "serial", "type": "serial"}}
    answer = requests.post(
        f"{cloud.client.endpoint}/servers/{server}/remote-consoles",
        json=body,
        headers={"OpenStack-API-Version": "compute 2.90"},
        timeout=SECONDS,
    )
    assert answer.status_code == 409
