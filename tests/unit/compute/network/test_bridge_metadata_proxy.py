"""Who is let through to roost-metadata: guests of the network, and nobody else."""

import pytest

from roost.compute.network.bridge.metadata import Proxy
from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.settings import MetadataService
from roost.guestdata import signature
from tests.builders import a_vif, an_instance

NOWHERE = MetadataService("http://127.0.0.1:1", "secret")


@pytest.fixture
def proxy():
    proxy = Proxy(NOWHERE)
    proxy.ports = {"10.0.0.2": BridgePort.of(an_instance(), a_vif())}
    return proxy


def ask(proxy, address, method="GET"):
    told = []
    asked = {"REMOTE_ADDR": address, "REQUEST_METHOD": method, "PATH_INFO": "/"}

    class Body:
        def read(self, size):
            return b""

    body = proxy({**asked, "wsgi.input": Body()}, lambda *line: told.append(line))
    ((status, headers),) = told
    assert int(dict(headers)["Content-Length"]) == len(b"".join(body))
    return status, dict(headers)


def test_for_an_address_of_nobody_nothing_is_asked(proxy):
    assert ask(proxy, "10.0.0.3")[0] == "404 Not Found"


def test_methods_that_no_guest_needs_are_not_handed_on(proxy):
    assert ask(proxy, "10.0.0.2", "DELETE")[0] == "405 Method Not Allowed"


def test_a_service_that_does_not_answer_is_to_be_asked_again(proxy):
    status, headers = ask(proxy, "10.0.0.2")
    assert (status, headers["Retry-After"]) == ("503 Service Unavailable", "5")


def test_a_signature_is_of_one_instance_and_one_secret():
    made = signature.sign("secret", "a")
    assert made == signature.sign("secret", "a")
    assert made not in (signature.sign("other", "a"), signature.sign("secret", "b"))
