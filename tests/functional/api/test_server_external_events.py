"""What neighbours tell of servers, and what becomes of it."""

import pytest

from roost.objects.mapping import CELL0_UUID
from tests.builders import CELL1, CELL2, a_uuid

PATH = "/v2.1/os-server-external-events"
CHANGED, PLUGGED = "network-changed", "network-vif-plugged"
EXTENDED, POWER = "volume-extended", "power-update"


def event(server_uuid, name=CHANGED, **more):
    return {"name": name, "server_uuid": server_uuid, **more}


def tell(world, *events, version="2.93", **more):
    return world.client.post(PATH, {"events": list(events)}, version=version, **more)


def heard(world):
    """Return what hosts were told: (host, names of events and their tags)."""
    return {
        server: [(one["name"], one["tag"]) for one in map(data, arguments["events"])]
        for bus in world.buses.values()
        for server, method, arguments in bus.sent
        if method == "external_instance_events"
    }


def data(sent):
    return sent.values() if not isinstance(sent, dict) else sent["roost_object.data"]


def codes(answer):
    return [(one["code"], one["status"]) for one in answer.json["events"]]


@pytest.fixture
def server(world):
    return world.place(CELL1, host="h1").uuid


def test_an_event_is_handed_to_the_host_of_its_server_and_told_back(world, server):
    port = a_uuid()
    answer = tell(world, event(server, PLUGGED, tag=port))
    told = {"name": PLUGGED, "server_uuid": server, "tag": port}
    assert answer.status_code == 200
    assert answer.json == {"events": [{**told, "status": "completed", "code": 200}]}
    assert heard(world) == {"h1": [(PLUGGED, port)]}


def test_each_host_gets_its_events_in_one_message_whatever_its_cell(world, server):
    other = world.place(CELL2, host="h2").uuid
    answer = tell(world, event(server, PLUGGED, tag="a"), event(other), event(server))
    assert codes(answer) == [(200, "completed")] * 3
    assert heard(world) == {"h1": [(PLUGGED, "a"), (CHANGED, None)], "h2": [(CHANGED, None)]}


def test_a_status_is_handed_on(world, server):
    assert codes(tell(world, event(server, PLUGGED, status="failed"))) == [(200, "failed")]


def test_of_several_events_some_may_fail_and_each_says_why(world, server):
    build_request, nowhere = world.build_request().uuid, world.place(CELL0_UUID).uuid
    answer = tell(
        world,
        event(server),
        event(a_uuid()),
        event(build_request),
        event(nowhere),
        event(server, EXTENDED),
    )
    assert answer.status_code == 207
    refused = [(404, "failed"), (422, "failed"), (422, "failed"), (400, "failed")]
    assert codes(answer) == [(200, "completed"), *refused]
    assert heard(world) == {"h1": [(CHANGED, None)]}


def test_events_of_which_none_finds_its_server_are_not_found(world):
    answer = tell(world, event(a_uuid()))
    assert answer.status_code == 404
    assert answer.json["itemNotFound"]["message"] == "No instances found for any event"


def test_a_host_that_cannot_be_told_is_not_ready(world, server):
    other = world.place(CELL2, host="h2").uuid
    world.buses["fake://cell1/"].away = True
    answer = tell(world, event(server), event(other))
    assert codes(answer) == [(422, "failed"), (200, "completed")]


@pytest.mark.parametrize("tag", [{}, {"tag": "SIDEWAYS"}])
def test_power_goes_on_or_off(world, server, tag):
    answer = tell(world, event(server, POWER, **tag), event(server))
    assert codes(answer) == [(400, "failed"), (200, "completed")]


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "lunch", "server_uuid": a_uuid()},
        {"name": CHANGED, "server_uuid": "web"},
        {"name": CHANGED, "server_uuid": a_uuid(), "status": "perhaps"},
        {"name": CHANGED},
        {"server_uuid": a_uuid()},
        {"name": CHANGED, "server_uuid": a_uuid(), "host": "h1"},
    ],
)
def test_what_is_no_event_is_refused(world, asked):
    assert tell(world, asked).status_code == 400
