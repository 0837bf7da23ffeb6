"""The part of Image that writes: described, filled, changed, read and deleted."""

import dataclasses
import hashlib
import io
import json

import pytest

from roost.api.app import make_app
from roost.api.dependencies import ApiOptions
from tests import api_harness
from tests.api_harness import ALICE, Client

IMAGES = "/image/v2/images"
BOB = "bob:other"
PATCH = "application/openstack-images-v2.1-json-patch"
DATA = b"a small image"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    with api_harness.made_in(folder, ApiOptions(max_image_size=1000)) as world:
        yield world


@pytest.fixture
def create(client):
    def create(token=ALICE, **values):
        answer = client.post(IMAGES, {"name": "mine", **values}, token=token)
        assert answer.status_code == 201, answer.text
        return answer.json

    return create


@pytest.fixture
def upload(client):
    def upload(image, data=DATA, *, token=ALICE, kind="application/octet-stream", **headers):
        path = f"{IMAGES}/{image['id']}/file"
        return client.ask(
            "PUT", path, body=data, token=token, headers={"Content-Type": kind} | headers
        )

    return upload


@pytest.fixture
def patch(client):
    def patch(image, *operations, token=ALICE, kind=PATCH):
        return client.ask(
            "PATCH",
            f"{IMAGES}/{image['id']}",
            body=json.dumps(operations),
            token=token,
            headers={"Content-Type": kind},
        )

    return patch


def boot(client, image):
    body = {"name": "web", "flavorRef": "1", "imageRef": image["id"]}
    return client.post("/v2.1/servers", {"server": body}, token=ALICE)


def test_an_image_is_described_then_filled_then_booted_from(client, create, upload):
    image = create(disk_format="qcow2", os_distro="debian", min_ram=64)
    assert (image["status"], image["size"], image["os_hash_value"]) == ("queued", None, None)
    assert (image["owner"], image["visibility"]) == ("project", "shared")
    assert "not active" in boot(client, image).json["badRequest"]["message"]
    assert upload(image).status_code == 204
    shown = client.get(f"{IMAGES}/{image['id']}", token=ALICE).json
    assert (shown["status"], shown["size"]) == ("active", len(DATA))
    assert shown["os_hash_value"] == hashlib.sha256(DATA).hexdigest()
    assert (shown["disk_format"], shown["os_distro"], shown["min_ram"]) == ("qcow2", "debian", 64)
    assert boot(client, image).status_code == 202


def test_images_are_found_by_their_properties(client, create):
    made = create(kind="daily", whose="x")["id"]
    create(kind="weekly")

    def found(query):
        answer = client.get(f"{IMAGES}?{query}", token=ALICE).json["images"]
        return [image["id"] for image in answer]

    assert found("kind=daily&whose=x&sort_key=created_at&os_hidden=false") == [made]
    assert found("kind=daily&whose=y") == []


def test_the_data_can_be_read_once_it_is_there(client, create, upload):
    image = create()
    path = f"{IMAGES}/{image['id']}/file"
    assert client.get(path, token=ALICE).status_code == 204
    upload(image)
    answer = client.get(path, token=ALICE)
    assert (answer.content, answer.headers["Content-Type"]) == (DATA, "application/octet-stream")
    assert answer.headers["Content-Length"] == str(len(DATA))
    head = client.ask("HEAD", path, token=ALICE)
    assert (head.content, head.headers["Content-Length"]) == (b"", str(len(DATA)))


def test_data_is_given_once(create, upload):
    image = create()
    upload(image)
    assert upload(image).json["conflictingRequest"]["code"] == 409


def test_more_data_than_may_be_is_refused_whatever_it_says_of_itself(client, create, upload):
    image = create()
    assert upload(image, b"x" * 1001).json["overLimit"]["code"] == 413
    path, stream = f"{IMAGES}/{image['id']}/file", io.BytesIO(b"x" * 1001)
    chunked = client.ask(
        "PUT",
        path,
        token=ALICE,
        headers={"Content-Type": "application/octet-stream", "Transfer-Encoding": "chunked"},
        extras={"wsgi.input": stream, "wsgi.input_terminated": True, "CONTENT_LENGTH": ""},
    )
    assert chunked.json["overLimit"]["code"] == 413
    assert client.get(f"{IMAGES}/{image['id']}", token=ALICE).json["status"] == "queued"


