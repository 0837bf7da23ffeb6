"""Server groups as clients see them."""

import logging

import pytest

from roost.db.api import build_requests, models
from tests.api_harness import ALICE, IMAGE, count_statements
from tests.builders import CELL1, a_uuid

BOB = "bob:other"
PATH = "/v2.1/os-server-groups"
RULES = {"max_server_per_host": 3}


def create(client, *, version="2.64", token=ALICE, **values):
    body = {"name": "web"} | values
    if int(version[2:]) >= 64:
        body = {"policy": "anti-affinity"} | body
    else:
        body = {"policies": ["anti-affinity"]} | body
    return client.post(PATH, {"server_group": body}, version=version, token=token)


def made(client, **values):
    return create(client, **values).json["server_group"]


def boot(client, group, *, token=ALICE, **values):
    server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE} | values
    body = {"server": server, "os:scheduler_hints": {"group": group}}
    return client.post("/v2.1/servers", body, token=token)


def members(client, group):
    return client.get(f"{PATH}/{group}", token=ALICE).json["server_group"]["members"]


def test_a_created_group_is_shown(client):
    answer = create(client, name="web", rules={"max_server_per_host": "3"})
    assert answer.status_code == 200
    group = answer.json["server_group"]
    assert group == {
        "id": group["id"],
        "name": "web",
        "members": [],
        "policy": "anti-affinity",
        "rules": RULES,
        "project_id": "project",
        "user_id": "alice",
    }
    shown = client.get(f"{PATH}/{group['id']}", token=ALICE, version="2.64")
    assert shown.json["server_group"] == group


@pytest.mark.parametrize(
    ("version", "values"),
    [
        ("2.1", {"policies": []}),
        ("2.1", {"policies": ["affinity", "anti-affinity"]}),
        ("2.1", {"policies": ["legacy"]}),
        ("2.1", {"rules": RULES}),
        ("2.64", {"policies": ["affinity"]}),
        ("2.64", {"policy": "none"}),
        ("2.64", {"rules": {"max_server_per_host": 0}}),
        ("2.64", {"rules": {"max_server_per_host": "0"}}),
        ("2.64", {"rules": {"max_server_per_host": "4294967296"}}),
        ("2.64", {"rules": {"other": 1}}),
        ("2.64", {"name": ""}),
        ("2.64", {"metadata": {}}),
    ],
)
def test_what_cannot_be_meant_is_refused(client, version, values):
    assert create(client, version=version, **values).json["badRequest"]["message"]


@pytest.mark.parametrize("policy", ["affinity", "soft-affinity", "soft-anti-affinity"])
def test_only_anti_affinity_has_rules(client, policy):
    answer = create(client, policy=policy, rules=RULES)
    assert answer.json["badRequest"]["message"] == "Only anti-affinity policy supports rules."
    assert create(client, policy=policy, rules={}).status_code == 200


def test_groups_are_paged_by_limit_and_offset(client):
    ids = [made(client)["id"] for _ in range(4)]
    for query, expected in (("", ids), ("?limit=2&offset=1", ids[1:3]), ("?offset=3", ids[3:])):
        answer = client.get(f"{PATH}{query}", token=ALICE).json
        assert [group["id"] for group in answer["server_groups"]] == expected


def test_the_groups_of_all_projects_are_for_administrators(client):
    mine, other = made(client)["id"], made(client, token=BOB)["id"]

    def listed(query, token):
        answer = client.get(f"{PATH}{query}", token=token).json
        return [group["id"] for group in answer["server_groups"]]

    assert listed("?all_projects=True", "admin:ops") == [mine, other]
    assert listed("", "admin:ops") == []
    assert listed("?all_projects=True", ALICE) == [mine]


def test_a_deleted_group_is_gone(client):
    path = f"{PATH}/{made(client)['id']}"
    assert client.delete(path, token=ALICE).status_code == 204
    assert client.delete(path, token=ALICE).status_code == 404
    assert client.get(path, token=ALICE).status_code == 404


