"""Servers that give their host back and get one again, on the embedded rig."""

import pytest
import requests

from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file
from tests.stories.liveness import let_take_servers, up
from tests.stories.moves import guest, host_of, wrote
from tests.stories.power import act, boot, history, wait_at_rest

SHELVE, OFFLOAD, UNSHELVE = {"shelve": None}, {"shelveOffload": None}, {"unshelve": None}
SOON = {"conductor": {"sweep_interval": 0.2}}


@pytest.fixture(scope="module")
def shared_cloud(tmp_path_factory):
    overrides = SOON | {"compute": {"shelved_offload_time": 0}}
    folder = tmp_path_factory.mktemp("rig")
    with embedded_cloud(folder, cells=1, hosts=2, overrides=overrides) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def patient_cloud(tmp_path_factory):
    """One whose shelved servers stay on their hosts."""
    overrides = SOON | {"compute": {"shelved_offload_time": -1}}
    folder = tmp_path_factory.mktemp("rig")
    with embedded_cloud(folder, cells=1, hosts=2, overrides=overrides) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud):
    yield shared_cloud
    shared_cloud.delete_all()
    assert images(shared_cloud) == []
    assert shared_cloud.audit() == {}


@pytest.fixture
def patient(patient_cloud):
    yield patient_cloud
    patient_cloud.delete_all()
    assert images(patient_cloud) == []
    assert patient_cloud.audit() == {}


def images(cloud):
    return [each["name"] for each in cloud.client.images() if each["name"].endswith("-shelved")]


def ask(cloud, uuid, body, version="2.93"):
    return requests.post(
        f"{cloud.client.endpoint}/servers/{uuid}/action",
        json=body,
        headers={"OpenStack-API-Version": f"compute {version}"},
        timeout=30,
    )


def shelved(cloud, status="SHELVED_OFFLOADED", **values):
    """Return a server before and after it was shelved."""
    before = boot(cloud, networks="auto", **values)
    wrote(cloud, before)
    act(cloud, before["id"], SHELVE)
    return before, wait_at_rest(cloud, before["id"], status)


def test_a_shelved_server_is_on_no_host_and_comes_back_with_its_disk_and_address(cloud):
    before, after = shelved(cloud)
    uuid = before["id"]
    assert (host_of(after), after["addresses"]) == (None, before["addresses"])
    assert not guest_file(cloud, host_of(before), uuid).exists()
    assert uuid not in cloud.claims()
    assert images(cloud) == ["server-shelved"]
    assert cloud.audit() == {}
    act(cloud, uuid, UNSHELVE)
    back = wait_at_rest(cloud, uuid, "ACTIVE")
    assert back["addresses"] == before["addresses"]
    assert back["image"] == before["image"]
    assert guest(cloud, back)["power_state"] == 1
    assert cloud.claims()[uuid]["host"] == host_of(back)
    wait_until(lambda: images(cloud) == [], "the image to go")
    assert history(cloud, uuid)[1] == [("compute.unshelve_offloaded", "Success")]
    names = [
        each["action"]
        for each in cloud.client.get(f"/servers/{uuid}/os-instance-actions")["instanceActions"]
    ]
    assert names == ["unshelve", "shelveOffload", "shelve", "create"]


def test_one_that_is_still_on_its_host_starts_there_again(patient):
    before, after = shelved(patient, status="SHELVED")
    uuid = before["id"]
    assert host_of(after) == host_of(before)
    assert (after["OS-EXT-STS:power_state"], guest(patient, before)["power_state"]) == (4, 4)
    refused = ask(patient, uuid, {"unshelve": {"availability_zone": "nova"}})
    assert (refused.status_code, "still has its host" in refused.text) == (409, True)
    act(patient, uuid, UNSHELVE)
    back = wait_at_rest(patient, uuid, "ACTIVE")
    assert (host_of(back), guest(patient, back)["written"]) == (host_of(before), "by the guest")
    wait_until(lambda: images(patient) == [], "the image to go")


