"""What users get, and are charged, when the answers to commits are lost."""

import pytest

from roost.db.api import build_requests, quota
from tests.api_harness import ALICE
from tests.builders import CELL1
from tests.fakes.lost_commits import lost_answers
from tests.functional.api.test_server_create import _create, _wishes

NOTHING = {"instances": 0, "cores": 0, "ram": 0, "server_groups": 0}


@pytest.fixture(params=[True, False], ids=["committed", "not-committed"])
def forgetful(request, world):
    """Let every other commit not be heard of, committed or not."""
    return lambda: lost_answers(world.api_db, *world.databases.values(), committed=request.param)


def test_servers_are_created_and_charged_once(world, forgetful):
    with forgetful() as lost:
        answer = _create(world, min_count=3)
    assert (answer.status_code, lost[world.api_db]) == (202, 1)
    wishes = _wishes(world)
    assert [build_request.instance.display_name for build_request in wishes] == [
        "web-1",
        "web-2",
        "web-3",
    ]
    assert wishes[0].instance_uuid == answer.json["server"]["id"]
    assert world.usage() == NOTHING | {"instances": 3, "cores": 3, "ram": 3 * 512}
    ((_, _, told),) = world.api_bus.sent
    assert told["instance_uuids"] == [build_request.instance_uuid for build_request in wishes]


def test_a_wish_is_withdrawn_once(world, forgetful):
    uuid = world.build_request().uuid
    _charge(world)
    with forgetful():
        answer = world.client.delete(f"/v2.1/servers/{uuid}", token=ALICE)
    assert answer.status_code == 204
    assert (world.mapping(uuid), world.usage()) == (None, NOTHING)


def test_a_wish_that_a_cell_may_have_is_withdrawn_once(world, forgetful):
    uuid = world.build_request().uuid
    with world.api_db.begin() as session:
        build_requests.lease(session, owner="me", seconds=60, instance_uuids=[uuid])
        build_requests.target_cell(session, {uuid: CELL1}, owner="me")
    _charge(world)
    with forgetful():
        answer = world.client.delete(f"/v2.1/servers/{uuid}", token=ALICE)
    assert answer.status_code == 204
    assert (world.mapping(uuid).queued_for_delete, world.usage()) == (True, NOTHING)


def test_a_server_is_given_up_once(world, forgetful):
    instance = world.place(host="h1")
    _charge(world)
    with forgetful():
        answer = world.client.delete(f"/v2.1/servers/{instance.uuid}", token=ALICE)
    assert answer.status_code == 204
    assert (world.mapping(instance.uuid).queued_for_delete, world.usage()) == (True, NOTHING)


def _charge(world):
    """Charge the project for what it has, whose making was not charged."""
    with world.api_db.read() as session:
        counted = quota.counted(session)["project"]
    with world.api_db.begin() as session:
        quota.take(
            session,
            project_id="project",
            user_id="user",
            defaults=dict.fromkeys(counted, -1),
            **counted,
        )
