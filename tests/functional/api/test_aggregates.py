"""Aggregates and the zones that they make, as clients see them."""

import logging

import pytest

from roost import conf, exception
from roost.api.policy import Policy
from roost.standalone.tables import list_rules
from tests.api_harness import ALICE
from tests.builders import CELL1

PATH = "/v2.1/os-aggregates"


@pytest.fixture
def create(client):
    """Create an aggregate with hosts and return its path."""

    def create(name="a", *hosts, zone=None):
        body = {"aggregate": {"name": name, "availability_zone": zone}}
        path = f"{PATH}/{client.post(PATH, body).json['aggregate']['id']}"
        for host in hosts:
            assert _act(client, path, add_host={"host": host}).status_code == 200
        return path

    return create


def _act(client, path, **action):
    return client.post(f"{path}/action", action)


def _set(client, path, **metadata):
    return _act(client, path, set_metadata={"metadata": metadata})


def _show(client, path, version="2.41"):
    return client.get(path, version=version).json["aggregate"]


def _message(answer):
    ((fault, told),) = answer.json.items()
    assert told["code"] == answer.status_code
    return fault, told["message"]


def test_an_aggregate_is_created_without_telling_of_hosts(client):
    body = {"aggregate": {"name": "ssd", "availability_zone": "east"}}
    answer = client.post(PATH, body, version="2.41")
    made = answer.json["aggregate"]
    assert answer.status_code == 200
    assert (made["name"], made["availability_zone"]) == ("ssd", "east")
    assert (made["deleted"], made["deleted_at"], made["updated_at"]) == (False, None, None)
    assert {"id", "uuid", "created_at"} < set(made)
    assert not {"hosts", "metadata"} & set(made)


def test_an_aggregate_is_shown_with_hosts_and_metadata(client, create):
    path = create("a", "h2", "h1", zone="west")
    shown = _show(client, path)
    assert (shown["hosts"], shown["metadata"]) == (["h1", "h2"], {"availability_zone": "west"})
    assert client.get(PATH, version="2.41").json["aggregates"] == [shown]


def test_an_aggregate_is_renamed_and_becomes_a_zone(client, create):
    body = {"aggregate": {"name": "b", "availability_zone": "east"}}
    changed = client.put(create(), body).json["aggregate"]
    assert (changed["name"], changed["availability_zone"]) == ("b", "east")
    assert changed["updated_at"]


def test_an_empty_aggregate_is_deleted(client, create):
    path = create()
    answer = client.delete(path)
    assert (answer.status_code, answer.text) == (200, "")
    assert client.get(path).status_code == 404


def test_one_with_hosts_is_not(client, create):
    answer = client.delete(create("a", "h1"))
    assert answer.status_code == 400
    assert _message(answer) == (
        "badRequest",
        "Cannot delete aggregate 1. Reason: Host aggregate is not empty.",
    )


def test_a_name_is_taken_once(client, create):
    create("a")
    path = create("b")
    for answer in (
        client.post(PATH, {"aggregate": {"name": "a"}}),
        client.put(path, {"aggregate": {"name": "a"}}),
    ):
        assert _message(answer) == ("conflictingRequest", "Aggregate a already exists.")


def test_a_host_that_is_there_is_not_added_again(client, create):
    answer = _act(client, create("a", "h1"), add_host={"host": "h1"})
    assert _message(answer) == ("conflictingRequest", "Aggregate 1 already has host h1.")


def test_a_host_is_in_one_zone(client, create):
    create("east", "h1", zone="east")
    answer = _act(client, create("west", zone="west"), add_host={"host": "h1"})
    reason = "One or more hosts already in availability zone(s) ['east']"
    assert _message(answer) == (
        "conflictingRequest",
        f"Cannot add host to aggregate 2. Reason: {reason}.",
    )


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"add_host": {"host": "h9"}}, "Compute host h9 could not be found."),
        ({"remove_host": {"host": "h2"}}, "Aggregate 1 has no host h2."),
    ],
)
def test_a_host_that_is_not_there_is_not_found(client, create, action, message):
    answer = _act(client, create("a", "h1"), **action)
    assert _message(answer) == ("itemNotFound", message)


