"""Services that say something to guests, against a little HTTP server that stands for them."""

import json
import logging
import time

import pytest

from roost import conf, exception
from roost.external.vendor_data import MOST_BYTES, VendorServices
from tests.fakes import http_stub, unresponsive_server

QUESTION = {"instance-id": "i", "user-data": "secret", "boot-roles": "member"}


@pytest.fixture(scope="module")
def server():
    with http_stub.serving() as server:
        yield server


@pytest.fixture(autouse=True)
def rules(server):
    server.reset()
    return server.rules


@pytest.fixture
def make(server):
    def make(*targets, auth=None, **options):
        targets = targets or (f"join@{server.url}/join",)
        options = {f"vendordata_dynamic_{name}": value for name, value in options.items()}
        return VendorServices.from_conf(
            conf.of(
                {
                    "guest_data": {"vendordata_dynamic_targets": list(targets), **options},
                    "vendordata_dynamic_auth": auth or {},
                    "service_user": {"auth_type": "admin_token", "endpoint": "", "token": "ours"},
                }
            )
        )

    return make


def _sent(handler):
    return json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))


def _answer(handler, body):
    data = json.dumps(body).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def test_each_service_is_sent_the_question_and_answers_by_its_name(make, rules, server):
    rules["POST /join"] = lambda handler: _answer(handler, {"asked": _sent(handler)})
    rules["POST /site"] = ["east"]
    services = make(f"join@{server.url}/join", f"site@{server.url}/site")
    assert services.ask(QUESTION) == {"join": {"asked": QUESTION}, "site": ["east"]}
    ((_, headers), _) = server.asked
    assert headers["Content-Type"] == headers["Accept"] == "application/json"


def test_nobodys_token_goes_to_a_service_unless_the_options_say_whose(make, rules, server):
    rules["POST /join"] = {}
    make().ask(QUESTION)
    make(auth={"auth_type": "admin_token", "endpoint": "", "token": "roost"}).ask(QUESTION)
    assert [headers.get("X-Auth-Token") for _, headers in server.asked] == [None, "roost"]


def _trickle(handler):
    """Say something now and then, and never all of it."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" ")
        time.sleep(0.05)


_BAD = {
    "an error": 500,
    "a redirect": 302,
    "no JSON": b"<html>",
    "no text": b"\xff\xfe",
    "too much": b" " * (MOST_BYTES + 1),
    "half of it": http_stub.broken_off,
    "no end": _trickle,
}


@pytest.mark.parametrize("rule", _BAD.values(), ids=_BAD)
def test_a_service_that_does_not_answer_says_nothing(make, rules, server, rule, caplog):
    rules["POST /join"], rules["POST /site"] = rule, {"zone": "east"}
    services = make(f"join@{server.url}/join", f"site@{server.url}/site", read_timeout=0.5)
    with caplog.at_level(logging.WARNING):
        assert services.ask(QUESTION) == {"join": {}, "site": {"zone": "east"}}
    assert "[instance: i] vendor data 'join' is unavailable" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("rule", _BAD.values(), ids=_BAD)
def test_where_it_must_answer_a_guest_is_told_nothing_without(make, rules, rule):
    rules["POST /join"] = rule
    with pytest.raises(exception.Unavailable, match="'join' is unavailable"):
        make(failure_fatal=True, read_timeout=0.5).ask(QUESTION)


def test_a_service_that_hangs_is_waited_for_once(make):
    with unresponsive_server.listening() as silent:
        services = make(f"join@{silent.url}/", read_timeout=0.3)
        began = time.monotonic()
        assert services.ask(QUESTION) == {"join": {}}
        waited = time.monotonic() - began
        assert 0.3 <= waited < 5
        assert services.ask(QUESTION) == {"join": {}}
        assert silent.connections == 1


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("join", "must be a name"),
        ("@http://a", "must be a name"),
        ("static@http://a", "other than 'static'"),
        ("join@ftp://a", "URL of HTTP"),
        ("join@", "URL of HTTP"),
    ],
)
def test_a_target_that_cannot_be_meant_is_refused(make, target, why):
    with pytest.raises(exception.Invalid, match=rf"vendordata_dynamic_targets.*{why}"):
        make(target)
