"""Servers' metadata as clients see it."""

import datetime
from concurrent import futures

import pytest

from roost import states
from roost.api.servers import metadata
from roost.db.api import models
from roost.db.cell import instances
from roost.db.cell import metadata as cell_metadata
from roost.objects.mapping import CELL0_UUID
from tests.api_harness import ALICE, IMAGE, count_statements
from tests.builders import CELL1
from tests.fakes.lost_commits import lost_answers

_ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}
_NO_ITEM = "Metadata item was not found"
_BAD = [
    {"metadata": {"": "a"}},
    {"metadata": {"k" * 256: "a"}},
    {"metadata": {"k": "a" * 256}},
    {"metadata": {"a/b": "c"}},
    {"metadata": {"a\n": "c"}},
    {"metadata": {"é": "c"}},
    {"metadata": {"k": 1}},
    {"metadata": {"k": None}},
    {"metadata": ["k"]},
    {"metadata": None},
    {"metadata": {}, "more": 1},
    {"meta": {"k": "a"}},
    {},
]


def many(count):
    return {f"k{number}": "v" for number in range(count)}


def path(server, key=None):
    return f"/v2.1/servers/{server.uuid}/metadata" + ("" if key is None else f"/{key}")


def told(world, server, token=ALICE):
    return world.client.get(path(server), token=token).json["metadata"]


def create(world, metadata, **values):
    body = {"name": "web", "flavorRef": "1", "imageRef": IMAGE, "metadata": metadata}
    return world.client.post("/v2.1/servers", {"server": body | values}, token=ALICE)


def limit(world, items):
    own = {"project_id": "project", "resource": "metadata_items", "hard_limit": items}
    with world.api_db.begin() as session:
        session.execute(models.quota_limits.insert().values(own))


@pytest.fixture
def noted(world):
    return world.place(**_ACTIVE, metadata={"a": "1", "b": "2"})


def test_a_server_keeps_what_it_was_created_with(world):
    metadata = {"k": "", "K": "v" * 255, "a-b_c:d. e": "é", "k" * 255: "v"}
    answer = create(world, metadata)
    shown = world.client.get(f"/v2.1/servers/{answer.json['server']['id']}", token=ALICE)
    assert shown.json["server"]["metadata"] == metadata


@pytest.mark.parametrize("body", [body for body in _BAD if body.get("metadata")])
def test_a_server_is_not_created_with_what_is_no_metadata(world, body):
    assert create(world, body["metadata"]).status_code == 400
    assert world.usage()["instances"] == 0


def test_a_server_is_created_with_so_many_items_and_no_more(world):
    assert create(world, many(128)).status_code == 202
    answer = create(world, many(129))
    expected = "Maximum number of metadata items exceeds 128"
    assert answer.json["forbidden"] == {"code": 403, "message": expected}
    assert world.usage()["instances"] == 1


def test_a_project_may_have_a_limit_of_its_own(world, noted):
    limit(world, 2)
    assert create(world, many(3)).status_code == 403
    answer = world.client.post(path(noted), {"metadata": {"c": "3"}}, token="admin:ops")
    assert answer.json["forbidden"]["message"] == "Maximum number of metadata items exceeds 2"
    assert create(world, many(2)).status_code == 202


def test_a_server_tells_its_metadata(world, noted):
    answer = world.client.get(path(noted), token=ALICE)
    assert (answer.status_code, answer.json) == (200, {"metadata": {"a": "1", "b": "2"}})
    one = world.client.get(path(noted, "a"), token=ALICE)
    assert (one.status_code, one.json) == (200, {"meta": {"a": "1"}})


@pytest.mark.parametrize("key", ["c", "A", "%C3%A9", "k" * 300])
def test_an_item_that_is_not_there_is_not_found(world, noted, key):
    for answer in (
        world.client.get(path(noted, key), token=ALICE),
        world.client.delete(path(noted, key), token=ALICE),
    ):
        assert answer.json["itemNotFound"] == {"code": 404, "message": _NO_ITEM}


def test_items_are_added_to_those_that_there_are(world, noted):
    answer = world.client.post(path(noted), {"metadata": {"b": "3", "c": "4"}}, token=ALICE)
    after = {"a": "1", "b": "3", "c": "4"}
    assert (answer.status_code, answer.json) == (200, {"metadata": after})
    assert told(world, noted) == after