@pytest.mark.parametrize(
    ("identity", "status"), [("7", 404), ("-1", 404), ("9" * 18, 404), ("a", 400)]
)
def test_an_aggregate_that_is_not_there_is_not_found(client, identity, status):
    path = f"{PATH}/{identity}"
    for answer in (
        client.get(path),
        client.put(path, {"aggregate": {"name": "b"}}),
        client.delete(path),
        _set(client, path, a="b"),
        _act(client, path, add_host={"host": "h1"}),
        _act(client, path, remove_host={"host": "h1"}),
    ):
        assert answer.status_code == status


@pytest.mark.parametrize(
    "aggregate",
    [
        {},
        {"name": ""},
        {"name": "a" * 256},
        {"name": "a", "availability_zone": "a:b"},
        {"name": "a", "availability_zone": ""},
        {"name": "a", "hosts": []},
    ],
)
def test_a_bad_aggregate_is_refused(client, aggregate):
    assert client.post(PATH, {"aggregate": aggregate}).status_code == 400


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"dance": {}},
        {"add_host": {}},
        {"add_host": {"host": "a b"}},
        {"set_metadata": {"metadata": {"a": 1}}},
        {"set_metadata": {"metadata": {"availability_zone": ""}}},
        {"set_metadata": {"metadata": {"availability_zone": "a:b"}}},
        {"add_host": {"host": "h1"}, "remove_host": {"host": "h1"}},
    ],
)
def test_a_bad_action_is_refused(client, create, action):
    assert _act(client, create(), **action).status_code == 400


def test_each_action_has_a_rule_of_its_own(world, create, tmp_path):
    path = create()
    rules = tmp_path / "policy.yaml"
    rules.write_text('"os_compute_api:os-aggregates:add_host": "role:member"')
    options = tmp_path / "roost.conf"
    options.write_text(f"[oslo_policy]\npolicy_file = {rules}\n")
    policy = Policy(conf.load([], files=[str(options)]), list_rules())
    object.__setattr__(world.parts, "policy", policy)
    answers = [
        world.client.post(f"{path}/action", action, token=ALICE)
        for action in ({"add_host": {"host": "h1"}}, {"remove_host": {"host": "h1"}})
    ]
    assert [answer.status_code for answer in answers] == [200, 403]


def test_every_change_is_told_the_schedulers(world, create):
    client, path = world.client, create("a", "h1", zone="east")
    client.put(path, {"aggregate": {"name": "b"}})
    _set(client, path, ssd="true")
    _act(client, path, remove_host={"host": "h1"})
    client.delete(path)
    told = world.scheduler.aggregates
    assert [(one.name, one.hosts, one.deleted) for one in told] == [
        ("a", [], False),
        ("a", ["h1"], False),
        ("b", ["h1"], False),
        ("b", ["h1"], False),
        ("b", [], False),
        ("b", [], True),
    ]
    assert [one.version for one in told] == sorted({one.version for one in told})


def test_a_refused_change_is_neither_made_nor_told(world, create):
    create("east", "h1", zone="east")
    path = create("other")
    told = len(world.scheduler.aggregates)
    world.client.put(path, {"aggregate": {"name": "east", "availability_zone": "west"}})
    assert _show(world.client, path)["name"] == "other"
    assert len(world.scheduler.aggregates) == told


def test_schedulers_that_are_away_learn_it_later(world, create, caplog):
    world.scheduler.away = True
    path = create("a", "h1")
    assert _show(world.client, path)["hosts"] == ["h1"]
    warnings = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert len(warnings) == 2
    assert "the schedulers were not notified" in caplog.text


