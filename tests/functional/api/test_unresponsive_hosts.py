"""Hosts that hang, or are down: who needs them is told so, and others do not notice."""

import dataclasses
import threading
from concurrent import futures

import oslo_messaging as messaging
import pytest
import requests

from roost import states
from roost.api import admission
from roost.api.app import make_app
from roost.cells import Cells
from roost.cells.host_breakers import HostBreakers
from roost.cmd import _http
from roost.db.cell import services
from roost.objects import NetworkInfo
from tests.builders import CELL1, a_vif
from tests.stories.cloud import wait_until

BUS = "fake://cell1/"
PORT = "99999999-9999-4999-8999-999999999999"
CROWD = 24
PLACES = 2  # to work in: the crowd would hold both
CONSOLE = {"os-getConsoleOutput": {}}


@pytest.fixture
def server(world):
    network = NetworkInfo.of(vifs=[a_vif(id=PORT)])
    return world.place(
        host="h1", node="h1", vm_state=states.ACTIVE, task_state=None, network_info=network
    )


@pytest.fixture
def hanging(world):
    """Let the host h1 keep everybody waiting until the event is set."""
    answer = threading.Event()
    world.buses[BUS].answers["get_console_output"] = lambda **_: str(answer.wait(60))
    yield answer
    answer.set()


@pytest.fixture
def served(world):
    """Return the address of the API behind a real server."""
    by_url = {database.url: database for database in world.databases.values()}
    hosts = HostBreakers(begin=admission.leave_turn)
    cells = Cells(world.api_db, make_database=by_url.get, make_bus=world.buses.get, hosts=hosts)
    app = admission.Admission(
        make_app(dataclasses.replace(world.parts, cells=cells)),
        at_once=PLACES,
        waiting=2 * CROWD,
        share=0.5,
        callers=world.parts.authentication,
    )
    http = _http.ThreadedHttp(app, host="127.0.0.1", port=0, threads=100)
    http.start()
    yield f"http://127.0.0.1:{http.port}/v2.1"
    http.stop()
    http.wait()
    cells.close()


def test_a_host_that_hangs_keeps_nobody_else_waiting(world, served, server, hanging):
    path, headers = f"{served}/servers/{server.uuid}/action", {"X-Auth-Token": "alice:project"}

    def look(_turn):
        return requests.post(path, json=CONSOLE, headers=headers, timeout=90).status_code

    with futures.ThreadPoolExecutor(CROWD) as crowd:
        looking = [crowd.submit(look, turn) for turn in range(CROWD)]
        wait_until(lambda: len(world.buses[BUS].sent) == CROWD, "waiting")
        for who in ("bob:other", "alice:project"):
            listed = requests.get(f"{served}/servers", headers={"X-Auth-Token": who}, timeout=30)
            assert listed.status_code == 200
        hanging.set()
        told = sorted(one.result(90) for one in looking)
    assert told == [200] * CROWD


CALLED = [
    ("POST", "action", CONSOLE),
    ("POST", "action", {"os-getVNCConsole": {"type": "novnc"}}),
    ("POST", "remote-consoles", {"remote_console": {"protocol": "vnc", "type": "novnc"}}),
    ("GET", "diagnostics", None),
]
ENDED = [
    ("POST", "os-interface", {"interfaceAttachment": {}}),
    ("DELETE", f"os-interface/{PORT}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CALLED)
def test_a_host_that_does_not_answer_is_not_waited_for(world, server, method, path, body):
    world.parts.cells.get(CELL1)._bus._hosts = HostBreakers()
    hung = world.buses[BUS].answers
    hung |= dict.fromkeys(hung, messaging.MessagingTimeout())
    version = "2.8" if path == "remote-consoles" else "2.1"
    for _ in range(2):  # the second is refused at once
        answer = world.client.ask(
            method, f"/v2.1/servers/{server.uuid}/{path}", json=body, version=version
        )
        assert answer.status_code == 504, answer.text
        assert "last seen at 20" in answer.json["gatewayTimeout"]["message"]
        assert "h1" not in answer.text
    assert len(world.buses[BUS].sent) == 1


@pytest.mark.parametrize(("method", "path", "body"), CALLED + ENDED)
def test_a_host_that_is_down_is_not_asked(world, server, method, path, body):
    with world.databases[CELL1].begin() as session:
        (down,) = services.call_roll(session, hosts=["h1"]).services
        services.update(session, down.uuid, forced_down=True)
    version = "2.8" if path == "remote-consoles" else "2.1"
    answer = world.client.ask(
        method, f"/v2.1/servers/{server.uuid}/{path}", json=body, version=version
    )
    assert answer.status_code == 409, answer.text
    told = answer.json["conflictingRequest"]["message"]
    assert "last seen at 20" in told or "down since 20" in told
    assert "h1" not in answer.text
    assert world.buses[BUS].sent == []