def test_data_that_breaks_off_leaves_the_image_waiting(client, create, upload):
    image = create()
    assert upload(image, DATA, **{"Content-Length": "100"}).json["badRequest"]["code"] == 400
    assert client.get(f"{IMAGES}/{image['id']}", token=ALICE).json["status"] == "queued"


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"disk_format": "floppy"}, 400),
        ({"min_ram": -1}, 400),
        ({"size": 3}, 400),
        ({"protected": "perhaps"}, 400),
        ({"os_hidden": True}, 400),
        ({"tags": [""]}, 400),
        ({"tags": [f"t{number}" for number in range(129)]}, 400),
        ({"os_distro": 3}, 400),
        ({f"p{number}": "" for number in range(129)}, 400),
        ({"visibility": "public"}, 403),
        ({"owner": "other"}, 403),
    ],
)
def test_what_an_image_cannot_be_is_refused(client, values, status):
    assert client.post(IMAGES, {"name": "a", **values}, token=ALICE).status_code == status


def test_an_id_may_be_chosen_once(client, create):
    identity = "11111111-1111-4111-8111-111111111111"
    assert create(id=identity)["id"] == identity
    again = client.post(IMAGES, {"name": "a", "id": identity}, token=BOB)
    assert again.json["conflictingRequest"]["code"] == 409


def test_properties_come_change_and_go(create, patch):
    image = create(os_distro="debian", hw_kind="old")
    answer = patch(
        image,
        {"op": "replace", "path": "/name", "value": "renamed"},
        {"op": "add", "path": "/a~1b", "value": "c"},
        {"op": "replace", "path": "/hw_kind", "value": "new"},
        {"op": "remove", "path": "/os_distro"},
    )
    shown = answer.json
    assert (shown["name"], shown["a/b"], shown["hw_kind"]) == ("renamed", "c", "new")
    assert "os_distro" not in shown


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"op": "replace", "path": "/status", "value": "active"}, 403),
        ({"op": "replace", "path": "/id", "value": "a"}, 403),
        ({"op": "remove", "path": "/name"}, 403),
        ({"op": "replace", "path": "/visibility", "value": "public"}, 403),
        ({"op": "replace", "path": "/owner", "value": "other"}, 403),
        ({"op": "replace", "path": "/disk_format", "value": "iso"}, 403),
        ({"op": "remove", "path": "/moon"}, 409),
        ({"op": "replace", "path": "/moon", "value": "full"}, 409),
        ({"op": "add", "path": "/moon", "value": 3}, 400),
        ({"op": "add", "path": "/moon"}, 400),
        ({"op": "replace", "path": "/min_disk", "value": "x"}, 400),
        ({"op": "eclipse", "path": "/moon"}, 400),
    ],
)
def test_what_may_not_be_changed_stays(client, create, upload, patch, operation, status):
    image = create()
    upload(image)
    before = client.get(f"{IMAGES}/{image['id']}", token=ALICE).json
    assert patch(image, operation).status_code == status
    assert client.get(f"{IMAGES}/{image['id']}", token=ALICE).json == before


def test_administrators_make_an_image_public(client, create, patch):
    image = create()
    change = {"op": "replace", "path": "/visibility", "value": "public"}
    assert client.get(f"{IMAGES}/{image['id']}", token=BOB).status_code == 404
    assert patch(image, change, token="admin").status_code == 200
    assert client.get(f"{IMAGES}/{image['id']}", token=BOB).status_code == 200


