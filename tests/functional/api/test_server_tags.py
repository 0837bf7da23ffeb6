"""Servers' tags as clients see them."""

from concurrent import futures

import pytest
import sqlalchemy as sa

from roost import states
from roost.db.cell import models
from tests.api_harness import ALICE, IMAGE, count_statements
from tests.builders import CELL1

_ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}
_BAD = [
    {"tags": [""]},
    {"tags": ["a/b"]},
    {"tags": ["a,b"]},
    {"tags": ["a" * 61]},
    {"tags": [1]},
    {"tags": [None]},
    {"tags": "a"},
    {"tags": [f"t{number}" for number in range(51)]},
    {"tags": ["a"], "more": 1},
    {},
]


def path(server, tag=None):
    return f"/v2.1/servers/{server.uuid}/tags" + ("" if tag is None else f"/{tag}")


def ask(world, method, where, version="2.26", token=ALICE, **more):
    return world.client.ask(method, where, version=version, token=token, **more)


def told(world, server):
    return ask(world, "GET", path(server)).json["tags"]


def listed(world, query, version="2.26"):
    answer = ask(world, "GET", f"/v2.1/servers?{query}", version=version)
    return sorted(one["name"] for one in answer.json["servers"])


def create(world, tags, version="2.52"):
    body = {"name": "web", "flavorRef": "1", "imageRef": IMAGE, "networks": "auto", "tags": tags}
    return world.client.post("/v2.1/servers", {"server": body}, token=ALICE, version=version)


def indexed(world, server, cell_uuid=CELL1):
    mine = models.instance_tags.c.instance_uuid == server.uuid
    with world.databases[cell_uuid].read() as session:
        return session.scalar(sa.select(sa.func.count()).where(mine))


@pytest.fixture
def tagged(world):
    return world.place(**_ACTIVE, display_name="web", tags=["a", "b"])


def test_a_server_is_created_with_tags_since_2_52(world):
    assert create(world, ["a"], version="2.51").status_code == 400
    uuid = create(world, ["b", "a", "b"]).json["server"]["id"]
    shown = ask(world, "GET", f"/v2.1/servers/{uuid}").json["server"]
    assert shown["tags"] == ["b", "a"]
    assert ask(world, "GET", f"/v2.1/servers/{uuid}/tags").json == {"tags": ["b", "a"]}
    assert listed(world, "tags=a,b") == ["web"]


@pytest.mark.parametrize("body", [body for body in _BAD if set(body) == {"tags"}])
def test_a_server_is_not_created_with_what_are_no_tags(world, body):
    assert create(world, body["tags"]).status_code == 400


def test_a_server_tells_its_tags(world, tagged):
    answer = ask(world, "GET", path(tagged))
    assert (answer.status_code, answer.json) == (200, {"tags": ["a", "b"]})


def test_a_server_tells_whether_it_has_a_tag(world, tagged):
    answer = ask(world, "GET", path(tagged, "a"))
    assert (answer.status_code, answer.text) == (204, "")
    missing = ask(world, "GET", path(tagged, "A")).json["itemNotFound"]
    assert missing == {"code": 404, "message": f"Server {tagged.uuid} has no tag 'A'"}


def test_a_new_tag_is_added_and_has_a_place(world, tagged):
    answer = ask(world, "PUT", path(tagged, "c%20%C3%A9"))
    assert (answer.status_code, answer.text) == (201, "")
    place = f"/v2.1/servers/{tagged.uuid}/tags/c%20%C3%A9"
    assert answer.headers["Location"] == f"http://falconframework.org{place}"
    assert told(world, tagged) == ["a", "b", "c é"]
    assert ask(world, "GET", place).status_code == 204


def test_a_tag_that_is_there_is_not_added_again(world, tagged):
    answer = ask(world, "PUT", path(tagged, "a"))
    assert (answer.status_code, answer.text) == (204, "")
    assert "Location" not in answer.headers
    assert told(world, tagged) == ["a", "b"]


