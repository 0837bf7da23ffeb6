"""How many images a project may have, and how many bytes of them."""

import dataclasses
import json
from concurrent import futures

import pytest

from roost import states
from roost.api.app import make_app
from roost.image.local import LocalImageStore
from roost.image.local_quota import ImageLimits
from tests.api_harness import ALICE, Client
from tests.builders import CELL1, an_image

ROOT = "/image/v2/images"
MOST, BYTES = 3, 100
BOB = "bob:other"


@pytest.fixture
def limits():
    return ImageLimits(images=MOST, size=BYTES)


@pytest.fixture
def store(tmp_path, limits):
    return LocalImageStore(tmp_path / "images", limits)


@pytest.fixture
def client(world, store):
    """A client of an API whose images are files."""
    return Client(make_app(dataclasses.replace(world.parts, images=store)))


@pytest.fixture
def make(client):
    def make(token=ALICE):
        body = {"name": "mine", "container_format": "bare", "disk_format": "raw"}
        return client.post(ROOT, body, token=token)

    return make


@pytest.fixture
def send(client, make):
    """Send data to an image, or to a new one."""

    def send(data, image_id=None, *, token=ALICE):
        image_id = image_id or make(token).json["id"]
        more = {"body": data, "headers": {"Content-Type": "application/octet-stream"}}
        return client.ask("PUT", f"{ROOT}/{image_id}/file", token=token, **more)

    return send


def said(answer):
    assert answer.status_code == 413
    return answer.json["overLimit"]["message"]


def left(store):
    """Return the bytes of data in the folder, whole and half."""
    return sum(path.stat().st_size for path in store.path.iterdir() if ".img" in path.name)


def test_over_the_limit_is_refused_and_after_a_delete_made_again(client, make):
    made = [make().json["id"] for _ in range(MOST)]
    refused = said(make())
    assert "images: asked for 1, used 3 of 3. Delete images that are not needed" in refused
    assert make(BOB).status_code == 201
    assert client.delete(f"{ROOT}/{made[0]}", token=ALICE).status_code == 204
    assert make().status_code == 201
    assert make().status_code == 413


def test_data_over_the_limit_is_refused_while_it_comes_and_nothing_stays(client, store, make, send):
    first = make().json["id"]
    assert send(b"x" * 60, first).status_code == 204
    second = make().json["id"]
    assert "image_bytes: asked for 41, used 60 of 100" in said(send(b"x" * 41, second))
    assert left(store) == 60
    shown = client.get(f"{ROOT}/{second}", token=ALICE).json
    assert (shown["status"], shown["size"]) == ("queued", None)
    assert send(b"x" * 100, token=BOB).status_code == 204
    assert client.delete(f"{ROOT}/{first}", token=ALICE).status_code == 204
    assert send(b"x" * 41, second).status_code == 204


@pytest.mark.parametrize("limits", [ImageLimits()])
def test_without_limits_any_number_is_made(send):
    assert {send(b"x" * BYTES).status_code for _ in range(MOST + 2)} == {204}


def test_of_many_at_once_as_many_succeed_as_may(make, send, store):
    with futures.ThreadPoolExecutor(8) as pool:
        made = [*pool.map(lambda _: make(), range(2 * MOST))]
        assert sorted(one.status_code for one in made) == [201] * MOST + [413] * MOST
        ids = [one.json["id"] for one in made if one.status_code == 201]
        sent = [*pool.map(lambda image_id: send(b"x" * 40, image_id).status_code, ids)]
    assert sorted(sent) == [204, 204, 413]
    assert left(store) == 80


def test_administrators_give_a_project_no_more_than_it_may_have(client, make):
    for _ in range(MOST):
        make()
    theirs = make(BOB).json["id"]
    patch = [{"op": "replace", "path": "/owner", "value": "project"}]
    kind = "application/openstack-images-v2.0-json-patch"
    more = {"body": json.dumps(patch), "headers": {"Content-Type": kind}}
    assert "used 3 of 3" in said(client.ask("PATCH", f"{ROOT}/{theirs}", **more))
    assert client.get(f"{ROOT}/{theirs}").json["owner"] == "other"


@pytest.fixture
def server(world):
    running = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}
    return world.place(CELL1, **running, image=an_image()).uuid


@pytest.mark.parametrize(
    ("word", "asked"),
    [
        ("createImage", {"name": "copy"}),
        ("createBackup", {"name": "copy", "backup_type": "daily", "rotation": 1}),
    ],
)
class TestImagesOfServers:
    """Images that are made of servers."""

    def test_over_the_limit_they_are_refused_at_once(
        self, world, client, make, server, word, asked
    ):
        def act():
            return client.post(f"/v2.1/servers/{server}/action", {word: asked}, token=ALICE)

        made = [make().json["id"] for _ in range(MOST)]
        refused = act()
        assert refused.status_code == 403
        assert "images: asked for 1, used 3 of 3" in refused.json["forbidden"]["message"]
        assert world.instance(server, CELL1).task_state is None
        assert world.buses["fake://cell1/"].sent == []
        assert client.delete(f"{ROOT}/{made[0]}", token=ALICE).status_code == 204
        assert act().status_code == 202
        assert make().status_code == 413  # it counts before it has any data

    def test_they_are_refused_when_no_byte_is_left(self, world, client, send, server, word, asked):
        assert send(b"x" * BYTES).status_code == 204
        path = f"/v2.1/servers/{server}/action"
        refused = client.post(path, {word: asked}, token=ALICE)
        assert refused.status_code == 403
        assert "image_bytes: asked for 1, used 100 of 100" in refused.json["forbidden"]["message"]
        assert world.instance(server, CELL1).task_state is None