@pytest.mark.parametrize(
    ("visibility", "seen", "listed"),
    [("private", 404, 0), ("shared", 404, 0), ("community", 200, 0)],
)
def test_others_see_what_they_may(client, create, visibility, seen, listed):
    image = create(name=f"{visibility} one", visibility=visibility)
    path = f"{IMAGES}?name={visibility} one"
    assert client.get(f"{IMAGES}/{image['id']}", token=BOB).status_code == seen
    assert len(client.get(path, token=BOB).json["images"]) == listed
    assert len(client.get(path, token=ALICE).json["images"]) == 1


def test_others_may_see_an_image_and_not_touch_it(client, create, upload, patch):
    image = create(visibility="community")
    assert upload(image, token=BOB).status_code == 403
    assert patch(image, token=BOB).status_code == 403
    assert client.delete(f"{IMAGES}/{image['id']}", token=BOB).status_code == 403


def test_nobody_boots_from_an_image_that_they_cannot_see(client, create, upload):
    image = create(token=BOB)
    upload(image, token=BOB)
    assert "Can not find" in boot(client, image).json["badRequest"]["message"]


def test_a_deleted_image_is_gone(client, create):
    image = create()
    path = f"{IMAGES}/{image['id']}"
    assert client.delete(path, token=ALICE).status_code == 204
    assert client.get(path, token=ALICE).status_code == 404
    assert client.delete(path, token=ALICE).status_code == 404


def test_a_store_that_users_cannot_fill_says_so(world):
    class ReadOnly:
        get, list_images = world.images.get, world.images.list_images

    client = Client(make_app(dataclasses.replace(world.parts, images=ReadOnly())))
    answer = client.post(IMAGES, {"name": "mine"}, token=ALICE)
    assert answer.json["notImplemented"]["code"] == 501


def test_tags_are_given_at_once_changed_and_listed_once_each(client, create, patch):
    image = create(tags=["b", "a", "b"])
    assert image["tags"] == ["a", "b"]
    patched = patch(image, {"op": "replace", "path": "/tags", "value": ["c", "a"]})
    assert patched.json["tags"] == ["a", "c"]
    path = f"{IMAGES}/{image['id']}/tags"
    assert client.ask("PUT", f"{path}/new", token=ALICE).status_code == 204
    assert client.ask("PUT", f"{path}/new", token=ALICE).status_code == 204
    assert client.delete(f"{path}/a", token=ALICE).status_code == 204
    assert client.delete(f"{path}/a", token=ALICE).status_code == 404
    assert client.get(f"{IMAGES}/{image['id']}", token=ALICE).json["tags"] == ["c", "new"]


def test_an_image_has_so_many_tags_and_no_longer_ones(client, create):
    image = create(tags=[f"t{number}" for number in range(128)])
    path = f"{IMAGES}/{image['id']}/tags"
    assert client.ask("PUT", f"{path}/t1", token=ALICE).status_code == 204
    assert "128 tags at most" in client.ask("PUT", f"{path}/more", token=ALICE).text
    assert client.ask("PUT", f"{path}/{'x' * 256}", token=ALICE).status_code == 400


def test_images_are_found_by_all_their_tags(client, create):
    both, one = create(tags=["blue", "round"]), create(tags=["blue"])

    def found(query):
        listed = client.get(f"{IMAGES}?{query}", token=ALICE).json["images"]
        return {image["id"] for image in listed}

    assert found("tag=blue") == {both["id"], one["id"]}
    assert found("tag=blue&tag=round") == {both["id"]}
    assert found("tag=square") == set()


def test_what_is_protected_is_not_deleted_until_it_is_no_more(client, create, patch):
    image = create(protected=True)
    path = f"{IMAGES}/{image['id']}"
    for token, where in ((ALICE, path), ("admin", path), (ALICE, f"/v2.1/images/{image['id']}")):
        assert "protected" in client.delete(where, token=token).json["forbidden"]["message"]
    listed = client.get(f"{IMAGES}?protected=true", token=ALICE).json["images"]
    assert [one["id"] for one in listed] == [image["id"]]
    patch(image, {"op": "replace", "path": "/protected", "value": False})
    assert client.delete(path, token=ALICE).status_code == 204
