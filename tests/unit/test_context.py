"""What is told of a caller, to whom."""

import json

import pytest

from roost.context import RequestContext, admin_context
from roost.rpc.serializer import ContextSerializer, CopyingSerializer, ObjectSerializer

_CATALOG = [{"type": "image", "endpoints": [{"url": "http://images.example"}]}]
_TOKENS = {"auth_token": "secret-of-alice", "service_token": "secret-of-glance"}


def _caller(**values):
    return RequestContext(
        user_id="alice",
        user_name="Alice",
        project_id="blue",
        system_scope="all",
        roles=["member"],
        is_admin=False,
        is_admin_project=False,
        service_roles=["service"],
        service_catalog=_CATALOG,
        overwrite=False,
        **_TOKENS,
        **values,
    )


@pytest.mark.parametrize("kind", [ContextSerializer, CopyingSerializer])
def test_a_daemon_that_works_for_a_caller_may_speak_in_their_name(kind):
    wire = kind(ObjectSerializer())
    found = wire.deserialize_context(wire.serialize_context(_caller(deadline=9.0)))
    assert (found.auth_token, found.service_catalog) == ("secret-of-alice", _CATALOG)
    assert (found.user_id, found.user_name, found.project_id) == ("alice", "Alice", "blue")
    assert (found.roles, found.service_roles) == (["member"], ["service"])
    assert (found.system_scope, found.is_admin, found.is_admin_project) == ("all", False, False)
    assert found.deadline == 9.0


def test_the_token_of_the_service_that_asked_goes_nowhere():
    wire = ContextSerializer(ObjectSerializer())
    assert "secret-of-glance" not in json.dumps(wire.serialize_context(_caller()))


def test_what_anybody_may_know_has_no_token_and_no_catalog():
    caller = _caller()
    for told in (caller.to_dict(), caller.get_logging_values(), caller.to_policy_values()):
        words = json.dumps(dict(told))
        assert "secret" not in words
        assert "images.example" not in words


def test_a_copy_with_a_deadline_keeps_the_token():
    assert _caller().until(5).auth_token == "secret-of-alice"


def test_a_daemons_own_work_has_no_token():
    found = RequestContext.from_dict(admin_context().to_wire())
    assert (found.auth_token, found.service_catalog) == (None, [])
    assert found.is_admin
    assert found.is_admin_project


def test_a_context_of_the_last_release_is_understood():
    found = RequestContext.from_dict(
        {"user_id": "alice", "project_id": "blue", "roles": ["member"], "is_admin": False}
    )
    assert (found.user_id, found.roles, found.is_admin_project) == ("alice", ["member"], True)
