"""Consoles that users type at: who is told a URL, and where its token leads."""

import datetime
import urllib.parse

import pytest

from roost import exception, states
from roost.api.dependencies import ApiOptions
from roost.db import clock
from roost.db.api import console_tokens
from roost.objects import consoles
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, NOW, a_uuid
from tests.functional.api.test_server_actions import ACTIVE, act, conflict, sent

VNC = {"remote_console": {"protocol": "vnc", "type": "novnc"}}
SPICE = {"remote_console": {"protocol": "spice", "type": "spice-html5"}}
SERIAL = {"remote_console": {"protocol": "serial", "type": "serial"}}


@pytest.fixture
def options():
    return ApiOptions(
        console_seconds=60,
        console_urls={
            "vnc": "https://c.example/vnc_lite.html",
            "spice": "https://c.example/spice/spice_auto.html",
            "serial": "wss://c.example/",
        },
    )


@pytest.fixture
def bus(world):
    return world.buses["fake://cell1/"]


def remote_console(world, uuid, body=VNC, token=ALICE):
    path = f"/v2.1/servers/{uuid}/remote-consoles"
    return world.client.post(path, body, token=token, version="2.96")


def token_of(url):
    """Return the token that a URL has, in its query or in the path there."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    return query.get("token") or query["path"].removeprefix("?token=")


def connection(world, token, version="2.99", who=ADMIN):
    path = f"/v2.1/os-console-auth-tokens/{token}"
    return world.client.get(path, token=who, version=version)


@pytest.mark.parametrize(
    ("asked", "page"), [(VNC, "vnc_lite.html"), (SPICE, "spice/spice_auto.html")]
)
def test_a_console_with_a_screen_is_a_page_that_is_told_a_token(world, asked, page):
    server = world.place(CELL1, **ACTIVE)
    told = remote_console(world, server.uuid, asked).json["remote_console"]
    token = token_of(told["url"])
    assert consoles.looks_like_token(token)
    url = f"https://c.example/{page}?path=%3Ftoken%3D{token}"
    assert told == asked["remote_console"] | {"url": url}


def test_a_serial_console_is_a_websocket_with_a_token(world):
    server = world.place(CELL1, **ACTIVE)
    told = remote_console(world, server.uuid, SERIAL).json["remote_console"]
    url = f"wss://c.example/?token={token_of(told['url'])}"
    assert told == {"protocol": "serial", "type": "serial", "url": url}


def test_the_host_is_told_what_opens_the_console_but_not_the_token(world):
    server = world.place(CELL1, **ACTIVE)
    token = token_of(remote_console(world, server.uuid, SERIAL).json["remote_console"]["url"])
    ((host, method, arguments),) = sent(world)
    assert (host, method) == ("h1", "open_console")
    assert arguments == {
        "instance_uuid": server.uuid,
        "kind": "serial",
        "token_digest": consoles.digest(token),
        "seconds": 60,
    }


def test_a_token_leads_to_the_door_of_the_host_for_some_time(world):
    server = world.place(CELL1, **ACTIVE)
    token = token_of(remote_console(world, server.uuid).json["remote_console"]["url"])
    assert connection(world, token, "2.98").json == {
        "console": {
            "instance_uuid": server.uuid,
            "host": "192.0.2.7",
            "port": 6900,
            "internal_access_path": None,
        }
    }
    with world.api_db.read() as session:
        found = console_tokens.find(session, consoles.digest(token), now=NOW)
        left = found.expires_at - clock.now(session)
    assert datetime.timedelta(seconds=50) < left <= datetime.timedelta(seconds=60)
    assert found.kind == "vnc"


def test_2_99_tells_a_port_for_tls_which_no_door_has(world):
    told = connection(world, world.console_token()).json["console"]
    assert told["tls_port"] is None


def test_each_request_has_a_token_of_its_own(world):
    server = world.place(CELL1, **ACTIVE)
    urls = {remote_console(world, server.uuid).json["remote_console"]["url"] for _ in range(3)}
    assert len(urls) == 3
    assert all(connection(world, token_of(url)).status_code == 200 for url in urls)


def test_no_token_is_kept_as_it_is(world):
    token = world.console_token()
    with world.api_db.read() as session:
        digest = consoles.digest(token)
        assert console_tokens.known(session, [token, digest]) == {digest}
    assert connection(world, consoles.digest(token)).status_code == 404


def test_tokens_that_expired_or_never_were_are_not_found(world):
    for token in (world.console_token(expires_at=NOW), consoles.new_token(), "x"):
        answer = connection(world, token)
        assert answer.status_code == 404
        assert "Token not found" in answer.text
        assert token not in answer.text


def test_a_deleted_server_has_no_tokens(world):
    server = world.place(CELL1, **ACTIVE)
    token = token_of(remote_console(world, server.uuid).json["remote_console"]["url"])
    assert connection(world, token).status_code == 200
    assert world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE).status_code == 204
    assert connection(world, token).status_code == 404


def test_a_locked_server_has_its_consoles(world):
    server = world.place(CELL1, **ACTIVE | {"locked": True, "locked_by": "owner"})
    assert remote_console(world, server.uuid).status_code == 200
    old = act(world, server.uuid, {"os-getVNCConsole": {"type": "novnc"}}, token=ALICE)
    assert old.status_code == 200


@pytest.mark.parametrize(
    ("protocol", "type_", "action"),
    [
        ("rdp", "rdp-html5", "os-getRDPConsole"),
        ("vnc", "xvpvnc", "os-getVNCConsole"),
        ("mks", "webmks", None),
    ],
)
def test_what_no_hypervisor_here_has_is_refused_without_asking_one(world, protocol, type_, action):
    server = world.place(CELL1, **ACTIVE)
    asked = {"remote_console": {"protocol": protocol, "type": type_}}
    answers = [remote_console(world, server.uuid, asked)]
    if action:
        answers.append(act(world, server.uuid, {action: {"type": type_}}, token=ALICE))
    for answer in answers:
        assert answer.status_code == 501
        said = f"Unable to get {protocol} console, functionality not implemented"
        assert said in answer.text
    assert sent(world) == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (exception.Unsupported("Unable to get vnc console, functionality not implemented"), 501),
        (exception.Invalid("Unavailable console type vnc."), 400),
        (exception.Conflict("Instance x is not ready"), 409),
        (exception.NotFound("no guest"), 404),
        (exception.Timeout("no answer"), 504),
        (exception.VersionTooOld("open_console wants 1.1"), 501),
    ],
)
def test_a_host_that_opens_none_says_so_and_there_is_no_token(world, bus, error, status):
    bus.answers["open_console"] = error
    server = world.place(CELL1, **ACTIVE)
    assert remote_console(world, server.uuid).status_code == status
    ((_, _, arguments),) = sent(world)
    with world.api_db.read() as session:
        assert console_tokens.known(session, [arguments["token_digest"]]) == set()


def test_a_type_of_another_protocol_cannot_be_meant(world):
    server = world.place(CELL1, **ACTIVE)
    asked = {"remote_console": {"protocol": "serial", "type": "novnc"}}
    answer = remote_console(world, server.uuid, asked)
    assert answer.status_code == 400
    assert "Invalid console type novnc" in answer.text


def test_whose_server_it_is_comes_first_and_that_it_is_somewhere(world):
    server, build_request = world.place(CELL1, **ACTIVE), world.build_request()
    assert remote_console(world, a_uuid()).status_code == 404
    assert remote_console(world, server.uuid, token="bob:other").status_code == 404
    failed = world.place(CELL1, **ACTIVE | {"vm_state": states.ERROR, "host": None})
    for each in (build_request, failed):
        said = conflict(remote_console(world, each.uuid))
        assert said == f"Instance {each.uuid} is not ready"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"protocol": "vnc"},
        {"protocol": "vnc", "type": "tv"},
        {"protocol": "x", "type": "novnc"},
    ],
)
def test_a_console_that_cannot_be_meant_is_refused(world, asked):
    server = world.place(CELL1, **ACTIVE)
    assert remote_console(world, server.uuid, {"remote_console": asked}).status_code == 400