@pytest.mark.parametrize("tag", ["a,b", "a" * 61])
def test_what_is_no_tag_is_not_added(world, tagged, tag):
    message = ask(world, "PUT", path(tagged, tag)).json["badRequest"]["message"]
    assert message.startswith(f"Tag '{tag}' is invalid. It must be a non empty string")
    assert ask(world, "GET", path(tagged, tag)).status_code == 404
    assert ask(world, "PUT", path(tagged, "a%2Fb")).status_code == 404


def test_a_server_has_so_many_tags_and_no_more(world, tagged):
    fifty = [f"t{number}" for number in range(50)]
    assert ask(world, "PUT", path(tagged), json={"tags": fifty}).json == {"tags": fifty}
    answer = ask(world, "PUT", path(tagged, "x"))
    expected = "The number of tags exceeded the per-server limit 50"
    assert answer.json["badRequest"] == {"code": 400, "message": expected}
    assert ask(world, "PUT", path(tagged, "t7")).status_code == 204
    assert told(world, tagged) == fifty


def test_all_tags_are_replaced(world, tagged):
    answer = ask(world, "PUT", path(tagged), json={"tags": ["c", "a", "c"]})
    assert (answer.status_code, answer.json) == (200, {"tags": ["c", "a"]})
    assert told(world, tagged) == ["c", "a"]
    assert ask(world, "PUT", path(tagged), json={"tags": []}).json == {"tags": []}


@pytest.mark.parametrize("body", _BAD)
def test_what_are_no_tags_is_refused(world, tagged, body):
    assert ask(world, "PUT", path(tagged), json=body).status_code == 400
    assert told(world, tagged) == ["a", "b"]


def test_one_tag_is_taken_away(world, tagged):
    answer = ask(world, "DELETE", path(tagged, "a"))
    assert (answer.status_code, answer.text) == (204, "")
    assert told(world, tagged) == ["b"]
    again = ask(world, "DELETE", path(tagged, "a")).json["itemNotFound"]
    assert again["message"] == f"Server {tagged.uuid} has no tag 'a'"


def test_all_tags_are_taken_away(world, tagged):
    for _ in range(2):
        answer = ask(world, "DELETE", path(tagged))
        assert (answer.status_code, answer.text) == (204, "")
    assert told(world, tagged) == []


def test_lists_follow_what_is_changed(world, tagged):
    ask(world, "PUT", path(tagged, "c"))
    assert listed(world, "tags=a,b,c") == ["web"]
    ask(world, "DELETE", path(tagged, "a"))
    assert (listed(world, "tags=a"), listed(world, "not-tags=a")) == ([], ["web"])
    ask(world, "PUT", path(tagged), json={"tags": ["b", "d"]})
    assert (listed(world, "tags-any=a,d"), listed(world, "not-tags-any=d,x")) == (["web"], [])
    ask(world, "DELETE", path(tagged))
    assert indexed(world, tagged) == 0


def test_a_list_of_many_with_tags_takes_as_few_statements_as_one(world):
    counts = []
    listed(world, "")  # which asks for the cells
    for _ in range(2):
        for number in range(3):
            world.place(**_ACTIVE, display_name=str(number), tags=["a", f"t{number}"])
        with count_statements(world) as counted:
            where = "/v2.1/servers/detail?tags=a&not-tags=x,y&tags-any=t0,t1,t2"
            assert ask(world, "GET", where).json["servers"]
        counts.append(counted.count)
    assert counts == [4, 4], counted.seen


def test_of_parallel_writers_of_one_tag_one_is_told_that_it_is_new(world, tagged):
    with futures.ThreadPoolExecutor(8) as threads:
        put = list(threads.map(lambda _: ask(world, "PUT", path(tagged, "c")), range(8)))
        deleted = list(threads.map(lambda _: ask(world, "DELETE", path(tagged, "c")), range(8)))
    assert sorted(answer.status_code for answer in put) == [201] + [204] * 7
    assert sorted(answer.status_code for answer in deleted) == [204] + [404] * 7
