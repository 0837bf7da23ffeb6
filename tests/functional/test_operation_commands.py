"""What operators see of operations, on the embedded rig."""

import json
import types

import pytest
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from tests.builders import a_uuid
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until

HOST = "OS-EXT-SRV-ATTR:host"


@pytest.fixture(scope="module")
def shared_cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), cells=1) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud):
    yield shared_cloud
    shared_cloud.delete_all()


@pytest.fixture
def manage(cloud):
    """Run roost-manage operation; ``.json`` is the parsed answer."""

    def run(*arguments, code=0):
        command = ["--config-file", str(cloud.plan.config_file("manage")), "operation", *arguments]
        result = CliRunner().invoke(roost_manage, command)
        assert result.exit_code == code, result.output
        parsed = json.loads(result.stdout) if "--json" in arguments else None
        return types.SimpleNamespace(out=result.stdout, err=result.stderr, json=parsed)

    return run


@pytest.fixture
def server(cloud):
    (uuid,) = cloud.boot()
    (shown,) = cloud.wait([uuid], "ACTIVE")
    return shown


def test_an_operation_is_listed_with_its_host_and_what_it_waits_for(cloud, manage, server):
    assert manage("list", "--server", server["id"], "--json").json == []
    with cloud.faults({"step": "power", "delay": 3}):
        cloud.client.act(server["id"], {"os-stop": None})
        row = wait_until(lambda: _begun(manage, server), "a stop that its host has begun")
    assert row["kind"] == "stop"
    assert row["host"] == server[HOST]
    assert row["cell"] == "cell1"
    assert row["tries"] == 0
    assert row["operation"] in manage("list", "--cell", "cell1").out


def test_what_happened_to_a_server_is_shown_when_it_is_over(cloud, manage, server):
    cloud.client.act(server["id"], {"os-stop": None})
    _wait(cloud, server, "SHUTOFF")

    (story,) = manage("show", server["id"], "--json").json["operations"]

    assert (story["kind"], story["state"], story["waits_for"]) == ("stop", "done", None)
    assert [(event["event"], event["host"], event["result"]) for event in story["events"]] == [
        ("compute.power_off", server[HOST], "Success")
    ]
    assert manage("show", story["operation"], "--json").json == {"operations": [story]}
    assert "compute.power_off" in manage("show", server["id"]).out


def test_a_resize_is_listed_until_its_user_confirms_it(cloud, manage, server):
    flavor = cloud.create_flavor(name="larger", ram=1024, disk=1)
    cloud.client.act(server["id"], {"resize": {"flavorRef": flavor}})
    _wait(cloud, server, "VERIFY_RESIZE")

    (row,) = manage("list", "--json").json
    assert row["kind"] == "resize"
    assert row["waits_for"] == "its user, who confirms or reverts it"
    (story,) = manage("show", row["operation"], "--json").json["operations"]
    assert story["state"] == "unconfirmed"
    hosts = {event["host"] for event in story["events"]}
    assert hosts == {server[HOST], row["host"]}


def test_what_is_unknown_is_named(manage):
    unknown = a_uuid()
    assert f"{unknown} is no operation, nor a server" in manage("show", unknown, code=1).err
    assert "'nowhere'" in manage("list", "--cell", "nowhere", code=1).err
    assert "'stop' is not a valid UUID" in manage("show", "stop", code=2).err


def _begun(manage, server):
    rows = manage("list", "--server", server["id"], "--json").json
    return next((row for row in rows if "whose lease lasts" in row["waits_for"]), None)


def _wait(cloud, server, status):
    wait_until(lambda: cloud.show(server["id"])["status"] == status, status)
