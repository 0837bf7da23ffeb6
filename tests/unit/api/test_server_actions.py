"""Whose rule counts when somebody acts on a server."""

import pytest

from roost import conf, exception
from roost.api.locator import ServerRef
from roost.api.policy import Policy
from roost.api.request import Call, Query
from roost.api.servers import actions
from roost.standalone.tables import list_rules
from tests.builders import a_context, an_instance


@pytest.fixture
def policy(tmp_path):
    """Operators may stop servers of all projects; the rest is as it comes."""
    (tmp_path / "policy.yaml").write_text('"os_compute_api:servers:stop": "role:operator"\n')
    options = tmp_path / "roost.conf"
    options.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    return Policy(conf.load([], files=[str(options)]), list_rules())


def _require(policy, action, *, roles, project):
    call = Call(
        context=a_context(roles=roles),
        version=104,
        path="/v2.1/servers/x/action",
        params={},
        query=Query({}),
        body={action: None},
        base_url="http://api",
        policy=policy,
        rule="roost:servers:action",
    )
    call.may_touch(project, name="it")
    server_ref = ServerRef(an_instance(project_id=project), None)
    actions._require(call, actions.ACTIONS[action].rule, server_ref)


def test_who_may_stop_servers_everywhere_may_not_reboot_them_there(policy):
    roles = ["operator", "member"]
    _require(policy, "os-stop", roles=roles, project="other")
    _require(policy, "reboot", roles=roles, project="project")
    with pytest.raises(exception.Forbidden, match="servers:reboot"):
        _require(policy, "reboot", roles=roles, project="other")


def test_a_member_cannot_do_what_the_operator_took_away(policy):
    with pytest.raises(exception.Forbidden, match="servers:stop"):
        _require(policy, "os-stop", roles=["member"], project="project")


def test_a_reader_may_do_nothing(policy):
    with pytest.raises(exception.NotFound):
        _require(policy, "os-start", roles=["reader"], project="project")
