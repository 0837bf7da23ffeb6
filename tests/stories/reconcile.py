"""Guests that change while their host is dead, and what the host makes of it when it is back."""

import json

from roost import states
from tests.builders import a_uuid
from tests.stories.boots import clean_slate
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file
from tests.stories.power import START, act, boot, history, wait_at_rest

__all__ = [
    "clean_slate",
    "test_a_deleted_servers_guest_that_came_back_is_destroyed_and_a_strangers_is_left",
    "test_a_server_is_what_its_guest_was_found_to_be",
]


def test_a_deleted_servers_guest_that_came_back_is_destroyed_and_a_strangers_is_left(cloud):
    server, stays = boot(cloud), boot(cloud)
    host = server["OS-EXT-SRV-ATTR:host"]
    gone = guest_file(cloud, host, server["id"])
    stranger = guest_file(cloud, host, a_uuid())
    content = gone.read_text()
    cloud.client.delete_server(server["id"])
    cloud.wait_gone([server["id"]])
    with cloud.without(host):
        gone.write_text(content)
        stranger.write_text(content)
    wait_until(lambda: not gone.exists(), "the leftover to go")
    assert stranger.exists()
    assert cloud.show(stays["id"])["status"] == "ACTIVE"
    stranger.unlink()


def test_a_server_is_what_its_guest_was_found_to_be(cloud):
    stopped = boot(cloud)
    host = stopped["OS-EXT-SRV-ATTR:host"]
    lost = boot(cloud, availability_zone=f"nova:{host}")
    with cloud.without(host):
        guest_file(cloud, host, lost["id"]).unlink()
        switched_off = guest_file(cloud, host, stopped["id"])
        content = json.loads(switched_off.read_text()) | {"power_state": states.SHUTDOWN}
        switched_off.write_text(json.dumps(content))
    assert "is gone" in wait_at_rest(cloud, lost["id"], "ERROR")["fault"]["message"]
    assert wait_at_rest(cloud, stopped["id"], "SHUTOFF")["OS-EXT-STS:power_state"] == 4
    assert history(cloud, stopped["id"])[0]["action"] == "stop"
    act(cloud, stopped["id"], START)
    wait_at_rest(cloud, stopped["id"], "ACTIVE")
