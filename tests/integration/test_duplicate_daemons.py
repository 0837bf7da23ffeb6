"""Two processes of roost-compute that have one name: their servers have one host all the same."""

import re

import pytest

from tests.fakes.processes import DaemonProcess
from tests.stories.cloud import Cloud
from tests.stories.real_rig import running

pytestmark = pytest.mark.timeout(600)
SOON = {"DEFAULT": {"service_report_interval": 1.0}, "compute": {"reconcile_interval": 1.0}}


@pytest.fixture
def cloud(mode, rabbitmq, postgresql):
    with running(mode, rabbitmq, postgresql, overrides=SOON, cells=1, hosts=1) as rig:
        cloud = Cloud(rig)
        yield cloud
        cloud.close()


@pytest.fixture
def host(cloud):
    return cloud.plan.all_hosts[0]


@pytest.fixture
def servers(cloud):
    made = cloud.boot(count=5)
    cloud.wait(made, "ACTIVE")
    return made


@pytest.fixture
def compute(cloud, host, mode, tmp_path):
    """Start another roost-compute of the host's name, whose state is in a folder."""
    started = []

    def compute(folder):
        text = cloud.plan.config_file(host).read_text()
        text = re.sub(r"(?m)^state_path = .*$", f"state_path = {folder}", text)
        config = tmp_path / f"{len(started)}.conf"
        config.write_text(text.replace("[DEFAULT]", f"[DEFAULT]\nconcurrency = {mode}"))
        started.append(DaemonProcess("roost-compute", config, config.with_suffix(".log")))
        return started[-1]

    yield compute
    for process in started:
        process.end()


def statuses(cloud, servers):
    return {cloud.show(uuid)["status"] for uuid in servers}


def test_a_twin_with_an_empty_state_path_never_serves(cloud, host, servers, compute, tmp_path):
    twin = compute(tmp_path / "empty")
    twin.wait_for_log(f"run roost-manage cell replace-host {host}")
    twin.wait_for_log("looks again in 4 s")
    assert not twin.manager.ready
    twin.terminate()
    assert twin.exit_status() == 0
    assert statuses(cloud, servers) == {"ACTIVE"}
    assert cloud.audit() == {}