def test_an_administrator_offloads_one_whose_host_is_down(patient):
    before, _after = shelved(patient, status="SHELVED")
    uuid, host = before["id"], host_of(before)
    with patient.without(host):
        patient.change_service(host, forced_down=True)
        act(patient, uuid, OFFLOAD)
        wait_at_rest(patient, uuid, "SHELVED_OFFLOADED")
        wait_until(lambda: host not in up(patient), "the schedulers to know")
        act(patient, uuid, UNSHELVE)
        back = wait_at_rest(patient, uuid, "ACTIVE")
        assert host_of(back) != host
        patient.change_service(host, forced_down=False)
    wait_until(lambda: not guest_file(patient, host, uuid).exists(), "its remains to go")
    assert guest(patient, back)["power_state"] == 1


def test_an_upload_that_fails_leaves_a_server_that_runs_and_says_why(cloud):
    before = boot(cloud, networks="auto")
    with cloud.faults({"step": "snapshot", "kind": "final", "message": "no room for images"}):
        act(cloud, before["id"], SHELVE)
        after = wait_at_rest(cloud, before["id"], "ACTIVE")
        wait_until(lambda: history(cloud, before["id"])[0]["message"], "the reason")
    assert (host_of(after), guest(cloud, after)["power_state"]) == (host_of(before), 1)
    assert "no room for images" in history(cloud, before["id"])[0]["message"]
    assert images(cloud) == []


def test_without_room_an_unshelve_is_refused_and_the_server_stays_offloaded(cloud):
    before, _after = shelved(cloud)
    for host in cloud.hosts():
        let_take_servers(cloud, host, may=False)
    refused = ask(cloud, before["id"], UNSHELVE)
    for host in cloud.hosts():
        let_take_servers(cloud, host, may=True)
    assert (refused.status_code, "No valid host" in refused.text) == (400, True)
    assert cloud.show(before["id"])["status"] == "SHELVED_OFFLOADED"


def test_a_host_that_fails_to_unshelve_leaves_it_offloaded_and_it_can_be_tried_again(cloud):
    before, _after = shelved(cloud)
    with cloud.faults({"step": "spawn", "kind": "final", "message": "it broke"}):
        act(cloud, before["id"], UNSHELVE)
        wait_until(lambda: history(cloud, before["id"])[0]["message"], "the reason")
        after = wait_at_rest(cloud, before["id"], "SHELVED_OFFLOADED")
    assert (host_of(after), images(cloud)) == (None, ["server-shelved"])
    assert cloud.audit() == {}
    act(cloud, before["id"], UNSHELVE)
    wait_at_rest(cloud, before["id"], "ACTIVE")
    wait_until(lambda: images(cloud) == [], "the image to go")


def test_without_its_image_it_can_only_be_deleted(cloud):
    before, _after = shelved(cloud)
    (image,) = [each for each in cloud.client.images() if each["name"] == "server-shelved"]
    requests.delete(
        f"{cloud.client.endpoint.removesuffix('/v2.1')}/image/v2/images/{image['id']}", timeout=30
    ).raise_for_status()
    refused = ask(cloud, before["id"], UNSHELVE)
    assert (
        refused.status_code,
        f"Image {image['id']} of the shelved server is gone" in refused.text,
    ) == (
        400,
        True,
    )


def test_it_is_unshelved_on_the_host_that_an_administrator_names(cloud):
    before, _after = shelved(cloud)
    (other,) = {*cloud.hosts()} - {host_of(before)}
    unknown = ask(cloud, before["id"], {"unshelve": {"host": "nowhere"}})
    assert (unknown.status_code, "nowhere could not be found" in unknown.text) == (400, True)
    assert ask(cloud, before["id"], {"unshelve": {"host": other}}).status_code == 202
    assert host_of(wait_at_rest(cloud, before["id"], "ACTIVE")) == other
    wait_until(lambda: images(cloud) == [], "the image to go")


@pytest.mark.parametrize("body", [{"reboot": {"type": "HARD"}}, {"os-stop": None}, SHELVE, OFFLOAD])
def test_what_needs_a_host_is_refused_with_the_state(cloud, body):
    before, _after = shelved(cloud)
    refused = ask(cloud, before["id"], body)
    assert (refused.status_code, "vm_state shelved_offloaded" in refused.text) == (409, True)
