"""Requests to shelve a server, and to bring it back."""

import pytest

from roost import states
from roost.db.cell import services
from tests.api_harness import ADMIN, ALICE, IMAGE
from tests.builders import CELL1, an_image
from tests.fakes.service_groups import COMPUTE

NEWEST = "2.96"


@pytest.fixture
def offloaded(world):
    return world.place(
        CELL1,
        host=None,
        vm_state=states.SHELVED_OFFLOADED,
        task_state=None,
        shelved_image_id=IMAGE,
    )


def act(world, server, body, *, version=NEWEST, token=ALICE):
    path = f"/v2.1/servers/{server.uuid}/action"
    return world.client.post(path, body, version=version, token=token)


def refusal(answer):
    (said,) = answer.json.values()
    return answer.status_code, said["message"]


def sent(world):
    return [(host, told["operation"].kind) for host, _, told in world.buses["fake://cell1/"].sent]


def test_a_shelve_names_its_image_and_tells_the_host(world):
    server = world.place(CELL1, host="h1", vm_state=states.ACTIVE, task_state=None)
    assert act(world, server, {"shelve": None}).status_code == 202
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state) == ("active", "shelving")
    image = world.images.images[row.shelved_image_id]
    assert (image.name, image.status) == (f"{server.display_name}-shelved", "queued")
    assert sent(world) == [("h1", "shelve")]


def test_one_with_a_tpm_is_not_shelved(world):
    image = an_image(properties={"hw_tpm_model": "tpm-crb", "hw_tpm_version": "2.0"})
    server = world.place(CELL1, host="h1", vm_state=states.ACTIVE, task_state=None, image=image)
    status, why = refusal(act(world, server, {"shelve": None}))
    assert (status, "has a TPM" in why) == (400, True)


def test_one_that_is_on_no_host_gets_one_that_is_claimed(world, offloaded):
    assert act(world, offloaded, {"unshelve": None}).status_code == 202
    row = world.instance(offloaded.uuid)
    assert (row.vm_state, row.task_state, row.host) == (
        *("shelved_offloaded", "unshelving", "new-host"),
    )
    assert row.attempt == offloaded.attempt + 1
    assert sent(world) == [("new-host", "unshelve_offloaded")]


def test_of_two_requests_one_is_refused_and_releases_nothing_of_the_other(world, offloaded):
    assert act(world, offloaded, {"unshelve": None}).status_code == 202
    status, why = refusal(act(world, offloaded, {"unshelve": None}))
    assert (status, "'unshelve' is under way since" in why) == (409, True)
    assert world.scheduler.released == []


def test_a_host_that_is_too_old_gets_nothing_and_its_claim_is_released(world, offloaded):
    with world.databases[CELL1].begin() as session:
        services.report(session, host="new-host", binary=COMPUTE, version="1.8")
    status, why = refusal(act(world, offloaded, {"unshelve": None}))
    assert (status, "too old" in why) == (409, True)
    assert world.scheduler.released == [([offloaded.uuid], "new-host")]
    assert world.instance(offloaded.uuid).task_state is None


def test_without_its_image_it_stays_where_it_is(world, offloaded):
    del world.images.images[IMAGE]
    status, why = refusal(act(world, offloaded, {"unshelve": None}))
    assert (status, why) == (
        400,
        f"Image {IMAGE} of the shelved server is gone: it can only be deleted.",
    )


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({}, 400),
        ({"availability_zone": "moon"}, 400),
        ({"availability_zone": "nova", "other": 1}, 400),
        ({"host": "nowhere"}, 400),
    ],
)
def test_arguments_that_name_nothing_are_refused(world, offloaded, arguments, status):
    assert act(world, offloaded, {"unshelve": arguments}, token=ADMIN).status_code == status
    assert world.instance(offloaded.uuid).task_state is None


def test_only_administrators_offload_or_name_a_host(world, offloaded):
    named = act(world, offloaded, {"unshelve": {"host": "h1"}})
    assert (named.status_code, "unshelve_to_host" in named.text) == (403, True)
    assert act(world, offloaded, {"shelveOffload": None}).status_code == 403


def test_the_zone_that_an_unshelve_names_is_that_of_the_server_from_then_on(world, offloaded):
    assert act(world, offloaded, {"unshelve": {"availability_zone": "nova"}}).status_code == 202
    shown = world.client.get(f"/v2.1/servers/{offloaded.uuid}", version=NEWEST, token=ALICE)
    assert shown.json["server"]["pinned_availability_zone"] == "nova"


@pytest.mark.parametrize("vm_state", [states.SHELVED, states.SHELVED_OFFLOADED])
def test_a_deleted_server_takes_its_image_along(world, vm_state):
    host = "h1" if vm_state == states.SHELVED else None
    image = world.image()
    at = {"vm_state": vm_state, "task_state": None, "host": host, "shelved_image_id": image.id}
    server = world.place(CELL1, **at)
    path = f"/v2.1/servers/{server.uuid}"
    assert world.client.delete(path, token=ALICE).status_code == 204
    assert image.id not in world.images.images


@pytest.mark.parametrize("vm_state", ["paused", "error", "rescued", "shelved_offloaded"])
def test_what_is_not_shelved_on_its_host_is_not_offloaded(world, vm_state):
    server = world.place(CELL1, host="h1", vm_state=vm_state, task_state=None)
    status, why = refusal(act(world, server, {"shelveOffload": None}, token=ADMIN))
    assert (status, f"vm_state {vm_state}" in why) == (409, True)
