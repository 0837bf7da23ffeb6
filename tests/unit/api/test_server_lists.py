import pytest

from roost import conf, exception, states
from roost.api.policy import Policy
from roost.api.request import Call, Query
from roost.api.servers import lists
from roost.db.ordering import Sort
from roost.standalone.tables import list_rules
from tests.builders import a_context

POLICY = Policy(conf.of({}), list_rules())


def _wanted(*, roles=("member", "reader"), **query):
    call = Call(
        context=a_context(roles=list(roles)),
        version=104,
        path="/v2.1/servers",
        params={},
        query=Query({name.replace("__", "-"): value for name, value in query.items()}),
        body=None,
        base_url="http://api",
        policy=POLICY,
        rule="os_compute_api:servers:index",
    )
    return lists.wanted(call)


def test_what_is_no_regular_expression_is_refused_by_the_name_of_its_filter():
    for name in ("name", "ip", "ip6"):
        with pytest.raises(exception.Invalid, match=rf"{name}: 'a\(' is no regular expression"):
            _wanted(**{name: ["a("]})


def test_the_hosts_are_the_administrators_business():
    assert "host" not in _wanted(host=["h1"]).equal
    assert _wanted(roles=("admin",), host=["h1"]).equal["host"] == ["h1"]
    with pytest.raises(exception.Forbidden):
        _wanted(sort_key=["host"])


def test_a_status_that_no_server_ever_has_finds_nothing():
    assert _wanted(status=["UNKNOWN"]) is None
    assert _wanted(status=["UNKNOWN", "reboot"]).states == [(states.ACTIVE, states.REBOOTING)]


def test_a_status_is_what_a_server_of_that_state_shows():
    assert (states.STOPPED, None) in _wanted(status=["SHUTOFF"]).states
    active = _wanted(status=["ACTIVE"]).states
    assert {(states.ACTIVE, None), (states.ACTIVE, states.POWERING_OFF)} <= {*active}
    assert (states.ACTIVE, states.REBOOTING) not in active


def test_deleted_servers_are_shown_to_administrators():
    assert _wanted(deleted=["1"]).deleted is False
    assert _wanted(roles=("admin",), deleted=["1"]).deleted is True
    assert _wanted(roles=("admin",), status=["DELETED"]).deleted is True
    assert _wanted(roles=("admin",), status=["DELETED", "ACTIVE"]).deleted is None
    with pytest.raises(exception.Forbidden):
        _wanted(status=["DELETED"])


def test_an_order_always_ends_with_age_and_uuid():
    assert _wanted().order == [Sort("created_at", descending=True), Sort("uuid", descending=True)]
    assert _wanted(sort_key=["name"], sort_dir=["asc"]).order == [
        Sort("display_name"),
        Sort("created_at"),
        Sort("uuid"),
    ]
    assert _wanted(sort_key=["uuid", "created_at"], sort_dir=["asc", "desc"]).order == [
        Sort("uuid"),
        Sort("created_at", descending=True),
    ]


def test_more_directions_than_keys_are_refused():
    with pytest.raises(exception.Invalid):
        _wanted(sort_key=["name"], sort_dir=["asc", "desc"])


def test_locked_servers_are_asked_for_in_words_of_truth():
    assert _wanted(locked=["true"]).equal["locked"] == [True]
    assert _wanted(locked=["no", "1"]).equal["locked"] == [False, True]
    with pytest.raises(exception.Invalid):
        _wanted(locked=["perhaps"])
