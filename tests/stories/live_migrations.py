"""Servers that move to another host while they run, told through HTTP: watched, aborted, hurried.

Every story ends with all servers deleted and every audit at zero.
"""

import contextlib

import requests

from tests.stories.boots import clean_slate
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file
from tests.stories.moves import guest, host_of, migration, wrote
from tests.stories.power import act, boot, history, wait_at_rest

__all__ = [
    "clean_slate",
    "test_a_copy_can_be_watched_and_made_to_end_soon",
    "test_a_guest_runs_on_while_it_moves",
    "test_a_live_migration_that_fails_leaves_the_server_where_it_was",
    "test_an_aborted_live_migration_leaves_the_server_where_it_was",
]
LIVE = {"os-migrateLive": {"host": None, "block_migration": False, "disk_over_commit": False}}
MIB = 1024 * 1024


def ask(cloud, method, server_id, rest="", **more):
    url = f"{cloud.client.endpoint}/servers/{server_id}/migrations{rest}"
    headers = {"OpenStack-API-Version": "compute 2.65"}
    return requests.request(method, url, headers=headers, timeout=30, **more)


def under_way(cloud, server_id):
    """Return the live migration of a server while it is under way, or None."""
    found = ask(cloud, "GET", server_id).json()["migrations"]
    return found[0] if found else None


@contextlib.contextmanager
def slowly(cloud):
    """Begin to migrate a server whose memory is copied in sixteen seconds; yield both."""
    before = boot(cloud, networks="auto")
    with cloud.faults({"step": "migrate", "delay": 1.0}):
        act(cloud, before["id"], LIVE)

        def copies():
            found = under_way(cloud, before["id"])
            return found if found and found["memory_processed_bytes"] else None

        yield before, wait_until(copies, "that memory is copied")


def test_a_guest_runs_on_while_it_moves(cloud):
    before = boot(cloud, networks="auto")
    wrote(cloud, before)
    act(cloud, before["id"], LIVE)
    after = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert host_of(after) != host_of(before)
    assert (after["addresses"], after["OS-EXT-STS:power_state"]) == (before["addresses"], 1)
    assert guest(cloud, after)["written"] == "by the guest"
    assert not guest_file(cloud, host_of(before), before["id"]).exists()
    done = migration(cloud, before["id"])
    assert (done["migration_type"], done["status"]) == ("live-migration", "completed")
    assert cloud.claims()[before["id"]]["host"] == host_of(after)
    assert cloud.audit() == {}


def test_a_copy_can_be_watched_and_made_to_end_soon(cloud):
    with slowly(cloud) as (before, seen):
        assert (seen["status"], seen["source_compute"]) == ("running", host_of(before))
        total, left = seen["memory_total_bytes"], seen["memory_remaining_bytes"]
        assert (total % MIB, seen["memory_processed_bytes"] + left) == (0, total)
        one = f"/{seen['id']}"
        assert ask(cloud, "GET", before["id"], one).json()["migration"]["id"] == seen["id"]
        body = {"force_complete": None}
        assert ask(cloud, "POST", before["id"], f"{one}/action", json=body).status_code == 202
        after = wait_at_rest(cloud, before["id"], "ACTIVE")
        assert host_of(after) != host_of(before)
    assert under_way(cloud, before["id"]) is None
    assert cloud.audit() == {}


def test_an_aborted_live_migration_leaves_the_server_where_it_was(cloud):
    with slowly(cloud) as (before, seen):
        assert ask(cloud, "DELETE", before["id"], f"/{seen['id']}").status_code == 202
        after = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert (host_of(after), after["addresses"]) == (host_of(before), before["addresses"])
    assert migration(cloud, before["id"])["status"] == "cancelled"
    assert "was aborted" in history(cloud, before["id"])[0]["message"]
    assert ask(cloud, "DELETE", before["id"], f"/{seen['id']}").status_code == 404
    assert cloud.claims()[before["id"]]["host"] == host_of(before)
    assert cloud.audit() == {}


def test_a_live_migration_that_fails_leaves_the_server_where_it_was(cloud):
    before = boot(cloud, networks="auto")
    with cloud.faults({"step": "migrate", "kind": "final", "message": "it broke"}):
        act(cloud, before["id"], LIVE)
        wait_until(lambda: migration(cloud, before["id"])["status"] == "failed", "failure")
    after = wait_at_rest(cloud, before["id"], "ACTIVE")
    assert (host_of(after), guest(cloud, after)["power_state"]) == (host_of(before), 1)
    assert history(cloud, before["id"])[0]["message"].endswith("it broke")
    assert cloud.audit() == {}
