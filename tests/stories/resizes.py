"""Servers that get another flavor, on another host or on their own, told through HTTP.

Every story ends with all servers deleted and every audit at zero.
"""

import pytest
import requests

from tests.stories.boots import clean_slate
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file
from tests.stories.moves import CONFIRM, REVERT, guest, host_of, migration, wrote
from tests.stories.power import STOP, act, boot, history, wait_at_rest

__all__ = [
    "clean_slate",
    "flavor",
    "test_a_rebuilt_server_has_the_disks_of_the_flavor_that_it_was_resized_to",
    "test_a_resize_that_fails_gives_back_its_quota",
    "test_a_server_deleted_while_it_is_resized_leaves_no_quota",
    "test_a_server_gets_a_larger_flavor_and_keeps_it_once_confirmed",
    "test_a_server_that_was_stopped_is_resized_stopped",
    "test_a_server_that_was_to_shrink_has_its_whole_claim_once_reverted",
    "test_reverted_it_has_its_flavor_and_its_quota_again",
    "test_the_quota_of_a_smaller_flavor_counts_once_it_is_confirmed",
]


def usage(cloud):
    """Return the (cores, MiB) that the project is charged for."""
    limits = cloud.client.get("/limits")["limits"]["absolute"]
    return limits["totalCoresUsed"], limits["totalRAMUsed"]


def wait_for_usage(cloud, expected):
    wait_until(lambda: usage(cloud) == expected, f"a usage of {expected}")


@pytest.fixture
def flavor(cloud):
    """A flavor of 3 CPUs and 1024 MiB."""
    flavor_id = cloud.create_flavor(name="larger", ram=1024, vcpus=3, disk=5)
    yield flavor_id
    requests.delete(f"{cloud.client.endpoint}/flavors/{flavor_id}", timeout=30)


def resized(cloud, flavor, **values):
    """Return a server before and after its resize."""
    before = boot(cloud, networks="auto", **values)
    wrote(cloud, before)
    act(cloud, before["id"], {"resize": {"flavorRef": flavor}})
    return before, wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")


def test_a_server_gets_a_larger_flavor_and_keeps_it_once_confirmed(cloud, flavor):
    before, after = resized(cloud, flavor)
    uuid = before["id"]
    assert (after["flavor"]["original_name"], after["flavor"]["vcpus"]) == ("larger", 3)
    assert (after["addresses"], after["OS-EXT-STS:power_state"]) == (before["addresses"], 1)
    shape = guest(cloud, after)
    assert (shape["vcpus"], shape["memory_mb"], shape["written"]) == (3, 1024, "by the guest")
    assert shape["disks"] == [["image", 5 * 1024]]
    assert usage(cloud) == (3, 1024)
    assert cloud.audit() == {}
    act(cloud, uuid, CONFIRM)
    confirmed = wait_at_rest(cloud, uuid, "ACTIVE")
    assert confirmed["flavor"]["original_name"] == "larger"
    shown = migration(cloud, uuid)
    assert (shown["status"], shown["migration_type"]) == ("confirmed", "resize")
    assert usage(cloud) == (3, 1024)
    assert cloud.claims()[uuid]["allocations"][""]["VCPU"] == 3


def test_reverted_it_has_its_flavor_and_its_quota_again(cloud, flavor):
    before, after = resized(cloud, flavor)
    act(cloud, before["id"], REVERT)
    back = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert (host_of(back), back["addresses"]) == (host_of(before), before["addresses"])
    assert back["flavor"] == before["flavor"]
    shape = guest(cloud, back)
    assert (shape["vcpus"], shape["power_state"], shape["written"]) == (1, 1, "by the guest")
    wait_for_usage(cloud, (1, 512))
    if host_of(after) != host_of(before):
        assert not guest_file(cloud, host_of(after), before["id"]).exists()


