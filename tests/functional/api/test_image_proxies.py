"""Images as clients of Compute saw them before 2.36."""

import datetime

import pytest

from tests.api_harness import ALICE
from tests.builders import NOW, a_uuid

IMAGES = "/v2.1/images"
BOB = "bob:other"


@pytest.fixture
def snapshot(world):
    """An image of Alice's, of one of her servers."""
    properties = {"image_type": "snapshot", "instance_uuid": a_uuid(), "os": "debian"}
    values = {"name": "snap", "visibility": "private", "min_disk": 3, "min_ram": 7}
    return world.image(**values, properties=properties, created_at=NOW, updated_at=NOW)


def _names(client, query="", token=ALICE):
    return [one["name"] for one in client.get(f"{IMAGES}{query}", token=token).json["images"]]


def test_an_image_is_shown_in_words_of_compute(client, snapshot):
    shown = client.get(f"{IMAGES}/{snapshot.id}", token=ALICE).json["image"]
    links = shown.pop("links")
    assert [link["rel"] for link in links] == ["self", "bookmark", "alternate"]
    assert all(link["href"].endswith(f"/images/{snapshot.id}") for link in links)
    assert shown.pop("server")["id"] == snapshot.properties["instance_uuid"]
    assert shown == {
        "id": snapshot.id,
        "name": "snap",
        "status": "ACTIVE",
        "progress": 100,
        "created": NOW.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "updated": NOW.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "minDisk": 3,
        "minRam": 7,
        "metadata": snapshot.properties,
        "OS-EXT-IMG-SIZE:size": snapshot.size,
    }


def test_a_plain_list_names_images_and_one_with_details_shows_them(client, snapshot):
    (brief,) = client.get(f"{IMAGES}?name=snap", token=ALICE).json["images"]
    (full,) = client.get(f"{IMAGES}/detail?name=snap", token=ALICE).json["images"]
    assert brief.keys() == {"id", "name", "links"}
    assert full == client.get(f"{IMAGES}/{snapshot.id}", token=ALICE).json["image"]


def test_an_image_without_data_is_being_saved(client, world):
    waiting = world.image(status="queued")
    shown = client.get(f"{IMAGES}/{waiting.id}", token=ALICE).json["image"]
    assert (shown["status"], shown["progress"]) == ("SAVING", 25)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("name=snap", True),
        ("name=other", False),
        ("status=active", True),
        ("status=SAVING", False),
        ("type=snapshot", True),
        ("type=base", False),
        ("server={server}", True),
        ("server=http://here/v2.1/servers/{server}", True),
        ("server=ad7bb6bd-d979-441d-8571-64acf18086ed", False),
        ("minDisk=3", True),
        ("minDisk=4", False),
        ("minRam=7", True),
        ("changes-since={before}", True),
        ("changes-since={after}", False),
    ],
)
def test_filters_narrow_a_list(client, snapshot, query, found):
    hour = datetime.timedelta(hours=1)
    before, after = ((NOW + by).strftime("%Y-%m-%dT%H:%M:%SZ") for by in (-hour, hour))
    server = snapshot.properties["instance_uuid"]
    asked = query.format(server=server, before=before, after=after)
    assert ("snap" in _names(client, f"?{asked}")) is found


def test_a_list_has_pages(client, world):
    some = {world.image(name=name).name for name in ("one", "two", "three")}
    seen, query = [], "?limit=1"
    while query:
        page = client.get(f"{IMAGES}{query}", token=ALICE).json
        seen += [one["name"] for one in page["images"]]
        (link,) = page.get("images_links", [None])
        query = link and "?" + link["href"].partition("?")[2]
    assert some <= set(seen)
    assert len(seen) == len(_names(client))
    assert client.get(f"{IMAGES}?marker={a_uuid()}", token=ALICE).status_code == 400


def test_an_image_is_deleted_by_its_owner_only(client, world):
    image = world.image(visibility="public")
    assert client.delete(f"{IMAGES}/{image.id}", token=BOB).status_code == 403
    assert client.delete(f"{IMAGES}/{image.id}", token=ALICE).status_code == 204
    assert client.get(f"{IMAGES}/{image.id}", token=ALICE).status_code == 404


@pytest.fixture
def metadata(world):
    return f"{IMAGES}/{world.image(properties={'a': '1', 'b': '2'}).id}/metadata"


def test_metadata_is_read_merged_and_replaced(client, metadata):
    assert client.get(metadata, token=ALICE).json == {"metadata": {"a": "1", "b": "2"}}
    merged = client.post(metadata, {"metadata": {"b": "3", "c": "4"}}, token=ALICE).json
    assert merged == {"metadata": {"a": "1", "b": "3", "c": "4"}}
    replaced = client.put(metadata, {"metadata": {"d": "5"}}, token=ALICE).json
    assert replaced == client.get(metadata, token=ALICE).json == {"metadata": {"d": "5"}}


def test_an_item_is_read_written_and_deleted(client, metadata):
    assert client.get(f"{metadata}/a", token=ALICE).json == {"meta": {"a": "1"}}
    assert client.put(f"{metadata}/a", {"meta": {"a": "9"}}, token=ALICE).json["meta"]["a"] == "9"
    assert client.delete(f"{metadata}/a", token=ALICE).status_code == 204
    assert client.get(metadata, token=ALICE).json == {"metadata": {"b": "2"}}


def test_an_item_that_there_is_not_is_not_found(client, metadata):
    assert client.get(f"{metadata}/z", token=ALICE).status_code == 404
    assert client.delete(f"{metadata}/z", token=ALICE).status_code == 404
    assert client.put(f"{metadata}/z", {"meta": {"y": "1"}}, token=ALICE).status_code == 400


def test_metadata_has_a_limit(client, metadata):
    many = {"metadata": {f"key{number}": "x" for number in range(200)}}
    assert client.put(metadata, many, token=ALICE).status_code == 400
