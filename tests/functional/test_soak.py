"""A cloud that does the same again and again keeps no more of it: neither rows nor files."""

import datetime
import time

import pytest
import requests

from roost.cmd import scheduler, super_conductor
from roost.db.scheduler import tombstones
from roost.rig.embedded import EmbeddedRig
from tests.bench import stored
from tests.stories.cloud import Cloud, wait_until

SOON = 1
LONG = 6  # seconds without a change: purges that are late on a busy machine come within them
VERSION = {"OpenStack-API-Version": "compute 2.96"}


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    """A cloud that forgets at once whatever it forgets some day."""
    monkeypatch.setattr(super_conductor, "PURGE", 0.2)
    monkeypatch.setattr(scheduler, "FORGET_INTERVAL", 0.2)
    monkeypatch.setattr(tombstones, "KEPT", datetime.timedelta(seconds=SOON))
    overrides = {"conductor": {"purge_after": SOON}, "console": {"token_ttl": SOON}}
    rig = EmbeddedRig(tmp_path, cells=2, hosts=2, overrides=overrides)
    rig.start()
    cloud = Cloud(rig)
    yield cloud
    cloud.close()
    rig.stop()


def ask(cloud, method, path, body=None):
    answer = requests.request(
        method, f"{cloud.client.endpoint}{path}", json=body, headers=VERSION, timeout=30
    )
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def live(cloud):
    """Let two servers have all that servers have, and end them with it."""
    policy = {"name": "apart", "policy": "soft-anti-affinity"}
    group = ask(cloud, "POST", "/os-server-groups", {"server_group": policy})["server_group"]["id"]
    aggregate = ask(cloud, "POST", "/os-aggregates", {"aggregate": {"name": "a"}})["aggregate"]
    servers = cloud.boot(count=2, metadata={"a": "b"}, user_data="aGVsbG8=", networks="auto")
    cloud.wait(servers, "ACTIVE")
    flavor = cloud.create_flavor(ram=2**30)
    cloud.wait(cloud.boot("nowhere", flavorRef=flavor), "ERROR")
    for server in servers:
        path = f"/servers/{server}"
        ask(cloud, "PUT", f"{path}/tags", {"tags": ["one", "two"]})
        console = {"remote_console": {"protocol": "vnc", "type": "novnc"}}
        ask(cloud, "POST", f"{path}/remote-consoles", console)
        for action in ({"lock": None}, {"unlock": None}, {"os-stop": None}):
            act(cloud, path, action)
        act(cloud, path, {"createImage": {"name": "mine"}})
        act(cloud, path, {"rebuild": {"imageRef": cloud.image}})
    cloud.delete_all()
    for image in cloud.client.images():
        if image["name"] == "mine":
            ask(cloud, "DELETE", f"/../image/v2/images/{image['id']}")
    ask(cloud, "DELETE", f"/flavors/{flavor}")
    ask(cloud, "DELETE", f"/os-server-groups/{group}")
    ask(cloud, "DELETE", f"/os-aggregates/{aggregate['id']}")


def act(cloud, path, action):
    def is_idle():
        return ask(cloud, "GET", path)["server"]["OS-EXT-STS:task_state"] is None

    ask(cloud, "POST", f"{path}/action", action)
    wait_until(is_idle, action)


def rest(cloud):
    """Return what is kept once nothing of it goes away any more."""
    kept, since = None, 0.0

    def settled():
        nonlocal kept, since
        seen = (stored.rows_by_table(cloud.plan), stored.files(cloud.plan))
        if seen != kept:
            kept, since = seen, time.monotonic()
        return time.monotonic() - since > LONG

    wait_until(settled, "an end of what is forgotten")
    return kept


def test_what_has_ended_leaves_neither_rows_nor_files(cloud):
    live(cloud)
    first = rest(cloud)
    for _ in range(3):
        live(cloud)
    rows, files = rest(cloud)
    assert (rows - first[0], files - first[1]) == ({}, 0)
