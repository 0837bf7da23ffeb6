"""Images that projects share: with whom, and who has accepted."""

import pytest

from tests.api_harness import ALICE

IMAGES = "/image/v2/images"
BOB, CAROL = "bob:other", "carol:third"


@pytest.fixture
def image(client):
    return client.post(IMAGES, {"name": "ours"}, token=ALICE).json


@pytest.fixture
def members(image):
    return f"{IMAGES}/{image['id']}/members"


@pytest.fixture
def shared(client, members):
    answer = client.post(members, {"member": "other"}, token=ALICE)
    assert answer.status_code == 200, answer.text
    return answer.json


def _say(client, members, status, token=BOB, project="other"):
    return client.put(f"{members}/{project}", {"status": status}, token=token)


def _listed(client, query="", token=BOB):
    listed = client.get(f"{IMAGES}{query}", token=token).json["images"]
    return [one["name"] for one in listed if one["name"] == "ours"]


def test_a_project_is_told_who_it_shares_an_image_with(client, image, members, shared):
    assert (shared["image_id"], shared["member_id"]) == (image["id"], "other")
    assert (shared["status"], shared["schema"]) == ("pending", "/v2/schemas/member")
    listed = client.get(members, token=ALICE).json
    assert listed == {"members": [shared], "schema": "/v2/schemas/members"}
    assert client.get(f"{members}/other", token=ALICE).json == shared
    assert client.get(f"{members}/third", token=ALICE).status_code == 404


def test_a_shared_image_is_there_for_its_members_and_nobody_else(client, image, shared):
    path = f"{IMAGES}/{image['id']}"
    assert client.get(path, token=BOB).status_code == 200
    assert client.get(path, token=CAROL).status_code == 404


def test_it_is_in_the_lists_of_who_has_accepted_it(client, members, shared):
    assert _listed(client) == []
    assert _listed(client, "?member_status=pending") == ["ours"]
    assert _say(client, members, "accepted").json["status"] == "accepted"
    assert _listed(client) == ["ours"]
    assert _listed(client, "?visibility=shared") == ["ours"]
    assert _listed(client, "?visibility=private") == []
    assert _say(client, members, "rejected").json["status"] == "rejected"
    assert (_listed(client), _listed(client, "?member_status=all")) == ([], ["ours"])
    assert _listed(client, token=ALICE) == ["ours"]
    assert client.get(f"{IMAGES}?member_status=lost", token=BOB).status_code == 400


def test_compute_lists_the_images_that_the_image_service_does(client, members, shared):
    def of_compute():
        listed = client.get("/v2.1/images?name=ours", token=BOB).json["images"]
        return [one["name"] for one in listed]

    assert of_compute() == []
    _say(client, members, "accepted")
    assert of_compute() == ["ours"]
    client.post(IMAGES, {"name": "everybody's", "visibility": "community"}, token=ALICE)
    assert client.get("/v2.1/images?name=everybody's", token=BOB).json["images"] == []


def test_a_member_accepts_for_itself_only(client, members, shared):
    client.post(members, {"member": "third"}, token=ALICE)
    assert _say(client, members, "accepted", token=ALICE).status_code == 403
    assert _say(client, members, "accepted", token=CAROL).status_code == 404
    assert _say(client, members, "happy").status_code == 400
    known = client.get(members, token=BOB).json["members"]
    assert [one["member_id"] for one in known] == ["other"]


def test_an_image_is_shared_with_a_project_once(client, members, shared):
    assert client.post(members, {"member": "other"}, token=ALICE).status_code == 409
    assert client.post(members, {"member": ""}, token=ALICE).status_code == 400
    assert client.post(members, {}, token=ALICE).status_code == 400


def test_what_is_shared_no_more_is_gone_for_who_had_it(client, image, members, shared):
    _say(client, members, "accepted")
    assert client.delete(f"{members}/other", token=ALICE).status_code == 204
    assert client.delete(f"{members}/other", token=ALICE).status_code == 404
    assert client.get(f"{IMAGES}/{image['id']}", token=BOB).status_code == 404


def test_an_image_that_is_not_shared_has_no_members(client):
    values = {"name": "mine", "visibility": "private"}
    members = f"{IMAGES}/{client.post(IMAGES, values, token=ALICE).json['id']}/members"
    for answer in (
        client.get(members, token=ALICE),
        client.post(members, {"member": "other"}, token=ALICE),
    ):
        assert answer.json["forbidden"]["message"] == "Only shared images have members."


def test_an_image_is_shared_with_so_many(client, world):
    crowd = [f"p{number}" for number in range(128)]
    members = f"{IMAGES}/{world.shared_image(*crowd).id}/members"
    answer = client.post(members, {"member": "one-more"}, token=ALICE)
    assert "128 members at most" in answer.json["forbidden"]["message"]


def test_a_member_boots_from_a_shared_image(client, world):
    image = world.shared_image("other")
    body = {"server": {"name": "web", "flavorRef": "1", "imageRef": image.id}}
    assert client.post("/v2.1/servers", body, token=BOB).status_code == 202
    refused = client.post("/v2.1/servers", body, token=CAROL)
    assert "Can not find" in refused.json["badRequest"]["message"]
