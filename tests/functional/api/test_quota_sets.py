"""Quotas as operators set them, and as they limit projects."""

import pytest

from tests.api_harness import ALICE, IMAGE, count_statements

PATH = "/v2.1/os-quota-sets/project"
CLASS = "/v2.1/os-quota-class-sets"


def put(client, path=PATH, *, version="2.57", token="admin:ops", **limits):
    return client.put(path, {"quota_set": limits}, version=version, token=token)


def put_class(client, name="default", *, version="2.57", **limits):
    return client.put(f"{CLASS}/{name}", {"quota_class_set": limits}, version=version)


def get(client, path=PATH, *, version="2.57", token="admin:ops"):
    return client.get(path, version=version, token=token).json["quota_set"]


def boot(client, count=1, *, token=ALICE):
    server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE, "min_count": count}
    return client.post("/v2.1/servers", {"server": server}, token=token)


def test_a_project_without_quotas_of_its_own_has_the_default_ones(client):
    shown = get(client, token=ALICE)
    assert shown == get(client, f"{PATH}/defaults")
    assert shown == {
        "id": "project",
        "cores": 20,
        "instances": 10,
        "key_pairs": shown["key_pairs"],
        "metadata_items": 128,
        "ram": 51200,
        "server_group_members": 10,
        "server_groups": 10,
    }


def test_what_is_set_is_told(client):
    answer = put(client, instances=3, cores="7", ram=-1, server_groups="-1")
    assert answer.status_code == 200
    told = answer.json["quota_set"]
    assert "id" not in told
    assert [told[name] for name in ("instances", "cores", "ram", "server_groups")] == [3, 7, -1, -1]
    assert get(client) == {"id": "project", **told}
    assert put(client, cores=8).json["quota_set"]["instances"] == 3


def test_what_is_set_is_what_limits_boots(client):
    put(client, instances=2)
    assert boot(client, 2).status_code == 202
    answer = boot(client)
    assert answer.status_code == 403
    assert "already used 2 of 2 instances" in answer.json["forbidden"]["message"]
    put(client, instances=-1)
    assert boot(client, 15).status_code == 202


def test_what_is_set_for_the_default_class_limits_all_but_those_with_their_own(client):
    put_class(client, instances=1)
    put(client, "/v2.1/os-quota-sets/other", instances=2)
    assert [boot(client, 2, token=who).status_code for who in (ALICE, "bob:other")] == [403, 202]
    assert get(client)["instances"] == get(client, f"{PATH}/defaults")["instances"] == 1
    limits = client.get("/v2.1/limits", token=ALICE).json["limits"]["absolute"]
    assert limits["maxTotalInstances"] == 1


def test_other_classes_limit_nobody(client):
    assert put_class(client, "gold", cores=1).json["quota_class_set"]["cores"] == 1
    shown = client.get(f"{CLASS}/gold", version="2.57").json["quota_class_set"]
    assert (shown["id"], shown["cores"], shown["ram"]) == ("gold", 1, 51200)
    assert get(client)["cores"] == 20


def test_details_tell_what_is_used(client):
    boot(client, 2)
    shown = get(client, f"{PATH}/detail", token=ALICE)
    assert shown["instances"] == {"in_use": 2, "limit": 10, "reserved": 0}
    assert shown["ram"] == {"in_use": 1024, "limit": 51200, "reserved": 0}
    assert shown["metadata_items"] == {"in_use": 0, "limit": 128, "reserved": 0}


def test_details_of_a_user_tell_what_that_user_has_of_the_project(world):
    client = world.client
    boot(client, 2)
    boot(client, token="bob:project")
    boot(client, token="bob:other")
    world.place(user_id="bob")

    def of(user):
        shown = get(client, f"{PATH}/detail?user_id={user}")
        return [shown[name]["in_use"] for name in ("instances", "cores", "ram", "server_groups")]

    assert of("alice") == [2, 2, 1024, 0]
    assert of("bob")[0] == 2
    assert of("carol") == [0, 0, 0, 0]
    assert get(client, f"{PATH}?user_id=bob") == get(client)


def test_less_than_is_used_takes_force(client):
    boot(client, 3)
    answer = put(client, cores=50, instances=2)
    assert answer.json["badRequest"]["message"] == (
        "Quota limit 2 for instances must be greater than or equal to already used and reserved 3."
    )
    assert get(client)["cores"] == 20
    assert put(client, instances=3).status_code == 200
    assert put(client, instances=-1).status_code == 200
    assert put(client, instances=2, force=False).status_code == 400
    assert put(client, instances=2, force="True").json["quota_set"]["instances"] == 2
    assert boot(client).status_code == 403


@pytest.mark.parametrize(
    ("version", "limits"),
    [
        ("2.1", {"instances": -2}),
        ("2.1", {"instances": "many"}),
        ("2.1", {"instances": 2**31}),
        ("2.1", {"instances": str(2**31)}),
        ("2.1", {"force": "maybe"}),
        ("2.1", {"volumes": 1}),
        ("2.36", {"floating_ips": 1}),
        ("2.57", {"injected_files": 1}),
    ],
)
def test_what_cannot_be_meant_is_refused(client, version, limits):
    assert put(client, version=version, **limits).json["badRequest"]["message"]


@pytest.mark.parametrize(
    ("version", "limits"),
    [
        ("2.1", {"cores": "-2"}),
        ("2.1", {"cores": str(2**31)}),
        ("2.1", {"force": True}),
        ("2.50", {"fixed_ips": 1}),
        ("2.57", {"injected_files": 1}),
    ],
)
def test_what_cannot_be_meant_for_a_class_is_refused(client, version, limits):
    assert put_class(client, version=version, **limits).json["badRequest"]["message"]


def test_limits_of_what_is_elsewhere_are_kept_for_those_who_ask(client):
    networks = ("fixed_ips", "floating_ips", "security_group_rules", "security_groups")
    assert {get(client, version="2.35")[name] for name in networks} == {-1}
    said = {"floating_ips": 5, "security_groups": 1, "injected_files": 2}
    told = put(client, version="2.35", **said, networks=3).json["quota_set"]
    assert {name: told[name] for name in said} == said
    assert get(client, version="2.35") == {"id": "project", **told}
    assert put(client, f"{PATH}?user_id=bob", version="2.35", networks=2).status_code == 200


def test_deleted_quotas_are_the_default_ones_again(client):
    put_class(client, cores=15)
    put(client, cores=3, ram=1)
    for _ in range(2):
        answer = client.delete(PATH)
        assert (answer.status_code, answer.text) == (202, "")
    assert [get(client)[name] for name in ("cores", "ram")] == [15, 51200]


def test_a_boot_asks_for_its_limits_at_once(world):
    boot(world.client)
    with count_statements(world) as counted:
        boot(world.client)
    asked = [statement for statement in counted.seen if "quota_limits" in statement]
    assert len(asked) == 1
