"""Servers that move to another host, with confirmation and without, told through HTTP.

Every story ends with all servers deleted and every audit at zero.
"""

import json

import pytest
import requests

from tests.stories.boots import clean_slate
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file
from tests.stories.power import STOP, act, boot, history, wait_at_rest

__all__ = [
    "clean_slate",
    "test_a_destination_that_refuses_is_replaced_by_another",
    "test_a_move_that_fails_leaves_the_server_where_it_was_and_running",
    "test_a_server_deleted_at_any_moment_of_a_move_leaves_nothing",
    "test_a_server_moves_to_another_host_and_stays_there_once_confirmed",
    "test_a_server_that_was_stopped_moves_stopped",
    "test_a_server_with_nowhere_to_go_is_refused_and_stays",
    "test_reverted_it_is_where_and_what_it_was",
    "test_when_every_destination_refuses_the_server_stays_and_its_history_says_why",
]
MIGRATE, CONFIRM, REVERT = {"migrate": None}, {"confirmResize": None}, {"revertResize": None}


def host_of(server):
    return server["OS-EXT-SRV-ATTR:host"]


def wrote(cloud, server):
    """Have a guest write something to its disk."""
    file = guest_file(cloud, host_of(server), server["id"])
    file.write_text(json.dumps(json.loads(file.read_text()) | {"written": "by the guest"}))


def guest(cloud, server):
    return json.loads(guest_file(cloud, host_of(server), server["id"]).read_text())


def migration(cloud, server_id):
    """Return the newest migration of a server."""
    answer = requests.get(
        f"{cloud.client.endpoint}/os-migrations",
        params={"instance_uuid": server_id},
        headers={"OpenStack-API-Version": "compute 2.80"},
        timeout=30,
    )
    return answer.json()["migrations"][0]


def moved(cloud, **values):
    """Return a server before and after its move."""
    before = boot(cloud, networks="auto", **values)
    wrote(cloud, before)
    act(cloud, before["id"], MIGRATE)
    return before, wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")


def test_a_server_moves_to_another_host_and_stays_there_once_confirmed(cloud):
    before, after = moved(cloud)
    uuid = before["id"]
    assert host_of(after) != host_of(before)
    assert (after["addresses"], after["OS-EXT-STS:power_state"]) == (before["addresses"], 1)
    assert guest(cloud, after)["written"] == "by the guest"
    assert guest(cloud, before)["power_state"] == 4
    assert migration(cloud, uuid)["status"] == "finished"
    assert cloud.audit() == {}
    act(cloud, uuid, CONFIRM)
    confirmed = wait_at_rest(cloud, uuid, "ACTIVE")
    assert host_of(confirmed) == host_of(after)
    assert not guest_file(cloud, host_of(before), uuid).exists()
    shown = migration(cloud, uuid)
    assert (shown["status"], shown["migration_type"]) == ("confirmed", "migration")
    assert (shown["source_compute"], shown["dest_compute"]) == (host_of(before), host_of(after))
    assert history(cloud, uuid)[1] == [("compute.leave", "Success")]
    assert cloud.claims()[uuid]["host"] == host_of(after)


def test_reverted_it_is_where_and_what_it_was(cloud):
    before, after = moved(cloud)
    act(cloud, before["id"], REVERT)
    back = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert (host_of(back), back["addresses"]) == (host_of(before), before["addresses"])
    assert (guest(cloud, back)["power_state"], guest(cloud, back)["written"]) == (1, "by the guest")
    assert not guest_file(cloud, host_of(after), before["id"]).exists()
    assert migration(cloud, before["id"])["status"] == "reverted"
    assert cloud.claims()[before["id"]]["host"] == host_of(before)


def test_a_server_that_was_stopped_moves_stopped(cloud):
    before = boot(cloud)
    act(cloud, before["id"], STOP)
    wait_at_rest(cloud, before["id"], "SHUTOFF")
    act(cloud, before["id"], MIGRATE)
    after = wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")
    assert guest(cloud, after)["power_state"] == 4
    act(cloud, before["id"], CONFIRM)
    wait_at_rest(cloud, before["id"], "SHUTOFF")


