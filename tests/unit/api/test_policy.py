import os

import pytest
from oslo_policy import policy as oslo_policy

from roost import conf, exception
from roost.api import policies
from roost.api.policy import Policy
from tests.builders import a_context

_ROLES = ("reader", "member", "manager", "service", "admin")
_FOR_SERVICES = policies.base.SERVICE.removeprefix("rule:")


@pytest.fixture
def policy():
    return Policy(conf.of({}))


def _caller(*roles, project="project"):
    return a_context(roles=list(roles), project_id=project)


def test_a_reader_may_look_but_not_touch(policy):
    reader = _caller("reader")
    assert policy.allows(reader, policies.servers.SHOW)
    assert not policy.allows(reader, policies.servers.CREATE)


def test_a_member_may_not_look_into_other_projects(policy):
    member = _caller("member", "reader")
    assert policy.allows(member, policies.servers.SHOW, project_id="project")
    assert not policy.allows(member, policies.servers.SHOW, project_id="other")


def test_an_administrator_may_do_everything_everywhere(policy):
    admin = _caller("admin")
    for rule in policies.list_rules():
        if rule not in policies.base.RULES:
            assert policy.allows(admin, rule.name, project_id="other"), rule.name


def test_somebody_without_a_role_may_only_read_what_is_no_secret_and_keep_keys(policy):
    nobody = _caller()
    documented = [r for r in policies.list_rules() if getattr(r, "operations", None)]
    allowed = {rule.name for rule in documented if policy.allows(nobody, rule.name)}
    keys = {rule.name for rule in policies.keypairs.RULES}
    assert allowed == keys | {rule.name for rule in documented if rule.check_str == "@"}
    assert allowed - keys == {
        policies.versions.VERSIONS,
        policies.openapi.SHOW,
        policies.quota_sets.DEFAULTS,
        *(rule.name for rule in policies.extensions.RULES),
        "os_compute_api:os-floating-ip-pools",
    }


def test_what_belongs_to_a_user_is_for_that_user_and_administrators(policy):
    for rule in policies.keypairs.RULES:
        assert policy.allows(_caller(), rule.name, project_id="other", user_id="user")
        assert not policy.allows(_caller("member", "reader"), rule.name, user_id="other")
        assert policy.allows(_caller("admin"), rule.name, user_id="other")


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
    return Policy(conf.load([], files=[str(options)]), clock)


def test_a_change_of_the_operators_file_counts_within_a_second(file):
    clock = Clock()
    policy = _of_file(file, clock)
    assert policy.allows(_caller("reader"), policies.servers.SHOW)
    file.write_text(f'"{policies.servers.SHOW}": "!"')
    os.utime(file, (2_000_000_000, 2_000_000_000))
    assert policy.allows(_caller("reader"), policies.servers.SHOW)
    clock.now += 1
    assert not policy.allows(_caller("reader"), policies.servers.SHOW)


def test_what_was_decided_of_one_caller_says_nothing_of_another(policy):
    for project, roles, allowed in (
        ("a", ["reader"], True),
        ("b", ["reader"], False),
        ("a", [], 0),
    ):
        for _ in range(2):
            caller = _caller(*roles, project=project)
            found = policy.allows(caller, policies.servers.SHOW, project_id="a")
            assert found is bool(allowed)


def test_who_was_asked_outside_is_asked_again(file, monkeypatch):
    file.write_text(f'"{policies.servers.SHOW}": "http://127.0.0.1:1/"')
    answers = iter([True, False])
    monkeypatch.setattr(oslo_policy.Enforcer, "authorize", lambda *_args, **_more: next(answers))
    policy = _of_file(file, Clock())
    asked = [policy.allows(_caller("reader"), policies.servers.SHOW) for _ in range(2)]
    assert asked == [True, False]


def test_a_refusal_names_the_rule(policy):
    with pytest.raises(exception.Forbidden, match="os-services:list"):
        policy.require(_caller("member"), policies.services.LIST)


def _policy(tmp_path, *, options="", **rules):
    """Make a policy of an operator who has a file of their own."""
    lines = [f'"{name}": "{check}"' for name, check in rules.items()]
    (tmp_path / "policy.yaml").write_text("\n".join(lines) or "{}")
    path = tmp_path / "roost.conf"
    path.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n{options}\n")
    policy = Policy(conf.load([], files=[str(path)]))
    policy.load()
    return policy


def test_the_operators_file_overrules_the_defaults(tmp_path):
    policy = _policy(tmp_path, **{policies.services.LIST: "role:member"})
    assert policy.allows(_caller("member"), policies.services.LIST)
    assert not policy.allows(_caller("reader"), policies.services.LIST)


def test_a_rule_that_became_several_still_counts_in_the_operators_file(tmp_path):
    policy = _policy(tmp_path, **{"os_compute_api:os-services": "role:operator"})
    for rule in (policies.services.LIST, policies.services.UPDATE, policies.services.DELETE):
        assert policy.allows(_caller("operator"), rule)
        assert not policy.allows(_caller("admin"), rule)


def test_the_operator_says_who_is_an_administrator(tmp_path):
    policy = _policy(tmp_path, context_is_admin="role:cloud_admin")
    assert policy.is_admin(_caller("cloud_admin"))
    assert policy.allows(_caller("cloud_admin"), policies.services.LIST)
    assert not policy.is_admin(_caller("admin"))
    assert not policy.allows(_caller("admin"), policies.services.LIST)


def test_the_former_defaults_let_who_works_in_a_project_do_what_members_may(tmp_path):
    policy = _policy(tmp_path, options="enforce_new_defaults = false")
    assert policy.allows(_caller(), policies.servers.CREATE)
    assert not policy.allows(_caller("member"), policies.servers.SHOW, project_id="other")
    assert not policy.allows(_caller("member"), policies.services.LIST)


def test_tokens_of_the_system_and_of_domains_are_for_other_services(policy):
    for scope in ({"system_scope": "all"}, {"domain_id": "default"}):
        caller = a_context(roles=["admin"], project_id=None, **scope)
        assert not policy.allows(caller, policies.services.LIST)
        assert not policy.allows(caller, policies.servers.LIST)


def test_what_is_for_services_is_for_them_and_administrators(policy):
    allowed = {role for role in _ROLES if policy.allows(_caller(role), _FOR_SERVICES)}
    assert allowed == {"service", "admin"}


def test_what_is_for_managers_is_for_those_of_the_project(policy):
    rule = policies.migrations.LIST
    assert policy.allows(_caller("manager"), rule)
    assert not policy.allows(_caller("manager"), rule, project_id="other")
    assert not policy.allows(_caller("member"), rule)


def test_a_file_may_ask_whether_somebody_is_an_administrator(tmp_path):
    policy = _policy(tmp_path, **{policies.servers.LIST: "is_admin:True"})
    assert policy.allows(a_context(is_admin=True), policies.servers.LIST)
    assert not policy.allows(a_context(roles=["admin"], is_admin=False), policies.servers.LIST)
