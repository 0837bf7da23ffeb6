"""Interfaces attached to a server of the embedded rig, beside what else is done to it."""

import threading
from concurrent import futures

import pytest
import requests

from roost.compute.network.local import LocalNetworkDriver
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until
from tests.stories.power import act, boot, wait_at_rest


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig")) as cloud:
        yield cloud


@pytest.fixture
def slow(monkeypatch):
    """Hosts attach nothing until the event is set."""
    go_on, attach = threading.Event(), LocalNetworkDriver.attach

    def wait(*arguments, **more):
        assert go_on.wait(30)
        return attach(*arguments, **more)

    monkeypatch.setattr(LocalNetworkDriver, "attach", wait)
    yield go_on
    go_on.set()


def attach(cloud, uuid, timeout=60):
    url = f"{cloud.client.endpoint}/servers/{uuid}/os-interface"
    return requests.post(url, json={"interfaceAttachment": {}}, timeout=timeout)


def attached(cloud, uuid):
    url = f"{cloud.client.endpoint}/servers/{uuid}/os-interface"
    return requests.get(url, timeout=60).json()["interfaceAttachments"]


def under_way(cloud, uuid):
    """Return how many attachments have been accepted, and are not done: they have no event."""
    path = f"/servers/{uuid}/os-instance-actions"
    done = cloud.client.get(path)["instanceActions"]
    asked = [one["request_id"] for one in done if one["action"] == "attach_interface"]
    return sum(not cloud.client.get(f"{path}/{one}")["instanceAction"]["events"] for one in asked)


def test_three_at_once_beside_an_image_are_attached(cloud, slow):
    uuid = boot(cloud)["id"]
    before = len(attached(cloud, uuid))
    with futures.ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(attach, cloud, uuid) for _ in range(3)]
        wait_until(lambda: under_way(cloud, uuid) == 3, "three at once")
        act(cloud, uuid, {"createImage": {"name": "beside"}})
        slow.set()
        assert [one.result(60).status_code for one in asked] == [200] * 3
    wait_at_rest(cloud, uuid, "ACTIVE")
    assert len(attached(cloud, uuid)) == before + 3
    cloud.delete_all()


def test_what_nobody_waits_for_any_more_is_attached_and_done(cloud, slow):
    uuid = boot(cloud)["id"]
    before = len(attached(cloud, uuid))
    with pytest.raises(requests.ReadTimeout):
        attach(cloud, uuid, timeout=0.5)
    refused = requests.post(
        f"{cloud.client.endpoint}/servers/{uuid}/action", json={"os-stop": None}, timeout=60
    )
    assert (
        "'attach_interface' is under way since 20"
        in refused.json()["conflictingRequest"]["message"]
    )
    slow.set()
    wait_until(lambda: under_way(cloud, uuid) == 0, "that it is done")
    assert len(attached(cloud, uuid)) == before + 1
    cloud.delete_all()
