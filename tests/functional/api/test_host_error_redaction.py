"""What hosts say when they are asked is for users, unless it names machines or their paths."""

import ast
import pathlib

import pytest

from roost import conf, exception, states
from roost.api.dependencies import ApiOptions
from roost.api.microversions import MAXIMUM
from roost.api.policy import Policy
from roost.objects import NetworkInfo
from roost.rpc.compute import Compute
from roost.standalone.tables import list_rules
from tests import api_harness
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, a_uuid, a_vif
from tests.fakes.attaching_host import AttachingHost
from tests.functional.api.sample_requests import say_that_it_is_up

API = pathlib.Path(exception.__file__).parent / "api"
SAID = "h1 /var/lib/x"
KINDS = [exception.Conflict, exception.NoCapacity, exception.Invalid, exception.Timeout]
# What users ask for, and wait until the host has answered.
CALLED = {
    "get_console_output": ("POST", "/action", {"os-getConsoleOutput": {}}),
    "get_diagnostics": ("GET", "/diagnostics", None),
    "open_console": (
        "POST",
        "/remote-consoles",
        {"remote_console": {"protocol": "vnc", "type": "novnc"}},
    ),
}
ENDED = {
    "attach_interface": ("POST", "/os-interface", {"interfaceAttachment": {}}),
    "detach_interface": ("DELETE", "/os-interface/{port_id}", None),
}
ASKED = CALLED | ENDED


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A cloud whose members may see how guests do, which is else for administrators."""
    folder = tmp_path_factory.mktemp("words")
    rules, options = folder / "policy.yaml", folder / "roost.conf"
    rules.write_text('"os_compute_api:os-server-diagnostics": ""\n')
    options.write_text(f"[oslo_policy]\npolicy_file = {rules}\n")
    policy = Policy(conf.load([], files=[str(options)]), list_rules())
    with api_harness.made_in(folder, ApiOptions(), policy=policy) as world:
        yield world


@pytest.fixture
def server(world):
    network = NetworkInfo.of(vifs=[a_vif()])
    active = {"vm_state": states.ACTIVE, "task_state": None}
    return world.place(CELL1, uuid=a_uuid(), host="h1", network_info=network, **active)


@pytest.fixture
def ask(world, server):
    """Return a function that lets the host fail at a method, and returns the answer."""

    def failing(method, error, token=ALICE):
        world.buses["fake://cell1/"].answers[method] = AttachingHost(world).error = error
        say_that_it_is_up(world, "h1")
        verb, path, body = ASKED[method]
        path = path.format(port_id=server.network_info.vifs[0].id)
        more = {} if body is None else {"json": body}
        url, version = f"/v2.1/servers/{server.uuid}{path}", f"2.{MAXIMUM}"
        return world.client.ask(verb, url, token=token, version=version, **more)

    return failing


@pytest.fixture
def history(world, server):
    """Return a function that tells what members read of all that was done to the server."""

    def read():
        path = f"/v2.1/servers/{server.uuid}/os-instance-actions"
        done = world.client.get(path, token=ALICE).json["instanceActions"]
        shown = [world.client.get(f"{path}/{one['request_id']}", token=ALICE) for one in done]
        return "".join(one.text for one in shown)

    return read


def test_all_that_the_api_waits_for_is_walked():
    blocking = {name for name, method in Compute.methods.items() if method.declared.kind == "call"}
    named = {
        node.attr
        for path in API.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert blocking & named == {*CALLED}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ASKED)
def test_members_read_neither_names_of_hosts_nor_paths(ask, history, method, kind):
    answer = ask(method, kind(SAID))
    assert answer.status_code in (400, 409, 504), answer.text
    for told in (answer.text, history()):
        assert "h1" not in told
        assert "/var" not in told


@pytest.mark.parametrize("kind", [exception.Conflict, exception.NoCapacity, exception.Invalid])
@pytest.mark.parametrize("method", ASKED)
def test_members_read_what_hosts_say_to_them(ask, method, kind):
    said = "Network 10.0.0.0/24 and/or port h11: see https://a.example/b/c."
    assert said in ask(method, kind(said)).text


@pytest.mark.parametrize("method", ASKED)
def test_administrators_read_all_of_it(ask, method):
    assert SAID in ask(method, exception.Conflict(SAID), token=ADMIN).text


@pytest.mark.parametrize("said", ["h1 is no part of that", "no room in '/var/lib/x'", "at h1."])
def test_either_is_enough(ask, said):
    assert said not in ask("open_console", exception.Conflict(said)).text
