"""What is told of a caller, to whom."""

import json
import time
from concurrent import futures

import pytest
from oslo_context.context import get_current

from roost import context, exception
from roost.context import RequestContext, admin_context, carried, current
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
        **_TOKENS,
        **values,
    )


@pytest.mark.parametrize("kind", [ContextSerializer, CopyingSerializer])
def test_a_daemon_that_works_for_a_caller_may_speak_in_their_name(kind):
    wire = kind(ObjectSerializer())
    found = wire.deserialize_context(
        wire.serialize_context(_caller(deadline=time.monotonic() + 900))
    )
    assert (found.auth_token, found.service_catalog) == ("secret-of-alice", _CATALOG)
    assert (found.user_id, found.user_name, found.project_id) == ("alice", "Alice", "blue")
    assert (found.roles, found.service_roles) == (["member"], ["service"])
    assert (found.system_scope, found.is_admin, found.is_admin_project) == ("all", False, False)
    assert 0 < found.deadline - time.monotonic() <= 900


def test_the_token_of_the_service_that_asked_goes_nowhere():
    wire = ContextSerializer(ObjectSerializer())
    assert "secret-of-glance" not in json.dumps(wire.serialize_context(_caller()))


def test_what_anybody_may_know_has_no_token_and_no_catalog():
    caller = _caller()
    for told in (caller.to_dict(), caller.get_logging_values(), caller.to_policy_values()):
        words = json.dumps(dict(told))
        assert "secret" not in words
        assert "images.example" not in words


def test_a_copy_without_token_tells_who_asks_and_lets_nobody_act_for_them():
    copy = _caller(deadline=9.0).without_token()
    assert (copy.auth_token, copy.service_catalog) == (None, [])
    assert copy.to_dict() == _caller(request_id=copy.request_id).to_dict()
    assert copy.deadline == 9.0


@pytest.fixture
def at(monkeypatch):
    """Set the clock of this process."""

    def set_clock(seconds):
        monkeypatch.setattr(context, "boot_clock", lambda: seconds)

    return set_clock


def test_what_is_sent_of_a_deadline_is_the_time_that_is_left(at):
    at(1_000_000.0)
    sent = _caller().until(60).to_wire()
    at(7.0)  # another machine, up since just now
    found = RequestContext.from_dict(sent)
    assert found.deadline == 67.0
    assert not found.expired


@pytest.mark.parametrize("left", ["soon", [], {}, 10**400])
def test_time_left_that_is_no_number_is_named(left):
    with pytest.raises(exception.Invalid, match="seconds_left is no number"):
        RequestContext.from_dict({"seconds_left": left})


def test_a_daemons_own_work_has_no_token():
    found = RequestContext.from_dict(admin_context().to_wire())
    assert (found.auth_token, found.service_catalog) == (None, [])
    assert found.is_admin
    assert found.is_admin_project


def test_log_lines_name_a_request_only_while_work_on_it_lasts():
    outer, inner = admin_context(), admin_context()
    assert get_current() is None
    with current(outer):
        with current(inner):
            assert get_current() is inner
        assert get_current() is outer
    assert get_current() is None


def test_work_of_a_request_names_it_in_another_thread_too():
    asked = admin_context()
    with current(asked):
        work = carried(get_current)
    with futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is asked
        assert pool.submit(get_current).result() is None


def test_log_lines_name_user_and_project():
    values = _caller().get_logging_values()
    assert (values["user"], values["project"], values["domain"]) == ("alice", "blue", None)