def test_all_items_are_replaced(world, noted):
    answer = world.client.put(path(noted), {"metadata": {"c": "4"}}, token=ALICE)
    assert (answer.status_code, answer.json) == (200, {"metadata": {"c": "4"}})
    assert told(world, noted) == {"c": "4"}
    assert world.client.put(path(noted), {"metadata": {}}, token=ALICE).status_code == 200
    assert told(world, noted) == {}


def test_one_item_is_set(world, noted):
    for key, value in (("a", "3"), ("c", "4")):
        answer = world.client.put(path(noted, key), {"meta": {key: value}}, token=ALICE)
        assert (answer.status_code, answer.json) == (200, {"meta": {key: value}})
    assert told(world, noted) == {"a": "3", "b": "2", "c": "4"}


@pytest.mark.parametrize("meta", [{}, {"a": "1", "b": "2"}, {"a": 1}, None])
def test_one_item_is_set_by_just_one(world, noted, meta):
    assert world.client.put(path(noted, "a"), {"meta": meta}, token=ALICE).status_code == 400


def test_the_item_that_is_set_is_that_of_the_path(world, noted):
    answer = world.client.put(path(noted, "a"), {"meta": {"b": "1"}}, token=ALICE)
    assert answer.json["badRequest"]["message"] == "Request body and URI mismatch"


def test_one_item_is_deleted(world, noted):
    answer = world.client.delete(path(noted, "a"), token=ALICE)
    assert (answer.status_code, answer.text) == (204, "")
    assert told(world, noted) == {"b": "2"}
    assert world.client.delete(path(noted, "a"), token=ALICE).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("body", _BAD)
def test_what_is_no_metadata_is_refused(world, noted, method, body):
    assert world.client.ask(method, path(noted), json=body, token=ALICE).status_code == 400
    assert told(world, noted) == {"a": "1", "b": "2"}


def test_a_server_has_so_many_items_and_no_more(world, noted):
    full = {"metadata": many(126)}
    assert world.client.post(path(noted), full, token=ALICE).status_code == 200
    for answer in (
        world.client.post(path(noted), {"metadata": {"c": "3"}}, token=ALICE),
        world.client.put(path(noted, "c"), {"meta": {"c": "3"}}, token=ALICE),
        world.client.put(path(noted), {"metadata": many(129)}, token=ALICE),
    ):
        expected = "Maximum number of metadata items exceeds 128"
        assert answer.json["forbidden"]["message"] == expected
    assert len(told(world, noted)) == 128
    again = world.client.put(path(noted, "a"), {"meta": {"a": "3"}}, token=ALICE)
    assert again.status_code == 200


def writes(world, server, key="a"):
    """Try each write; yield what a refusal calls it, and the answer."""
    client, all_of_it = world.client, {"metadata": {key: "9"}}
    yield "update metadata", client.post(path(server), all_of_it, token=ALICE)
    yield "update metadata", client.put(path(server), all_of_it, token=ALICE)
    yield "update metadata", client.put(path(server, key), {"meta": {key: "9"}}, token=ALICE)
    yield "delete metadata", client.delete(path(server, key), token=ALICE)


@pytest.mark.parametrize(
    ("cell", "vm_state", "task_state"),
    [
        (CELL1, states.BUILDING, states.SPAWNING),
        (CELL1, states.ERROR, None),
        (CELL0_UUID, states.ERROR, None),
        (None, states.BUILDING, states.SCHEDULING),
    ],
)
def test_a_server_that_is_being_built_or_failed_is_not_changed(world, cell, vm_state, task_state):
    kept = world.place(cell, vm_state=vm_state, task_state=task_state, metadata={"a": "1"})
    for doing, answer in writes(world, kept):
        expected = f"Cannot '{doing}' instance {kept.uuid} while it is in vm_state {vm_state}"
        assert answer.json["conflictingRequest"] == {"code": 409, "message": expected}
    assert told(world, kept) == {"a": "1"}
    answer = world.client.delete(path(kept, "c"), token=ALICE)
    assert answer.json["itemNotFound"]["message"] == _NO_ITEM


@pytest.mark.parametrize("task_state", [None, states.POWERING_ON, states.DELETING])
def test_what_else_is_done_to_a_server_does_not_matter(world, task_state):
    stopped = world.place(
        vm_state=states.STOPPED, task_state=task_state, host="h1", metadata={"a": "1"}
    )
    assert {answer.status_code for _, answer in writes(world, stopped)} == {200, 204}


