"""Hosts that are killed in the middle of a stop; for daemons that can be killed for real."""

import requests

from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file
from tests.stories.power import STOP, act, boot, history, wait_at_rest

__all__ = [
    "test_a_stop_on_a_host_that_stays_dead_ends_and_nothing_of_it_is_left",
    "test_a_stop_that_a_kill_cut_short_is_done_when_the_host_is_back",
    "test_an_image_that_its_host_dies_over_ends_without_it_and_stays_for_its_user",
]


def stop_half_way(cloud, server):
    """Stop a server, and return once its host is about to switch the guest off."""
    uuid, host = server["id"], server["OS-EXT-SRV-ATTR:host"]
    act(cloud, uuid, STOP)
    log = cloud.plan.state / "log" / f"{host}.log"
    wait_until(lambda: f"[instance: {uuid}] stop begins on {host}" in log.read_text(), "the stop")


def test_a_stop_that_a_kill_cut_short_is_done_when_the_host_is_back(cloud):
    server = boot(cloud)
    host = server["OS-EXT-SRV-ATTR:host"]
    with cloud.faults({"step": "power", "host": host, "delay": 600}):
        stop_half_way(cloud, server)
        cloud.rig.kill(host)
        wait_until(lambda: not cloud.rig.pids()[host], f"end of {host}")
    cloud.rig.start_daemon(host)
    wait_at_rest(cloud, server["id"], "SHUTOFF")
    assert history(cloud, server["id"])[1][-1] == ("compute.power_off", "Success")


def test_a_stop_on_a_host_that_stays_dead_ends_and_nothing_of_it_is_left(cloud):
    server = boot(cloud)
    uuid, host = server["id"], server["OS-EXT-SRV-ATTR:host"]
    with cloud.faults({"step": "power", "host": host, "delay": 600}):
        stop_half_way(cloud, server)
        with cloud.without(host):
            cloud.change_service(host, forced_down=True)
            wait_at_rest(cloud, uuid, "ACTIVE")
            assert "went down" in history(cloud, uuid)[0]["message"]
            cloud.client.delete_server(uuid)
            cloud.wait_gone([uuid])
            assert guest_file(cloud, host, uuid).exists()
        wait_until(lambda: not guest_file(cloud, host, uuid).exists(), "its leftover to go")
    cloud.change_service(host, forced_down=False)


def test_an_image_that_its_host_dies_over_ends_without_it_and_stays_for_its_user(cloud):
    server = boot(cloud)
    uuid, host = server["id"], server["OS-EXT-SRV-ATTR:host"]
    with cloud.faults({"step": "snapshot", "host": host, "delay": 600}):
        where = act(cloud, uuid, {"createImage": {"name": "mine"}}).headers["Location"]
        wait_until(lambda: task_of(cloud, uuid) == "image_snapshot", "the host at work")
        with cloud.without(host):
            assert requests.get(where, timeout=30).json()["status"] == "queued"
            cloud.change_service(host, forced_down=True)
            wait_at_rest(cloud, uuid, "ACTIVE")
            assert requests.get(where, timeout=30).json()["status"] == "queued"
    cloud.change_service(host, forced_down=False)


def task_of(cloud, uuid):
    return cloud.show(uuid)["OS-EXT-STS:task_state"]
