"""How a rig is told to be, also when much of it is not there."""

import types

import oslo_messaging as messaging
import pytest

from roost.rig import health
from roost.rig.client import Client
from roost.rig.openstack.plan import Openstack
from tests.builders import CELL1

HOST = types.SimpleNamespace(name="cell1-host1", topic="compute", cell="cell1")


class Line:
    """A bus on which every call ends in the same way."""

    def __init__(self, end):
        self._end = end

    def client(self, _topic):
        return self

    def prepare(self, **_how):
        return self

    def call(self, *_message):
        raise self._end

    def check_replies(self):
        pass


@pytest.mark.parametrize(
    "end",
    [
        messaging.MessagingTimeout(),
        messaging.MessageUndeliverable(None, "exchange", "key", "message"),
        messaging.MessageDeliveryFailure("connection refused"),
    ],
)
def test_a_daemon_that_cannot_be_reached_does_not_answer(end):
    assert health._ping(None, HOST, Line(end)) == (False, "no")


def test_a_daemon_whose_cell_is_away_is_not_well(monkeypatch):
    known = {"host": HOST.name, "binary": "roost-compute", "status": "UNKNOWN", "id": CELL1}
    monkeypatch.setattr(Client, "services", lambda _self: [known])
    plan = types.SimpleNamespace(
        endpoint="http://127.0.0.1:1", embedded=True, daemons=[HOST], openstack=Openstack()
    )
    supervisor = types.SimpleNamespace(list_processes=list)
    _whole, host = health.look(plan, supervisor)
    assert (host.answers, host.heartbeat) == (False, "in a cell that is away")