def test_a_project_has_so_many_groups_and_no_more(client):
    groups = [made(client)["id"] for _ in range(10)]
    answer = create(client)
    assert answer.json["forbidden"]["message"] == "Quota exceeded, too many server groups."
    client.delete(f"{PATH}/{groups[0]}", token=ALICE)
    assert create(client).status_code == 200


def test_schedulers_are_told_when_a_group_comes_and_goes(world):
    group = made(world.client)["id"]
    world.client.delete(f"{PATH}/{group}", token=ALICE)
    told = [(one.uuid, one.policy, one.deleted) for one in world.scheduler.groups]
    assert told == [(group, "anti-affinity", False), (group, "anti-affinity", True)]
    assert world.scheduler.groups[0].version < world.scheduler.groups[1].version


def test_schedulers_that_are_away_keep_nobody_from_making_groups(world, caplog):
    world.scheduler.away = True
    with caplog.at_level(logging.WARNING):
        group = made(world.client)["id"]
    assert f"server group {group}: no scheduler was notified" in caplog.text
    world.scheduler.away = False
    assert members(world.client, group) == []


def test_a_server_is_a_member_from_the_moment_it_is_asked_for(world):
    group = made(world.client)["id"]
    server = boot(world.client, group).json["server"]["id"]
    assert members(world.client, group) == [server]
    with world.api_db.read() as session:
        build_request = build_requests.find(session, server)
        spec = build_requests.get_spec(session, build_request.request_uuid)
    assert (spec.group.uuid, spec.group.policy, spec.group.members) == (group, "anti-affinity", [])


def test_a_server_without_group_has_none(world):
    server = world.place()
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", version="2.71").json["server"]
    assert shown["server_groups"] == []


def test_a_deleted_server_is_no_member_any_more(world):
    group = made(world.client)["id"]
    server = boot(world.client, group).json["server"]["id"]
    assert world.client.delete(f"/v2.1/servers/{server}", token=ALICE).status_code == 204
    assert members(world.client, group) == []


@pytest.mark.parametrize("said", [CELL1, "web", ["a", "b"], []])
def test_a_group_that_is_not_there_is_refused(world, said):
    answer = boot(world.client, said)
    assert "could not be found" in answer.json["badRequest"]["message"]
    assert world.usage()["instances"] == 0


def test_the_group_of_another_project_is_refused(world):
    group = made(world.client, token=BOB)["id"]
    answer = boot(world.client, group)
    expected = f"Instance group {group} could not be found."
    assert answer.json["badRequest"]["message"] == expected
    assert world.usage()["instances"] == 0


@pytest.mark.parametrize("limit", [0, 10])
def test_a_full_group_of_another_project_is_refused_like_one_that_is_missing(world, limit):
    world.parts.options.quota["server_group_members"] = limit
    group, missing = made(world.client, token=BOB)["id"], a_uuid()
    there, nowhere = (boot(world.client, uuid) for uuid in (group, missing))
    assert there.status_code == nowhere.status_code == 400
    assert there.text.replace(group, missing) == nowhere.text


def test_more_servers_than_a_group_may_have_are_refused_whole(world):
    group = made(world.client)["id"]
    assert boot(world.client, group, min_count=8).status_code == 202
    unlimited = {"project_id": "project", "resource": "instances", "hard_limit": -1}
    with world.api_db.begin() as session:
        session.execute(models.quota_limits.insert().values(unlimited))
    answer = boot(world.client, group, min_count=3)
    assert answer.json["forbidden"]["message"] == "Quota exceeded, too many servers in group"
    assert len(members(world.client, group)) == 8
    assert world.usage()["instances"] == 8


def test_a_create_in_a_group_takes_few_statements(world):
    group = made(world.client)["id"]
    boot(world.client, group)
    with count_statements(world) as counted:
        assert boot(world.client, group).status_code == 202
    assert counted.count <= 14, counted.seen
