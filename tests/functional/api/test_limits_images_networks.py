"""Limits, images and networks: what clients ask for beside servers."""

import pytest

from tests.api_harness import ALICE, IMAGE, PRIVATE
from tests.builders import an_image


def test_limits_tell_what_is_used(world):
    body = {"server": {"name": "web", "flavorRef": "1", "imageRef": IMAGE}}
    world.client.post("/v2.1/servers", body, token=ALICE)
    absolute = world.client.get("/v2.1/limits", token=ALICE).json["limits"]["absolute"]
    assert (absolute["totalInstancesUsed"], absolute["maxTotalInstances"]) == (1, 10)
    assert (absolute["totalRAMUsed"], absolute["maxTotalRAMSize"]) == (512, 51200)
    assert (absolute["maxServerMeta"], absolute["maxTotalKeypairs"]) == (128, 100)
    groups = ("maxServerGroups", "maxServerGroupMembers", "totalServerGroupsUsed")
    assert [absolute[name] for name in groups] == [10, 10, 0]


def test_administrators_see_the_usage_of_others(world):
    body = {"server": {"name": "web", "flavorRef": "1", "imageRef": IMAGE}}
    world.client.post("/v2.1/servers", body, token="bob:other")
    absolute = world.client.get("/v2.1/limits?tenant_id=other").json["limits"]["absolute"]
    assert absolute["totalInstancesUsed"] == 1


def test_what_is_reserved_is_in_use(client):
    body = {"server": {"name": "web", "flavorRef": "1", "imageRef": IMAGE}}
    client.post("/v2.1/servers", body, token=ALICE)
    plain, reserved = (
        client.get(f"/v2.1/limits{query}", token=ALICE).json for query in ("", "?reserved=1")
    )
    assert plain == reserved


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", 2),
        ("?name=tiny", 1),
        ("?name=none", 0),
        (f"?id=in:{IMAGE},x", 1),
        ("?status=active&limit=1", 1),
        (f"?marker={IMAGE}", 1),
    ],
)
def test_images_are_listed(world, query, found):
    other = an_image(name="big")
    world.images.images[other.id] = other
    answer = world.client.get(f"/image/v2/images{query}", token=ALICE)
    assert len(answer.json["images"]) == found


def test_pages_of_images_are_linked(world):
    other = an_image(name="big")
    world.images.images[other.id] = other
    page = world.client.get("/image/v2/images?limit=1").json
    assert page["next"] == f"/v2/images?limit=1&marker={IMAGE}"


def test_an_image_is_shown_with_its_properties(world):
    image = an_image(properties={"os_distro": "debian"})
    world.images.images[image.id] = image
    shown = world.client.get(f"/image/v2/images/{image.id}", token=ALICE).json
    assert (shown["id"], shown["os_distro"], shown["size"]) == (image.id, "debian", 4)


@pytest.mark.parametrize(("query", "found"), [("", 1), ("?name=private", 1), ("?name=x", 0)])
def test_networks_are_listed(client, query, found):
    assert len(client.get(f"/network/v2.0/networks{query}").json["networks"]) == found


def test_a_network_is_shown(client):
    assert client.get(f"/network/v2.0/networks/{PRIVATE.id}").json["network"]["name"] == "private"
    assert client.get("/network/v2.0/networks/none").status_code == 404


def test_the_network_service_names_its_nouns(client):
    nouns = [one["collection"] for one in client.get("/network/v2.0").json["resources"]]
    assert nouns == ["networks", "subnets", "ports"]
