"""HTTPS, by each of the servers that an API may have."""

import socket

import pytest
import requests

from roost import conf, exception
from roost.cmd import _http
from tests.fakes.processes import DaemonProcess
from tests.fakes.tls import Authority
from tests.functional import hello_api
from tests.parts import second


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def options(authority, port):
    named = {"certificate_file": authority.certificate, "key_file": authority.key}
    return {"port": port, **{name: str(file) for name, file in named.items()}}


@pytest.fixture
def process(authority, port, tmp_path):
    """An API in a process of its own: Granian, or with green threads eventlet's server."""
    started = []

    def start(mode):
        lines = "\n".join(f"{name} = {value}" for name, value in options(authority, port).items())
        config = tmp_path / "roost.conf"
        config.write_text(f"[DEFAULT]\nconcurrency = {mode}\n\n[api]\n{lines}\n")
        started.append(DaemonProcess("tests.functional.hello_api", config, tmp_path / "daemon.log"))
        started[-1].manager.wait_for("READY=1")

    yield start
    for each in started:
        each.end()


@pytest.fixture
def in_this_process(authority, port):
    """An API inside another process: cheroot."""
    server = hello_api.build(conf.of({"api": options(authority, port)})).servers[0]
    server.start()
    yield server
    server.stop()
    server.wait()


def check(authority, port):
    """Who trusts the authority is answered, and nobody else speaks to the server."""
    url = f"https://127.0.0.1:{port}/"
    assert requests.get(url, verify=str(authority.ca), timeout=30).ok
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(url, timeout=30)


@pytest.mark.parametrize("mode", ["threading", second("eventlet")])
def test_an_api_of_its_own_serves_https(process, mode, authority, port):
    process(mode)
    check(authority, port)


@pytest.mark.usefixtures("in_this_process")
def test_an_api_in_this_process_serves_https(authority, port):
    check(authority, port)


def test_a_certificate_without_its_key_is_refused_by_name(authority):
    given = conf.of({"api": {"certificate_file": str(authority.certificate)}})
    with pytest.raises(exception.Invalid, match="key_file must name a file"):
        _http.TlsIdentity.of(given)
