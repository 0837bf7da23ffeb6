"""Servers stopped, started, rebooted, paused and suspended, told through HTTP.

Every story ends with all servers deleted and every audit at zero.
"""

import pytest
import requests

from tests.stories.boots import clean_slate
from tests.stories.cloud import wait_until

__all__ = [
    "clean_slate",
    "test_a_failed_stop_leaves_a_server_that_runs_and_says_why",
    "test_a_locked_server_is_as_its_owner_left_it",
    "test_a_paused_or_suspended_server_is_so_when_its_host_was_away_and_goes_on",
    "test_a_rebooted_server_is_active_again",
    "test_a_server_deleted_while_it_stops_leaves_nothing",
    "test_a_server_is_stopped_and_started_again",
    "test_a_server_whose_state_was_reset_is_what_its_guest_is",
    "test_a_stop_that_its_host_did_not_hear_of_is_done_when_the_host_is_back",
]
STOP, START = {"os-stop": None}, {"os-start": None}


def act(cloud, server_id, body):
    answer = requests.post(
        f"{cloud.client.endpoint}/servers/{server_id}/action", json=body, timeout=30
    )
    assert answer.status_code in (200, 202, 204), answer.text
    return answer


def wait_at_rest(cloud, server_id, status):
    """Return the server once it rests in a status."""

    def look():
        server = cloud.show(server_id)
        at_rest = server["status"] == status and server["OS-EXT-STS:task_state"] is None
        return server if at_rest else None

    return wait_until(look, f"{status} of {server_id}")


def boot(cloud, **values):
    """Return an active server."""
    (server,) = cloud.wait(cloud.boot(**values), "ACTIVE")
    return server


def history(cloud, server_id):
    """Return the newest action of a server, and the names and results of its steps, in order."""
    path = f"/servers/{server_id}/os-instance-actions"
    newest = cloud.client.get(path)["instanceActions"][0]
    action = cloud.client.get(f"{path}/{newest['request_id']}")["instanceAction"]
    return action, [(event["event"], event["result"]) for event in reversed(action["events"])]


def test_a_server_is_stopped_and_started_again(cloud):
    uuid = boot(cloud, networks="auto")["id"]
    act(cloud, uuid, STOP)
    stopped = wait_at_rest(cloud, uuid, "SHUTOFF")
    assert stopped["OS-EXT-STS:power_state"] == 4
    action, steps = history(cloud, uuid)
    assert (action["action"], action["message"]) == ("stop", None)
    assert steps == [("compute.power_off", "Success")]
    assert cloud.audit() == {}
    act(cloud, uuid, START)
    started = wait_at_rest(cloud, uuid, "ACTIVE")
    assert started["OS-EXT-STS:power_state"] == 1
    assert started["addresses"] == stopped["addresses"]


@pytest.mark.parametrize("kind", ["SOFT", "HARD"])
def test_a_rebooted_server_is_active_again(cloud, kind):
    uuid = boot(cloud)["id"]
    act(cloud, uuid, {"reboot": {"type": kind}})
    wait_at_rest(cloud, uuid, "ACTIVE")
    assert history(cloud, uuid)[1] == [("compute.reboot", "Success")]


def test_a_failed_stop_leaves_a_server_that_runs_and_says_why(cloud):
    uuid = boot(cloud)["id"]
    with cloud.faults({"step": "power", "kind": "crash", "message": "no switch"}):
        act(cloud, uuid, STOP)
        wait_at_rest(cloud, uuid, "ACTIVE")
    action, steps = history(cloud, uuid)
    assert action["message"] == "Something failed on the host of the server."
    assert steps == [("compute.power_off", "Error")]


def test_a_server_deleted_while_it_stops_leaves_nothing(cloud):
    uuid = boot(cloud, networks="auto")["id"]
    with cloud.faults({"step": "power", "delay": 0.5}):
        act(cloud, uuid, STOP)
        cloud.client.delete_server(uuid)
        cloud.wait_gone([uuid])


def test_a_stop_that_its_host_did_not_hear_of_is_done_when_the_host_is_back(cloud):
    server = boot(cloud)
    with cloud.without(server["OS-EXT-SRV-ATTR:host"]):
        act(cloud, server["id"], STOP)
        assert cloud.show(server["id"])["OS-EXT-STS:task_state"] == "powering-off"
    wait_at_rest(cloud, server["id"], "SHUTOFF")


@pytest.mark.parametrize(
    ("switch", "back", "status", "power_state"),
    [("pause", "unpause", "PAUSED", 3), ("suspend", "resume", "SUSPENDED", 7)],
)
def test_a_paused_or_suspended_server_is_so_when_its_host_was_away_and_goes_on(
    cloud, switch, back, status, power_state
):
    server = boot(cloud, networks="auto")
    uuid = server["id"]
    act(cloud, uuid, {switch: None})
    assert wait_at_rest(cloud, uuid, status)["OS-EXT-STS:power_state"] == power_state
    assert history(cloud, uuid)[1] == [(f"compute.{switch}", "Success")]
    with cloud.without(server["OS-EXT-SRV-ATTR:host"]):
        assert cloud.show(uuid)["status"] == status
    assert wait_at_rest(cloud, uuid, status)["OS-EXT-STS:power_state"] == power_state
    assert cloud.audit() == {}
    act(cloud, uuid, {back: None})
    assert wait_at_rest(cloud, uuid, "ACTIVE")["OS-EXT-STS:power_state"] == 1
    assert history(cloud, uuid)[1] == [(f"compute.{back}", "Success")]


def test_a_locked_server_is_as_its_owner_left_it(cloud):
    uuid = boot(cloud)["id"]
    with cloud.faults({"step": "power", "delay": 0.5}):
        act(cloud, uuid, {"pause": None})
        act(cloud, uuid, {"lock": None})
        wait_at_rest(cloud, uuid, "PAUSED")
    path = f"/servers/{uuid}/os-instance-actions"
    locked, paused, _created = cloud.client.get(path)["instanceActions"]
    assert (locked["action"], paused["action"]) == ("lock", "pause")
    told = cloud.client.get(f"{path}/{paused['request_id']}")["instanceAction"]
    assert [event["event"] for event in told["events"]] == ["compute.pause"]
    assert act(cloud, uuid, {"os-getConsoleOutput": {"length": 1}}).json()["output"]
    act(cloud, uuid, {"unlock": None})


def test_a_server_whose_state_was_reset_is_what_its_guest_is(cloud):
    uuid = boot(cloud)["id"]
    act(cloud, uuid, {"os-resetState": {"state": "error"}})
    assert "administrator" in wait_at_rest(cloud, uuid, "ERROR")["fault"]["message"]
    act(cloud, uuid, {"reboot": {"type": "HARD"}})
    wait_at_rest(cloud, uuid, "ACTIVE")
    act(cloud, uuid, {"forceDelete": None})
    cloud.wait_gone([uuid])
