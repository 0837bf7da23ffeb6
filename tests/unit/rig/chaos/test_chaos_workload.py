"""The clients of a chaos run, against an API that is made up."""

import pytest

from roost import exception
from roost.rig import boots
from roost.rig.chaos.storm import Storm
from roost.rig.chaos.wishes import StormRequest
from tests.stories.cloud import wait_until


class Api:
    """Keeps servers; answers what it is told to first."""

    def __init__(self):
        self.known = {}
        self.bodies = []
        self.refusals = []  # of posts
        self.refused_deletes = []
        self.deleted = []

    def servers(self):
        return [
            {"id": identity, "name": name, "status": "ACTIVE"}
            for identity, name in self.known.items()
        ]

    def server(self, identity):
        if identity not in self.known:
            raise exception.NotFound(identity)
        return {}

    def post(self, path, body):
        self.bodies.append(body)
        self._answer(self.refusals)
        if path == "/os-server-groups":
            return {"server_group": {"id": "group-1"}}
        name, count = body["server"]["name"], body["server"].get("min_count", 1)
        names = [name] if count == 1 else [f"{name}-{number + 1}" for number in range(count)]
        for each in names:
            self.known[f"id-{each}"] = each
        return {"server": {"id": f"id-{name}"}, "reservation_id": "r"}

    def delete(self, path):
        self._answer(self.refused_deletes)
        identity = path.rpartition("/")[2]
        self.deleted.append(identity)
        if self.known.pop(identity, None) is None:
            raise exception.NotFound(identity)

    @staticmethod
    def _answer(refusals):
        if refusals:
            raise refusals.pop(0)


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def raging(api):
    storms = []

    def start(*wishes):
        storm = Storm(api, wishes, boots.BootRequest("1", "image", networks="none"), pause=0.01)
        storms.append(storm)
        storm.start()
        return storm

    yield start
    for storm in storms:
        storm.close()


def wish(**values):
    known = {"at": 0, "name": "a", "count": 1, "policy": "", "fate": "stay", "after": 0}
    return StormRequest(**(known | values))


def wait_for(storm, condition, what):
    wait_until(lambda: any(condition(server) for server in storm.register.all()), what)
    return storm.register.all()


def test_a_server_is_asked_for_and_watched(raging):
    storm = raging(wish())
    (server,) = wait_for(storm, lambda server: server.settled, "it is ACTIVE")
    assert (server.answer, server.ids, server.state) == ("accepted", ["id-a"], "ACTIVE")


def test_a_server_is_deleted_when_it_is_its_fate_until_it_is_accepted(raging, api):
    api.refused_deletes.append(exception.Unavailable("nobody is there"))
    storm = raging(wish(fate="when active"))
    (server,) = wait_for(storm, lambda server: server.gone, "it is gone")
    assert server.delete_accepted
    assert api.deleted == ["id-a"]
    assert storm.answers.counts["DELETE server", "no answer"] == 1


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (exception.Conflict("no", status=403), "refused"),
        (exception.Conflict("later", status=503, retry_after="1"), "unknown"),
        (exception.Unavailable("lost"), "unknown"),
    ],
)
def test_a_request_is_sent_once_whatever_its_answer(raging, api, error, answer):
    api.refusals.append(error)
    storm = raging(wish())
    (server,) = wait_for(storm, lambda _server: storm.answers.failures, "an answer")
    assert len(api.bodies) == 1
    wait_until(lambda: server.answer == answer, answer)
    assert not server.accepted


def test_when_it_is_over_nothing_is_deleted_any_more_until_all_is(raging, api):
    storm = raging(wish())
    (server,) = wait_for(storm, lambda server: server.settled, "it is ACTIVE")
    storm.end()
    assert server.delete_asked is None
    storm.delete_all()
    wait_for(storm, lambda server: server.gone, "it is gone")
