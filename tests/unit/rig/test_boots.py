"""Booting servers and watching them; the API here is a fake with a script of states."""

import itertools

import pytest

from roost import exception
from roost.rig import boots
from roost.rig.boots import BootRequest

WISH = BootRequest(flavor="1", image="i")


class FakeApi:
    """Answers like :class:`roost.rig.client.Client`: each look moves every server on."""

    def __init__(self, *script):
        self.script = script
        self.looks = {}
        self.bodies = []
        self.numbers = itertools.count(1)

    def create_servers(self, body, *, count=1):
        self.bodies.append(body)
        ids = [f"id-{next(self.numbers)}" for _ in range(count)]
        self.looks.update(dict.fromkeys(ids, 0))
        return ids

    def servers(self, **_query):
        for server_id, looks in list(self.looks.items()):
            state = self.script[min(looks, len(self.script) - 1)]
            self.looks[server_id] += 1
            yield {"id": server_id, "status": state, "OS-EXT-SRV-ATTR:host": "cell1-host1"}

    def delete_server(self, server_id):
        del self.looks[server_id]


def test_a_boot_ends_when_all_servers_are_done():
    servers = boots.boot(FakeApi("BUILD", "ACTIVE"), WISH, count=3, timeout=10)
    assert boots.states(servers) == {"ACTIVE": 3}
    assert all(server.seconds > 0 for server in servers)


def test_a_boot_that_takes_too_long_is_left_where_it_is():
    (server,) = boots.boot(FakeApi("BUILD"), WISH, count=1, timeout=0.2)
    assert (server.state, server.seconds) == ("BUILD", None)


def test_many_servers_may_be_asked_for_at_once():
    api = FakeApi("ACTIVE")
    servers = boots.boot(api, WISH, count=5, timeout=10, per_request=2)
    assert len(api.bodies) == 3
    assert len({server.name for server in servers}) == 5


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(exception.NotFound, match="there are: tiny"):
        boots.choose([{"id": "1", "name": "tiny"}], "big", "flavor")
