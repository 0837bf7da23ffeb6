import datetime

import pytest

from roost import exception
from roost.db.cell import actions
from roost.db.cell import models as cell_models
from roost.objects import InstanceAction, InstanceActionEvent
from tests.api_harness import ALICE
from tests.builders import CELL1, NOW, a_uuid


@pytest.fixture
def server(world):
    """A server with a finished create and a delete under way."""
    server = world.place(CELL1, host="h1")
    with world.databases[CELL1].begin() as session:
        actions.start(session, _action(server, "create", [_event()]))
        actions.start(session, _action(server, "delete", [], minutes=1))
    return server


def _action(server, name, events, *, minutes=0):
    return InstanceAction(
        instance_uuid=server.uuid,
        action=name,
        request_id=f"req-{name}",
        user_id="alice",
        project_id="project",
        start_time=NOW + datetime.timedelta(minutes=minutes),
        finish_time=None,
        message=None,
        events=events,
    )


def _event(name="spawn", *, seconds=0):
    return InstanceActionEvent(
        event=name,
        host="h1",
        start_time=NOW + datetime.timedelta(seconds=seconds),
        finish_time=NOW,
        result="Error",
        details="disk full",
    )


def _path(server, request_id=""):
    return f"/v2.1/servers/{server.uuid}/os-instance-actions{request_id and '/' + request_id}"


def _show(world, server, version, token=ALICE):
    answer = world.client.get(_path(server, "req-create"), version=version, token=token)
    return answer.json["instanceAction"]


def test_actions_are_listed_newest_first(world, server):
    listed = world.client.get(_path(server), token=ALICE).json["instanceActions"]
    assert [one["action"] for one in listed] == ["delete", "create"]
    assert "events" not in listed[0]


def test_events_of_an_action_are_told_newest_first(world, server):
    steps = [_event(name, seconds=second) for second, name in enumerate(("prepare", "send"))]
    with world.databases[CELL1].begin() as session:
        actions.start(session, _action(server, "resize", steps, minutes=2))
    answer = world.client.get(_path(server, "req-resize"), version="2.51", token=ALICE)
    told = answer.json["instanceAction"]["events"]
    assert [event["event"] for event in told] == ["send", "prepare"]


def test_what_happened_on_no_host_names_none(world, server):
    with world.databases[CELL1].begin() as session:
        session.execute(cell_models.instance_action_events.update().values(host=None))
    (event,) = _show(world, server, "2.62", token="admin:ops")["events"]
    assert (event["hostId"], "host" in event) == ("", False)


def test_the_list_has_pages_since_2_58(world, server):
    first = world.client.get(f"{_path(server)}?limit=1", token=ALICE, version="2.58").json
    assert [one["action"] for one in first["instanceActions"]] == ["delete"]
    path = first["links"][0]["href"].removeprefix("http://falconframework.org")
    second = world.client.get(path, token=ALICE, version="2.58").json
    assert [one["action"] for one in second["instanceActions"]] == ["create"]


@pytest.fixture
def gone(world, server):
    """The server, deleted."""
    world.end(server)
    return server


def test_their_history_is_found_where_they_were(world, gone):
    shown = world.client.get(_path(gone), token=ALICE, version="2.21").json["instanceActions"]
    assert [one["action"] for one in shown] == ["delete", "create"]
    one = world.client.get(_path(gone, "req-delete"), token=ALICE, version="2.21")
    assert one.json["instanceAction"]["action"] == "delete"


def test_while_their_cell_is_away_nobody_says_that_there_was_none(world, gone):
    world.databases[CELL1].read = _away
    assert world.client.get(_path(gone), token=ALICE, version="2.21").status_code == 503
    elsewhere = f"/v2.1/servers/{a_uuid()}/os-instance-actions"
    assert world.client.get(elsewhere, token=ALICE, version="2.21").status_code == 404


def _away():
    raise exception.Unavailable("cannot reach cell1")


def test_a_wish_has_no_history_yet(world):
    build_request = world.build_request()
    assert world.client.get(_path(build_request), token=ALICE).json == {"instanceActions": []}
    assert world.client.get(_path(build_request, "req-1"), token=ALICE).status_code == 404


def test_a_time_that_was_told_is_one_until_which_changes_are_found(world, server):
    with world.databases[CELL1].begin() as session:
        rows = cell_models.instance_actions
        precise = NOW + datetime.timedelta(microseconds=123_456)
        session.execute(rows.update().values(updated_at=precise))
    told = world.client.get(_path(server), token=ALICE, version="2.66").json["instanceActions"]
    second = told[0]["updated_at"]

    def found(**query):
        query = {name.replace("_", "-"): value for name, value in query.items()}
        answer = world.client.get(_path(server), params=query, token=ALICE, version="2.66")
        return len(answer.json["instanceActions"])

    assert found(changes_before=second) == found(changes_since=second) == len(told)
    assert found(changes_since=second, changes_before=second) == len(told)
    assert found(changes_before=f"{second[:19]}.123455") == 0
    assert found(changes_before=f"{second[:19]}.123456") == len(told)
    assert found(changes_before=f"{second[:19]}.0") == 0
