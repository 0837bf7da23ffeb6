"""The kernel and the ramdisk that an image names are for whoever may have them by themselves."""

import pytest

from roost import states
from roost.image.driver import KERNEL_BYTES
from tests.api_harness import ALICE
from tests.builders import CELL1, a_uuid

REST = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1", "node": "h1"}


def create(world, image):
    body = {"name": "web", "flavorRef": "1", "imageRef": image.id}
    return world.client.post("/v2.1/servers", {"server": body}, token=ALICE)


def act(world, **body):
    server = world.place(CELL1, uuid=a_uuid(), **REST)
    return world.client.post(f"/v2.1/servers/{server.uuid}/action", body, token=ALICE)


def rebuild(world, image):
    return act(world, rebuild={"imageRef": image.id})


def rescue(world, image):
    return act(world, rescue={"rescue_image_ref": image.id})


@pytest.fixture(params=[create, rebuild, rescue])
def use(world, request):
    """Make a server of an image that names others, in each way that there is."""

    def use(**properties):
        image = world.image(id=a_uuid(), properties=properties)
        return request.param(world, image)

    return use


@pytest.mark.parametrize("name", ["kernel_id", "ramdisk_id"])
def test_what_is_private_to_others_is_refused_by_the_property_that_names_it(world, use, name):
    mine = world.image(id=a_uuid(), visibility="private")
    others = world.image(id=a_uuid(), visibility="private", owner="other")
    answer = use(**{"kernel_id": mine.id, "ramdisk_id": mine.id} | {name: others.id})
    assert answer.status_code == 400
    message = answer.json["badRequest"]["message"]
    assert name in message
    assert others.id in message


def test_what_has_no_data_yet_is_refused(world, use):
    waiting = world.image(id=a_uuid(), status="queued")
    answer = use(kernel_id=waiting.id)
    assert (answer.status_code, "not active" in answer.text) == (400, True)


@pytest.mark.parametrize("name", ["kernel_id", "ramdisk_id"])
def test_what_is_larger_than_hosts_copy_for_every_guest_is_refused(world, use, name):
    small = world.image(id=a_uuid(), size=KERNEL_BYTES)
    large = world.image(id=a_uuid(), size=KERNEL_BYTES + 1)
    answer = use(**{"kernel_id": small.id, "ramdisk_id": small.id} | {name: large.id})
    assert answer.status_code == 400
    message = answer.json["badRequest"]["message"]
    assert f"{name} of image" in message
    assert f"may have {KERNEL_BYTES} at most" in message


def test_what_the_caller_may_have_is_accepted(world, use):
    mine = world.image(id=a_uuid(), visibility="private")
    assert use(kernel_id=mine.id, ramdisk_id=f" {mine.id} ").status_code in (200, 202)
