"""Quotas of users within their project, as operators set them and as they limit these users."""

import pytest

from roost import states
from tests.api_harness import ALICE, IMAGE, count_statements
from tests.functional.api.test_quota_sets import PATH, boot, get, put

OF_ALICE = f"{PATH}?user_id=alice"
BOB = "bob:project"


def message(answer):
    (error,) = answer.json.values()
    return error["message"]


def create_group(client, token):
    group = {"server_group": {"name": "a", "policies": ["affinity"]}}
    return client.post("/v2.1/os-server-groups", group, token=token)


def test_a_user_has_the_limits_of_the_project_until_others_are_set(client):
    assert get(client, OF_ALICE) == get(client)
    told = put(client, OF_ALICE, instances=3, cores="7").json["quota_set"]
    assert "id" not in told
    assert (told["instances"], told["cores"], told["ram"]) == (3, 7, 51200)
    assert get(client, OF_ALICE) == {"id": "project", **told}
    assert put(client, OF_ALICE, cores=8).json["quota_set"]["instances"] == 3
    assert [get(client, path)["instances"] for path in (PATH, f"{PATH}?user_id=bob")] == [10, 10]


def test_what_is_set_for_a_user_limits_this_user_only(client):
    put(client, OF_ALICE, instances=2)
    assert boot(client, 2).status_code == 202
    answer = boot(client)
    assert answer.status_code == 403
    assert "already used 2 of 2 instances" in answer.json["forbidden"]["message"]
    assert boot(client, 3, token=BOB).status_code == 202
    assert boot(client, token="alice:other").status_code == 202


def test_details_of_a_user_tell_their_limits_and_what_they_use(client):
    put(client, OF_ALICE, instances=4)
    boot(client, 2)
    boot(client, token=BOB)
    shown = get(client, f"{PATH}/detail?user_id=alice", token=ALICE)
    assert shown["instances"] == {"in_use": 2, "limit": 4, "reserved": 0}
    assert get(client, f"{PATH}/detail")["instances"] == {"in_use": 3, "limit": 10, "reserved": 0}


def test_members_metadata_and_key_pairs_of_a_user_are_limited(client):
    put(client, OF_ALICE, server_group_members=1, metadata_items=1, key_pairs=0)
    group = create_group(client, ALICE).json["server_group"]["id"]

    def answers(token):
        server = {"name": "a", "flavorRef": "1", "imageRef": IMAGE}
        crowd = {"server": server | {"min_count": 2}, "os:scheduler_hints": {"group": group}}
        noted = {"server": server | {"metadata": {"a": "1", "b": "2"}}}
        yield client.post("/v2.1/servers", crowd, token=token)
        yield client.post("/v2.1/servers", noted, token=token)
        yield client.post("/v2.1/os-keypairs", {"keypair": {"name": "k"}}, token=token)

    assert [answer.status_code for answer in answers(ALICE)] == [403, 403, 403]
    assert [answer.status_code for answer in answers(BOB)] == [202, 202, 200]


@pytest.mark.parametrize(("user", "codes"), [("alice", {403}), ("bob", {200, 202})])
@pytest.mark.parametrize("what", ["metadata", "createImage", "createBackup"])
def test_metadata_of_a_server_and_its_images_is_limited_by_whose_it_is(world, user, codes, what):
    put(world.client, OF_ALICE, metadata_items=1)
    at_rest = {"host": "h1", "vm_state": states.ACTIVE, "task_state": None}
    path = f"/v2.1/servers/{world.place(user_id=user, **at_rest).uuid}"
    asked = {"metadata": {"a": "1", "b": "2"}}
    if what != "metadata":
        backup = {"backup_type": "daily", "rotation": 1} if what == "createBackup" else {}
        path, asked = f"{path}/action", {what: {"name": "a", **asked, **backup}}
    else:
        path = f"{path}/metadata"
    assert world.client.post(path, asked, token=ALICE).status_code in codes


def test_less_than_the_user_has_takes_force(client):
    boot(client, 3)
    boot(client, 2, token=BOB)
    assert message(put(client, OF_ALICE, instances=2)) == (
        "Quota limit 2 for instances must be greater than or equal to already used and reserved 3."
    )
    assert put(client, OF_ALICE, instances=3).status_code == 200
    assert put(client, OF_ALICE, instances=2, force=True).json["quota_set"]["instances"] == 2
    assert boot(client).status_code == 403


@pytest.mark.parametrize("limit", [11, -1])
def test_more_than_the_project_has_takes_force(client, limit):
    answer = put(client, OF_ALICE, instances=limit)
    assert answer.status_code == 400
    assert "for instances must be less than or equal to 10" in message(answer)
    assert get(client, OF_ALICE)["instances"] == 10
    assert put(client, OF_ALICE, instances=limit, force=True).status_code == 200
    assert get(client, OF_ALICE)["instances"] == limit
    assert boot(client, 11).status_code == 403


def test_a_project_keeps_what_its_users_were_given_unless_forced(client):
    put(client, OF_ALICE, instances=4, key_pairs=50)
    put(client, f"{PATH}?user_id=bob", instances=3, key_pairs=50)
    assert message(put(client, instances=6)) == (
        "Quota limit 6 for instances must be greater than or equal to the 7 given to its users."
    )
    assert put(client, key_pairs=49).status_code == 400
    assert put(client, instances=7, key_pairs=50).status_code == 200
    assert put(client, instances=6, force=True).status_code == 200


def test_a_user_whose_limits_are_deleted_has_those_of_the_project(client):
    put(client, cores=15)
    put(client, OF_ALICE, cores=3)
    put(client, f"{PATH}?user_id=bob", cores=2)
    for _ in range(2):
        answer = client.delete(OF_ALICE)
        assert (answer.status_code, answer.text) == (202, "")
    assert [get(client, f"{PATH}?user_id={who}")["cores"] for who in ("alice", "bob")] == [15, 2]
    assert get(client)["cores"] == 15


def test_what_a_user_may_have_is_theirs_and_their_projects_to_know(client):
    assert client.get(OF_ALICE, token=ALICE).status_code == 200
    assert client.get(OF_ALICE, token="bob:other").status_code == 403
    for answer in (put(client, OF_ALICE, token=ALICE, cores=1), client.delete(OF_ALICE, token=BOB)):
        assert answer.status_code == 403


def test_a_user_that_no_database_keeps_is_refused(client):
    answer = put(client, f"{PATH}?user_id={'x' * 256}", cores=1)
    assert answer.status_code == 400
    assert "user_id" in message(answer)


def test_the_limits_page_is_of_the_project_for_users_with_limits_too(client):
    """The Compute API documents all of ``/limits`` as the project's."""
    put(client, OF_ALICE, instances=2)
    boot(client, 2, token=BOB)
    absolute = client.get("/v2.1/limits", token=ALICE).json["limits"]["absolute"]
    assert (absolute["maxTotalInstances"], absolute["totalInstancesUsed"]) == (10, 2)


def test_a_boot_costs_a_count_only_where_its_user_has_limits(world):
    boot(world.client)

    def statements():
        with count_statements(world) as counted:
            boot(world.client)
        return counted.seen

    before = statements()
    put(world.client, f"{PATH}?user_id=bob", instances=3)
    assert statements() == before
    put(world.client, OF_ALICE, instances=5)
    assert len(statements()) == len(before) + 2  # the lock and the count
