"""How many security groups and rules a project may have: what is there of itself counts, too."""

import pytest

from roost.api.dependencies import ApiOptions
from tests import api_harness
from tests.api_harness import ALICE
from tests.builders import a_uuid

GROUPS, RULES, LAST = "/v2.1/os-security-groups", "/v2.1/os-security-group-rules", "2.35"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    quota = {**dict.fromkeys(ApiOptions().quota, -1), "security_groups": 3}
    options = ApiOptions(quota={**quota, "security_group_rules": 9})
    with api_harness.made_in(tmp_path_factory.mktemp("limited"), options) as world:
        yield world


@pytest.fixture
def ask(client):
    def ask(method, path, body=None, *, token=ALICE):
        more = {} if body is None else {"json": body}
        return client.ask(method, path, token=token, version=LAST, **more)

    return ask


@pytest.fixture
def make(ask):
    def make(token=ALICE):
        words = {"name": a_uuid(), "description": ""}
        return ask("POST", GROUPS, {"security_group": words}, token=token)

    return make


def test_a_project_has_so_many_groups(ask, make):
    first, _ = make(), make()
    refused = make().json["forbidden"]["message"]
    assert "security_groups: asked for 1, used 3 of 3" in refused
    path = f"{GROUPS}/{first.json['security_group']['id']}"
    assert ask("DELETE", path).status_code == 202
    assert make().status_code == 200


def test_and_so_many_rules(ask, make):
    group = make(token="eve:rules").json["security_group"]  # four and two have gone by now
    asked = {"parent_group_id": group["id"], "ip_protocol": "tcp", "to_port": 9}
    bodies = [{"security_group_rule": {**asked, "from_port": port}} for port in range(1, 5)]
    made = [ask("POST", RULES, body, token="eve:rules") for body in bodies]
    assert [one.status_code for one in made] == [200, 200, 200, 403]
    assert make(token="eve:rules").status_code == 403


def test_limits_and_usage_are_told_until_2_35(ask, make):
    make(token="eve:told")
    absolute = ask("GET", "/v2.1/limits", token="eve:told").json["limits"]["absolute"]
    assert (absolute["maxSecurityGroups"], absolute["maxSecurityGroupRules"]) == (3, 9)
    assert absolute["totalSecurityGroupsUsed"] == 2
    detail = "/v2.1/os-quota-sets/told/detail"
    shown = ask("GET", detail, token="admin:ops").json["quota_set"]
    assert shown["security_group_rules"] == {"in_use": 6, "limit": 9, "reserved": 0}


def test_a_limit_is_not_set_below_what_is_used(ask, make):
    make(token="eve:lowered")
    path = "/v2.1/os-quota-sets/lowered"
    lower = {"quota_set": {"security_groups": 1}}
    assert ask("PUT", path, lower, token="admin:ops").status_code == 400
    assert (
        ask("PUT", path, {"quota_set": {"security_groups": 2}}, token="admin:ops").status_code
        == 200
    )
    assert make(token="eve:lowered").status_code == 403
