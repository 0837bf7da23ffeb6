"""What guests are heard to say of themselves; the API here is a fake with a script of consoles."""

import pytest

from roost.rig.boots import WatchedServer
from roost.rig.hypervisors import demo

ONE, OTHER = (f"0000000{n}-1111-4222-8333-444444444444" for n in (1, 2))
SAID = "guest: boot 1\nguest: address {}/16\nguest: metadata of {}\n"


class FakeApi:
    """Each look at a console finds the next of what its guest says."""

    def __init__(self, **said):
        self.said = said

    def server(self, server_id):
        return {"addresses": {"private": [{"addr": "10.0.0.5"}]}}

    def post(self, path, body):
        script = self.said[path.split("/")[2][7]]
        return {"output": script.pop(0) if len(script) > 1 else script[0]}


def a_server(server_id, state="ACTIVE"):
    return WatchedServer(id=server_id, name="real-01", asked=0, accepted=0, state=state, host="h")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(demo, "_LOOK", 0)


def listen(api, *servers, timeout=5):
    told = []
    return demo.listen(api, servers, timeout=timeout, say=told.append), told


def test_who_says_what_the_api_says_is_right():
    whole = SAID.format("10.0.0.5", ONE)
    api = FakeApi(**{"1": ["", whole, whole + "guest: ready\n"]})
    (guest,), told = listen(api, a_server(ONE))
    assert guest.right
    assert guest.seconds is not None
    assert told == ["1 are not ready yet"]


@pytest.mark.parametrize(("address", "uuid"), [("10.0.0.6", ONE), ("10.0.0.5", OTHER)])
def test_who_says_something_else_is_not(address, uuid):
    api = FakeApi(**{"1": [SAID.format(address, uuid) + "guest: ready\n"]})
    (guest,), _ = listen(api, a_server(ONE))
    assert not guest.right
    assert guest.seconds is not None