def test_a_server_that_was_stopped_is_resized_stopped(cloud, flavor):
    before = boot(cloud)
    act(cloud, before["id"], STOP)
    wait_at_rest(cloud, before["id"], "SHUTOFF")
    act(cloud, before["id"], {"resize": {"flavorRef": flavor}})
    after = wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")
    assert guest(cloud, after)["power_state"] == 4
    act(cloud, before["id"], CONFIRM)
    wait_at_rest(cloud, before["id"], "SHUTOFF")


def test_a_resize_that_fails_gives_back_its_quota(cloud, flavor):
    before = boot(cloud, networks="auto")
    with cloud.faults({"step": "arrive", "kind": "final", "message": "it broke"}):
        act(cloud, before["id"], {"resize": {"flavorRef": flavor}})
        wait_until(lambda: migration(cloud, before["id"])["status"] == "error", "failure")
    after = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert (host_of(after), after["flavor"]) == (host_of(before), before["flavor"])
    assert guest(cloud, after)["vcpus"] == 1
    assert history(cloud, before["id"])[0]["message"].endswith("it broke")
    wait_for_usage(cloud, (1, 512))
    assert cloud.claims()[before["id"]]["allocations"][""]["VCPU"] == 1


def test_the_quota_of_a_smaller_flavor_counts_once_it_is_confirmed(cloud, flavor):
    server = boot(cloud, flavorRef=flavor)
    smaller = cloud.create_flavor(name="smaller", ram=2048, vcpus=1, disk=5)
    act(cloud, server["id"], {"resize": {"flavorRef": smaller}})
    wait_at_rest(cloud, server["id"], "VERIFY_RESIZE")
    assert usage(cloud) == (3, 2048)
    act(cloud, server["id"], CONFIRM)
    confirmed = wait_at_rest(cloud, server["id"], "ACTIVE")
    wait_for_usage(cloud, (1, 2048))
    assert guest(cloud, confirmed)["vcpus"] == 1
    requests.delete(f"{cloud.client.endpoint}/flavors/{smaller}", timeout=30)


def test_a_server_that_was_to_shrink_has_its_whole_claim_once_reverted(cloud, flavor):
    server = boot(cloud, flavorRef=flavor)
    smaller = cloud.create_flavor(name="smaller", ram=512, vcpus=1, disk=5)
    act(cloud, server["id"], {"resize": {"flavorRef": smaller}})
    wait_at_rest(cloud, server["id"], "VERIFY_RESIZE")
    act(cloud, server["id"], REVERT)
    wait_at_rest(cloud, server["id"], "ACTIVE")
    assert cloud.claims()[server["id"]]["allocations"][""]["VCPU"] == 3
    wait_for_usage(cloud, (3, 1024))
    requests.delete(f"{cloud.client.endpoint}/flavors/{smaller}", timeout=30)


def test_a_rebuilt_server_has_the_disks_of_the_flavor_that_it_was_resized_to(cloud, flavor):
    _before, after = resized(cloud, flavor)
    act(cloud, after["id"], CONFIRM)
    wait_at_rest(cloud, after["id"], "ACTIVE")
    act(cloud, after["id"], {"rebuild": {"imageRef": cloud.image}})
    rebuilt = wait_at_rest(cloud, after["id"], "ACTIVE")
    assert guest(cloud, rebuilt)["disks"] == [["image", 5 * 1024]]


@pytest.mark.parametrize("moment", ["migrate", "arrive", None])
def test_a_server_deleted_while_it_is_resized_leaves_no_quota(cloud, flavor, moment):
    server = boot(cloud, networks="auto")
    uuid, resize = server["id"], {"resize": {"flavorRef": flavor}}
    with cloud.faults(*([{"step": moment, "delay": 1.0}] if moment else [])):
        act(cloud, uuid, resize)
        if moment is None:
            wait_at_rest(cloud, uuid, "VERIFY_RESIZE")
        cloud.client.delete_server(uuid)
        cloud.wait_gone([uuid])
    assert usage(cloud) == (0, 0)
    assert cloud.audit() == {}
    for host in cloud.hosts():
        assert not list(guest_file(cloud, host, uuid).parent.glob(f"{uuid}.*"))
