"""The stories of boots, zones and groups on the embedded rig: real HTTP, RPC in memory, SQL."""

import pytest
import requests

from tests import log_lines
from tests.functional.embedded import embedded_cloud
from tests.stories.aggregates import *  # noqa: F403
from tests.stories.boots import *  # noqa: F403
from tests.stories.server_groups import *  # noqa: F403


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig")) as cloud:
        yield cloud


def test_every_daemon_logs_the_request_and_the_instance(cloud):
    asked = {"name": "web", "flavorRef": cloud.flavor, "imageRef": cloud.image}
    body = {"server": asked | {"networks": "none"}}
    burns = {"step": "spawn", "kind": "reschedulable", "message": "it burns"}
    with log_lines.recorded() as lines, cloud.faults(burns):
        answer = requests.post(
            f"{cloud.client.endpoint}/servers",
            json=body,
            headers={"OpenStack-API-Version": "compute 2.90"},
            timeout=30,
        )
        uuid = answer.json()["server"]["id"]
        cloud.wait([uuid], "ERROR")
    request_id = answer.headers["X-Openstack-Request-Id"]
    about = [line for line in lines if f"[instance: {uuid}]" in line.text]
    for daemon in ("api", "conductor.super", "scheduler", "compute", "conductor.cell"):
        ours = [line for line in about if line.logger.startswith(f"roost.{daemon}.")]
        named = {line.request_id for line in ours}
        # what a daemon finds out by itself, such as that a server has left, is of no request
        assert request_id in named, daemon
        assert named <= {request_id, None}, daemon
