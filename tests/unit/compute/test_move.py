"""The steps of a move between two hosts, on one of them."""

import json

import pytest

from roost import states
from roost.operations.kinds import MIGRATE
from tests.builders import a_migration


@pytest.fixture
def server(rig, boot):
    instance = rig.instance(networks=[])
    boot(rig.manager(), instance)
    instance.vm_state, instance.power_state = states.ACTIVE, states.RUNNING
    return instance


@pytest.fixture
def send(server, do_step):
    """Have the host send the server to another host with this room, and return why it did not."""
    migration = a_migration(instance_uuid=server.uuid, source_host="h1", dest_host="h2")

    def send(room):
        row = {"migration": migration, "handover": json.dumps({"file": str(room)})}
        return do_step(server, "send", kind=MIGRATE, **row)["reason"]

    return send


def test_a_guest_is_stopped_only_if_it_can_move(rig, server, send, tmp_path):
    room = tmp_path / "room"
    rig.trouble({"step": "power", "kind": "final", "message": "it was stopped"})
    assert send(room) == f"There is no room for the guest {server.uuid} any more."
    room.touch()
    assert send(room) == "power: it was stopped"