@pytest.mark.parametrize("step", ["prepare", "migrate", "arrive"])
def test_a_move_that_fails_leaves_the_server_where_it_was_and_running(cloud, step):
    before = boot(cloud, networks="auto")
    with cloud.faults({"step": step, "kind": "final", "message": "it broke"}):
        act(cloud, before["id"], MIGRATE)
        wait_until(lambda: migration(cloud, before["id"])["status"] == "error", "failure")
    after = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert (host_of(after), after["addresses"]) == (host_of(before), before["addresses"])
    assert guest(cloud, after)["power_state"] == 1
    action, _steps = history(cloud, before["id"])
    assert action["action"] == "migrate"
    assert action["message"].endswith("it broke")
    assert cloud.audit() == {}


def test_a_destination_that_refuses_is_replaced_by_another(cloud):
    before = boot(cloud, networks="auto")
    cell = host_of(before).split("-")[0]
    others = [h for h in cloud.hosts() if h.startswith(f"{cell}-") and h != host_of(before)]
    refuses, takes = sorted(others)[:2]
    rule = {"step": "prepare", "host": refuses, "kind": "final", "delay": 1.0}
    with cloud.faults(rule):
        cloud.change_service(takes, status="disabled")
        act(cloud, before["id"], MIGRATE)
        cloud.change_service(takes, status="enabled")
        after = wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")
    assert host_of(after) == takes
    assert migration(cloud, before["id"])["dest_compute"] == takes
    action, steps = history(cloud, before["id"])
    assert (action["message"], steps[0]) == (None, ("compute.prepare", "Error"))
    assert cloud.audit() == {}
    act(cloud, before["id"], REVERT)
    assert host_of(wait_at_rest(cloud, before["id"], "ACTIVE")) == host_of(before)


def test_when_every_destination_refuses_the_server_stays_and_its_history_says_why(cloud):
    before = boot(cloud)
    with cloud.faults({"step": "prepare", "kind": "final", "message": "no luck"}):
        act(cloud, before["id"], MIGRATE)
        wait_until(lambda: migration(cloud, before["id"])["status"] == "error", "failure")
    assert host_of(wait_at_rest(cloud, before["id"], "ACTIVE")) == host_of(before)
    action, steps = history(cloud, before["id"])
    assert action["message"].endswith("no luck")
    assert [result for name, result in steps if name == "compute.prepare"] == ["Error", "Error"]


def test_a_server_with_nowhere_to_go_is_refused_and_stays(cloud):
    server = boot(cloud)
    url = f"{cloud.client.endpoint}/servers/{server['id']}/action"
    newest = {"OpenStack-API-Version": "compute 2.56"}
    for host, why in (
        ("nowhere", "Compute host nowhere could not be found."),
        (host_of(server), "Cannot migrate to the host where the server exists."),
    ):
        body = {"migrate": {"host": host}}
        refused = requests.post(url, json=body, headers=newest, timeout=30)
        assert (refused.status_code, refused.json()["badRequest"]["message"]) == (400, why)
    early = requests.post(url, json=CONFIRM, timeout=30)
    assert early.status_code == 409
    assert cloud.show(server["id"])["status"] == "ACTIVE"
    assert cloud.claims()[server["id"]]["host"] == host_of(server)


@pytest.mark.parametrize("moment", ["prepare", "migrate", "arrive", "confirmed", "reverted", None])
def test_a_server_deleted_at_any_moment_of_a_move_leaves_nothing(cloud, moment):
    server = boot(cloud, networks="auto")
    uuid = server["id"]
    rule = {"step": moment, "delay": 1.0}
    with cloud.faults(*([rule] if moment in ("prepare", "migrate", "arrive") else [])):
        act(cloud, uuid, MIGRATE)
        if moment in ("prepare", "migrate", "arrive"):
            wait_until(lambda: cloud.show(uuid)["OS-EXT-STS:task_state"], "the move")
        else:
            wait_at_rest(cloud, uuid, "VERIFY_RESIZE")
        if moment == "confirmed":
            act(cloud, uuid, CONFIRM)
        if moment == "reverted":
            act(cloud, uuid, REVERT)
        cloud.client.delete_server(uuid)
        cloud.wait_gone([uuid])
    assert cloud.audit() == {}
    for host in cloud.hosts():
        assert not guest_file(cloud, host, uuid).exists()