@pytest.mark.parametrize("vm_state", [*states.WITH_GUEST, states.RESIZED])
def test_every_server_with_a_guest_may_be_changed_even_while_it_waits_for_its_user(world, vm_state):
    kept = world.place(vm_state=vm_state, task_state=None, host="h1", metadata={"a": "1"})
    assert {answer.status_code for _, answer in writes(world, kept)} == {200, 204}
    server = f"/v2.1/servers/{kept.uuid}"
    for method, where, body in (
        ("PUT", "/tags", {"tags": ["x"]}),
        ("PUT", "", {"server": {"name": "new", "description": "new"}}),
        ("GET", "/os-interface", None),
        ("POST", "/action", {"addSecurityGroup": {"name": "default"}}),
        ("POST", "/action", {"lock": None}),
    ):
        more = {"json": body} if body else {}
        answer = world.client.ask(method, server + where, version="2.26", token=ALICE, **more)
        assert answer.status_code < 300, (method, where, answer.json)


def test_a_locked_server_keeps_its_metadata(world):
    kept = world.place(**_ACTIVE, locked=True, locked_by="owner", metadata={"a": "1"})
    for _doing, answer in writes(world, kept):
        assert answer.status_code == 409
        assert answer.json["conflictingRequest"]["message"] == f"Instance {kept.uuid} is locked"
    assert told(world, kept) == {"a": "1"}


def test_a_server_that_is_not_there_has_no_metadata(world, noted):
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, noted.uuid)
    assert {answer.status_code for _, answer in writes(world, noted)} == {404}
    assert world.client.get(path(noted), token=ALICE).status_code == 404


def test_it_is_no_change_of_the_server_itself(world):
    at = datetime.datetime(2026, 1, 3, tzinfo=datetime.UTC)
    kept = world.place(**_ACTIVE, updated_at=at)
    world.client.post(path(kept), {"metadata": {"c": "3"}}, token=ALICE)
    assert world.instance(kept.uuid).updated_at == at


def test_parallel_writers_lose_nothing(world, noted):
    keys = [f"k{number}" for number in range(16)]

    def add(key):
        return world.client.put(path(noted, key), {"meta": {key: "v"}}, token=ALICE).status_code

    with futures.ThreadPoolExecutor(8) as threads:
        assert {*threads.map(add, keys)} == {200}
    assert told(world, noted) == {"a": "1", "b": "2"} | dict.fromkeys(keys, "v")


def test_parallel_writers_do_not_pass_the_limit(world, noted):
    limit(world, 5)

    def add(number):
        return world.client.post(path(noted), {"metadata": {f"k{number}": "v"}}, token=ALICE)

    with futures.ThreadPoolExecutor(8) as threads:
        statuses = [answer.status_code for answer in threads.map(add, range(8))]
    assert sorted(statuses) == [200] * 3 + [403] * 5
    assert len(told(world, noted)) == 5


def test_who_loses_a_race_begins_again_with_what_the_winner_wrote(world, noted, monkeypatch):
    swap, lost = cell_metadata.swap, []

    def late(session, uuid, kind, *, before, value):
        if not lost:
            lost.append(value)
            winner = {"metadata": '{"w": "1"}'}
            session.execute(instances.models.instances.update().values(winner))
        return swap(session, uuid, kind, before=before, value=value)

    monkeypatch.setattr(cell_metadata, "swap", late)
    answer = world.client.post(path(noted), {"metadata": {"c": "3"}}, token=ALICE)
    assert answer.json["metadata"] == {"w": "1", "c": "3"}


def test_who_always_loses_is_told_so(world, noted, monkeypatch):
    monkeypatch.setattr(cell_metadata, "swap", lambda *_values, **_more: False)
    monkeypatch.setattr(metadata, "_TRIES", 3)
    answer = world.client.post(path(noted), {"metadata": {"c": "3"}}, token=ALICE)
    assert "try again" in answer.json["conflictingRequest"]["message"]


@pytest.mark.parametrize("committed", [True, False])
def test_an_item_whose_deletion_nobody_heard_of_is_deleted_once(world, noted, committed):
    with lost_answers(world.databases[CELL1], committed=committed) as lost:
        assert world.client.delete(path(noted, "a"), token=ALICE).status_code == 204
    assert lost[world.databases[CELL1]] == 1
    assert told(world, noted) == {"b": "2"}


def test_a_change_takes_few_statements(world, noted):
    body = {"metadata": {"c": "3"}}
    world.client.post(path(noted), body, token=ALICE)
    body["metadata"]["c"] = "4"
    with count_statements(world) as counted:
        world.client.post(path(noted), body, token=ALICE)
    assert counted.count == 5, counted.seen
