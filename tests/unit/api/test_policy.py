import os

import pytest
from oslo_policy import policy as oslo_policy

from roost import conf
from roost.api import openapi
from roost.api import policy as api_policy
from roost.api.compute import versions
from roost.api.legacy import extensions
from roost.api.policy import Policy
from roost.api.servers import policies as servers_policies
from roost.standalone.tables import list_rules
from tests.builders import a_context

_ROLES = ("reader", "member", "manager", "service", "admin")
_LIST_SERVICES = "os_compute_api:os-services:list"
_FOR_SERVICES = api_policy.SERVICE.removeprefix("rule:")


@pytest.fixture
def policy():
    return Policy(conf.of({}), list_rules())


def _caller(*roles, project="project"):
    return a_context(roles=list(roles), project_id=project)


def test_an_administrator_may_do_everything_everywhere(policy):
    admin = _caller("admin")
    for rule in list_rules():
        if rule not in api_policy.ROLES:
            assert policy.allows(admin, rule.name, project_id="other"), rule.name


def _rules_of_keys():
    return [rule.name for rule in list_rules() if ":os-keypairs:" in rule.name]


def test_somebody_without_a_role_may_only_read_what_is_no_secret_and_keep_keys(policy):
    nobody = _caller()
    documented = [r for r in list_rules() if getattr(r, "operations", None)]
    allowed = {rule.name for rule in documented if policy.allows(nobody, rule.name)}
    keys = set(_rules_of_keys())
    assert allowed == keys | {rule.name for rule in documented if rule.check_str == "@"}
    assert allowed - keys == {
        versions.VERSIONS_POLICY,
        openapi.OPENAPI_POLICY,
        "os_compute_api:os-quota-sets:defaults",
        extensions.READ_POLICY,
        "os_compute_api:os-floating-ip-pools",
    }


def test_what_belongs_to_a_user_is_for_that_user_and_administrators(policy):
    for rule in _rules_of_keys():
        assert policy.allows(_caller(), rule, project_id="other", user_id="user")
        assert not policy.allows(_caller("member", "reader"), rule, user_id="other")
        assert policy.allows(_caller("admin"), rule, user_id="other")


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("{}")
    return file


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def _of_file(file, clock):
    options = file.with_name("roost.conf")
    options.write_text(f"[oslo_policy]\npolicy_file = {file}\n")
    return Policy(conf.load([], files=[str(options)]), list_rules(), clock)


def test_a_change_of_the_operators_file_counts_within_a_second(file):
    clock = Clock()
    policy = _of_file(file, clock)
    assert policy.allows(_caller("reader"), servers_policies.SHOW)
    file.write_text(f'"{servers_policies.SHOW}": "!"')
    os.utime(file, (2_000_000_000, 2_000_000_000))
    assert policy.allows(_caller("reader"), servers_policies.SHOW)
    clock.now += 1
    assert not policy.allows(_caller("reader"), servers_policies.SHOW)


def test_what_was_decided_of_one_caller_says_nothing_of_another(policy):
    for project, roles, allowed in (
        ("a", ["reader"], True),
        ("b", ["reader"], False),
        ("a", [], 0),
    ):
        for _ in range(2):
            caller = _caller(*roles, project=project)
            found = policy.allows(caller, servers_policies.SHOW, project_id="a")
            assert found is bool(allowed)


def test_who_was_asked_outside_is_asked_again(file, monkeypatch):
    file.write_text(f'"{servers_policies.SHOW}": "http://127.0.0.1:1/"')
    answers = iter([True, False])
    monkeypatch.setattr(oslo_policy.Enforcer, "authorize", lambda *_args, **_more: next(answers))
    policy = _of_file(file, Clock())
    asked = [policy.allows(_caller("reader"), servers_policies.SHOW) for _ in range(2)]
    assert asked == [True, False]


def _policy(tmp_path, *, options="", **rules):
    """Make a policy of an operator who has a file of their own."""
    lines = [f'"{name}": "{check}"' for name, check in rules.items()]
    (tmp_path / "policy.yaml").write_text("\n".join(lines) or "{}")
    path = tmp_path / "roost.conf"
    path.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n{options}\n")
    policy = Policy(conf.load([], files=[str(path)]), list_rules())
    policy.load()
    return policy


def test_the_operators_file_overrules_the_defaults(tmp_path):
    policy = _policy(tmp_path, **{_LIST_SERVICES: "role:member"})
    assert policy.allows(_caller("member"), _LIST_SERVICES)
    assert not policy.allows(_caller("reader"), _LIST_SERVICES)


def test_a_rule_that_became_several_still_counts_in_the_operators_file(tmp_path):
    policy = _policy(tmp_path, **{"os_compute_api:os-services": "role:operator"})
    for operation in ("list", "update", "delete"):
        rule = f"os_compute_api:os-services:{operation}"
        assert policy.allows(_caller("operator"), rule)
        assert not policy.allows(_caller("admin"), rule)


def test_the_operator_says_who_is_an_administrator(tmp_path):
    policy = _policy(tmp_path, context_is_admin="role:cloud_admin")
    assert policy.is_admin(_caller("cloud_admin"))
    assert policy.allows(_caller("cloud_admin"), _LIST_SERVICES)
    assert not policy.is_admin(_caller("admin"))
    assert not policy.allows(_caller("admin"), _LIST_SERVICES)


def test_the_former_defaults_let_who_works_in_a_project_do_what_members_may(tmp_path):
    policy = _policy(tmp_path, options="enforce_new_defaults = false")
    assert policy.allows(_caller(), "os_compute_api:servers:create")
    assert not policy.allows(_caller("member"), servers_policies.SHOW, project_id="other")
    assert not policy.allows(_caller("member"), _LIST_SERVICES)


def test_tokens_of_the_system_and_of_domains_are_for_other_services(policy):
    for scope in ({"system_scope": "all"}, {"domain_id": "default"}):
        caller = a_context(roles=["admin"], project_id=None, **scope)
        assert not policy.allows(caller, _LIST_SERVICES)
        assert not policy.allows(caller, "os_compute_api:servers:index")


def test_what_is_for_services_is_for_them_and_administrators(policy):
    allowed = {role for role in _ROLES if policy.allows(_caller(role), _FOR_SERVICES)}
    assert allowed == {"service", "admin"}


def test_what_is_for_managers_is_for_those_of_the_project(policy):
    rule = "os_compute_api:os-migrations:index"
    assert policy.allows(_caller("manager"), rule)
    assert not policy.allows(_caller("manager"), rule, project_id="other")
    assert not policy.allows(_caller("member"), rule)
