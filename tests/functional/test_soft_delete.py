"""Servers that users delete are kept for a while: with real daemons, and the openstack command."""

import pytest

from roost import states
from roost.rig.embedded import EmbeddedRig
from tests.functional.test_clients import cloud_file, run, sdk

__all__ = ["cloud_file", "run", "sdk"]
pytestmark = pytest.mark.filterwarnings("ignore")  # what clients warn of is theirs


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """A cell of one host; what users delete is kept for an hour."""
    kept = {"conductor": {"reclaim_instance_interval": 3600}}
    made = EmbeddedRig(tmp_path_factory.mktemp("rig"), cells=1, hosts=1, overrides=kept)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def server(sdk):
    return sdk.create_server(
        "kept", image="tiny", flavor="m1.tiny", network="private", wait=True, auto_ip=False
    )


def wait_for(sdk, server, status):
    return sdk.compute.wait_for_status(server, status, failures=["ERROR"], interval=0.1, wait=60)


@pytest.mark.soak
def test_the_openstack_command_deletes_and_restores(run, sdk, server):
    run("server", "delete", "kept")
    wait_for(sdk, server, "SOFT_DELETED")
    assert run("server", "list") == []
    assert [one["Name"] for one in run("server", "list", "--status", "SOFT_DELETED")] == ["kept"]
    run("server", "restore", server.id)
    restored = wait_for(sdk, server, "ACTIVE")
    assert (restored.power_state, restored.task_state) == (states.RUNNING, None)
    run("server", "delete", "--force", "--wait", "kept")
    assert sdk.get_server("kept") is None
