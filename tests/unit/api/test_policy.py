import pytest

from roost import conf, exception
from roost.api import policies
from roost.api.policy import Policy
from tests.builders import a_context


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
        assert policy.allows(admin, rule.name, project_id="other"), rule.name


def test_somebody_without_a_role_may_read_the_versions_only(policy):
    nobody = _caller()
    documented = [r.name for r in policies.list_rules() if getattr(r, "operations", None)]
    assert [n for n in documented if policy.allows(nobody, n)] == [policies.versions.VERSIONS]


def test_a_refusal_names_the_rule(policy):
    with pytest.raises(exception.Forbidden, match="os-services:list"):
        policy.require(_caller("member"), policies.services.LIST)


def test_the_operators_file_overrules_the_defaults(tmp_path):
    (tmp_path / "policy.yaml").write_text(f'"{policies.services.LIST}": "role:member"\n')
    options = tmp_path / "roost.conf"
    options.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    policy = Policy(conf.load([], files=[str(options)]))
    policy.load()
    assert policy.allows(_caller("member"), policies.services.LIST)
    assert not policy.allows(_caller("reader"), policies.services.LIST)