@pytest.mark.parametrize(
    ("zone", "status"), [("nova", 200), ("west", 409)], ids=["their own", "another"]
)
def test_a_host_with_servers_is_added_only_to_the_zone_that_it_is_in(world, create, zone, status):
    path = create("a", zone=zone)
    world.place(host="h1")
    assert _act(world.client, path, add_host={"host": "h1"}).status_code == status


def test_a_host_with_servers_is_not_taken_out_of_its_zone(world, create):
    path = create("a", "h1", zone="west")
    world.place(host="h1")
    answer = _act(world.client, path, remove_host={"host": "h1"})
    reason = "One or more hosts contain instances in this zone"
    assert _message(answer) == (
        "conflictingRequest",
        f"Cannot remove host from aggregate {path.rpartition('/')[2]}. Reason: {reason}.",
    )


@pytest.mark.parametrize("zone", ["west", None])
def test_the_zone_of_hosts_with_servers_stays(world, create, zone):
    path = create("a", "h1", "h2", zone="east")
    world.place(host="h1")
    for answer in (
        world.client.put(path, {"aggregate": {"availability_zone": zone}}),
        _set(world.client, path, availability_zone=zone),
    ):
        assert answer.status_code == 400
        assert "contain instances" in answer.text
    assert _show(world.client, path)["availability_zone"] == "east"


def test_with_servers_on_its_hosts_all_else_may_change(world, create):
    path = create("a", "h1", zone="east")
    world.place(host="h1")
    assert world.client.put(path, {"aggregate": {"name": "b"}}).status_code == 200
    assert _set(world.client, path, availability_zone="east", a="b").status_code == 200
    assert _act(world.client, path, add_host={"host": "h2"}).status_code == 200


def test_deleted_servers_keep_no_host_where_it_is(world, create):
    world.place(host="h1", deleted_at=world.parts.now())
    path = create("a", zone="west")
    assert _act(world.client, path, add_host={"host": "h1"}).status_code == 200


def test_a_host_is_not_moved_while_its_cell_cannot_tell_of_servers(world, create, monkeypatch):
    def away():
        raise exception.Unavailable("the database is away")

    path = create("a", zone="west")
    monkeypatch.setattr(world.parts.cells.get(CELL1).database, "read", away)
    assert _act(world.client, path, add_host={"host": "h1"}).status_code == 503
    assert _show(world.client, path)["hosts"] == []


def _zones(client):
    found = client.get("/v2.1/os-availability-zone/detail").json["availabilityZoneInfo"]
    return {zone["zoneName"]: sorted(zone["hosts"]) for zone in found}


def test_the_zone_of_a_host_is_that_of_its_aggregate(client, create):
    create("a", "h1", zone="moon")
    create("b", "h1", "h2")
    assert _zones(client) == {"moon": ["h1"], "east": ["h2"]}


def test_services_are_listed_with_the_zones_of_aggregates(client, create):
    create("a", "h1", zone="moon")
    listed = client.get("/v2.1/os-services?binary=nova-compute", version="2.53").json["services"]
    assert {one["host"]: one["zone"] for one in listed} == {"h1": "moon", "h2": "nova"}


def test_metadata_that_adds_resources_to_hosts_is_checked(client, create, world):
    path = create("a", "h1")
    added = {"resources:CUSTOM_LICENSE": "20", "traits": "CUSTOM_LICENSED"}
    assert _set(client, path, **added).status_code == 200
    assert _show(client, path)["metadata"] == added
    for key, value in (("resources:CUSTOM_LICENSE", "many"), ("traits", "licensed")):
        answer = _set(client, path, **{key: value})
        fault, message = _message(answer)
        assert fault == "badRequest"
        assert f"{key}: '{value}' is no" in message
    assert _show(client, path)["metadata"] == added
    assert _set(client, path, **dict.fromkeys(added)).status_code == 200
    assert _show(client, path)["metadata"] == {}
