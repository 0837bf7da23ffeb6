"""All servers of a host that is off for good are evacuated by one command, on the embedded rig."""

import contextlib
import json
import types

import pytest
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from tests.functional.embedded import embedded_cloud
from tests.stories.liveness import let_take_servers, wait_for_all
from tests.stories.moves import host_of
from tests.stories.power import act, history, wait_at_rest


@pytest.fixture(scope="module")
def shared_cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), cells=1, hosts=2) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def large(shared_cloud):
    return shared_cloud.create_flavor(name="large", ram=2048)


@pytest.fixture
def cloud(shared_cloud):
    yield shared_cloud
    shared_cloud.delete_all()


@pytest.fixture
def evacuate(cloud):
    """Run roost-manage host evacuate; ``.rows`` are those of its answer, by server."""

    def run(*arguments, code=0):
        command = ["--config-file", str(cloud.plan.config_file("manage")), "host", "evacuate"]
        result = CliRunner().invoke(roost_manage, [*command, *arguments, "--json"])
        assert result.exit_code == code, result.output
        rows = json.loads(result.stdout) if result.stdout.startswith("[") else []
        return types.SimpleNamespace(rows={row["server"]: row for row in rows}, err=result.stderr)

    return run


@pytest.fixture
def doomed(cloud, large):
    """A host with four servers, the largest first, and the only other host."""
    other, host = sorted(cloud.hosts())
    wait_for_all(cloud)
    let_take_servers(cloud, other, may=False)
    servers = cloud.boot(flavorRef=large)
    servers += cloud.boot(count=3)
    cloud.wait(servers, "ACTIVE")
    let_take_servers(cloud, other, may=True)
    return types.SimpleNamespace(host=host, other=other, servers=servers)


@contextlib.contextmanager
def off_for_good(cloud, doomed):
    with cloud.without(doomed.host):
        cloud.change_service(doomed.host, forced_down=True)
        yield
        cloud.change_service(doomed.host, forced_down=False)


def test_it_is_refused_while_the_host_may_run_its_servers(evacuate, doomed):
    assert "is still in use" in evacuate(doomed.host, "--yes", code=1).err
    assert "mapped to no cell" in evacuate("nowhere", code=1).err


def test_the_plan_says_what_will_be_done_and_does_nothing(cloud, evacuate, doomed):
    with off_for_good(cloud, doomed):
        plan = evacuate(doomed.host)
    assert [row["memory_mib"] for row in plan.rows.values()] == [2048, 512, 512, 512]
    assert {row["result"] for row in plan.rows.values()} == {"to be evacuated"}
    assert "nothing is done without --yes" in plan.err
    assert {host_of(each) for each in cloud.client.servers()} == {doomed.host}


def test_one_that_cannot_leave_has_a_reason_and_the_others_go(cloud, evacuate, doomed):
    paused, *others = doomed.servers
    act(cloud, paused, {"pause": None})
    wait_at_rest(cloud, paused, "PAUSED")
    with off_for_good(cloud, doomed):
        rows = evacuate(doomed.host, "--yes", "--at-once", "2", code=1).rows
        assert {uuid: (row["result"], row["host"]) for uuid, row in rows.items()} == {
            paused: ("stays", doomed.host),
            **dict.fromkeys(others, ("evacuated", doomed.other)),
        }
        assert "vm_state paused" in rows[paused]["reason"]
        act(cloud, paused, {"os-resetState": {"state": "error"}})
        again = evacuate(doomed.host, "--yes").rows
        assert {uuid: row["result"] for uuid, row in again.items()} == {paused: "evacuated"}
        assert evacuate(doomed.host, "--yes").rows == {}
    assert history(cloud, paused)[0]["user_id"] == "roost-manage"
    assert {host_of(each) for each in cloud.wait(doomed.servers, "ACTIVE")} == {doomed.other}
    assert cloud.audit() == {}


def test_a_new_host_that_fails_leaves_them_with_its_reason(cloud, evacuate, doomed):
    fault = {"step": "spawn", "kind": "final", "message": "it broke"}
    with off_for_good(cloud, doomed), cloud.faults(fault):
        rows = evacuate(doomed.host, "--yes", code=1).rows
    assert {row["result"] for row in rows.values()} == {"stays"}
    assert all("it broke" in row["reason"] for row in rows.values())


def test_what_is_under_way_is_awaited_and_not_begun_again(cloud, evacuate, doomed):
    first = doomed.servers[0]
    with off_for_good(cloud, doomed), cloud.faults({"step": "spawn", "delay": 2}):
        act(cloud, first, {"evacuate": {"onSharedStorage": False}})
        assert evacuate(doomed.host).rows[first]["result"] == "under way"
        rows = evacuate(doomed.host, "--to", doomed.other, "--yes").rows
    assert {row["result"] for row in rows.values()} == {"evacuated"}
    actions = cloud.client.get(f"/servers/{first}/os-instance-actions")["instanceActions"]
    assert [each["action"] for each in actions] == ["evacuate", "create"]


def test_without_room_elsewhere_every_server_has_that_reason(cloud, evacuate, doomed):
    let_take_servers(cloud, doomed.other, may=False)
    with off_for_good(cloud, doomed):
        rows = evacuate(doomed.host, "--yes", code=1).rows
    let_take_servers(cloud, doomed.other, may=True)
    assert {row["result"] for row in rows.values()} == {"stays"}
    assert all("No valid host was found" in row["reason"] for row in rows.values())
