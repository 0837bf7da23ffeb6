"""The stories of power, and of what hosts find amiss, on the embedded rig."""

import json

import pytest

from roost import states
from tests.functional.embedded import embedded_cloud
from tests.stories.guests import guest_file
from tests.stories.power import *  # noqa: F403
from tests.stories.power import STOP, act, boot, wait_at_rest
from tests.stories.reconcile import *  # noqa: F403

SOON = {
    "conductor": {"sweep_interval": 0.5, "task_lease_seconds": 3.0},
    "compute": {"resume_guests_state_on_host_boot": True},
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), hosts=2, overrides=SOON) as cloud:
        yield cloud


def test_what_ran_when_a_host_went_down_runs_again_when_it_is_back(cloud):
    ran = boot(cloud)
    host = ran["OS-EXT-SRV-ATTR:host"]
    stopped = boot(cloud, availability_zone=f"nova:{host}")
    act(cloud, stopped["id"], STOP)
    wait_at_rest(cloud, stopped["id"], "SHUTOFF")
    files = [guest_file(cloud, host, server["id"]) for server in (ran, stopped)]
    with cloud.without(host):
        for file in files:
            down = {"power_state": states.SHUTDOWN, "cut_off": True}
            file.write_text(json.dumps(json.loads(file.read_text()) | down))
    found = [json.loads(file.read_text())["power_state"] for file in files]
    assert found == [states.RUNNING, states.SHUTDOWN]
    assert cloud.show(ran["id"])["status"] == "ACTIVE"
    assert cloud.show(stopped["id"])["status"] == "SHUTOFF"
