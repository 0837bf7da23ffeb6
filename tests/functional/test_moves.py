"""The stories of servers that move, on the embedded rig."""

import threading

import pytest

from roost.compute.operations import move
from roost.compute.virt.fake.cold_moves import FakeColdMoves
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until
from tests.stories.live_migrations import *  # noqa: F403
from tests.stories.moves import *  # noqa: F403
from tests.stories.moves import MIGRATE
from tests.stories.power import act, boot, wait_at_rest

SOON = {"conductor": {"sweep_interval": 0.5, "task_lease_seconds": 3.0}}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), hosts=3, overrides=SOON) as cloud:
        yield cloud


def test_while_its_disks_are_copied_a_server_shows_how_much_has_arrived(cloud, monkeypatch):
    seen = threading.Event()

    def copy(_self, _total, copied):
        copied(3 * 2**40, 2**40)
        seen.wait(30)

    monkeypatch.setattr(move, "_PAUSE", 0.0)
    monkeypatch.setattr(FakeColdMoves, "_copy", copy)
    uuid = boot(cloud)["id"]
    act(cloud, uuid, MIGRATE)
    wait_until(lambda: cloud.show(uuid).get("progress") == 33, "progress")
    seen.set()
    wait_at_rest(cloud, uuid, "VERIFY_RESIZE")
