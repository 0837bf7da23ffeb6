"""Servers whose guests are gone are given up; and some come back."""

import functools

import pytest

from roost import states
from tests.builders import a_flavor
from tests.unit.compute.reconcile_harness import World


@pytest.fixture
def world(rig, boot):
    return World(rig, boot)


@pytest.fixture
def take_away(world):
    """Let the guests of servers be gone, as if another disk were mounted; return their files."""

    def take_away(servers):
        taken = {server.uuid: world.virt.contents(server.uuid) for server in servers}
        for uuid in taken:
            world.virt.destroy(uuid)
        return taken

    return take_away


def servers(world, count):
    small = a_flavor(memory_mb=64, root_gb=1)
    world.rig.instance = functools.partial(world.rig.instance, flavor=small)
    return [world.server() for _ in range(count)]


def test_servers_without_guests_are_given_up(world, take_away):
    lost, kept = servers(world, 2)
    take_away([lost])
    world.reconcile()
    assert (lost.vm_state, kept.vm_state) == (states.ERROR, states.ACTIVE)


@pytest.mark.parametrize("power", [states.RUNNING, states.SHUTDOWN])
def test_a_guest_that_is_found_again_brings_its_server_back(rig, world, take_away, power):
    (server,) = servers(world, 1)
    taken = take_away([server])
    world.reconcile()
    assert (server.vm_state, server.power_state) == (states.ERROR, states.NOSTATE)
    world.virt._write(server.uuid, taken[server.uuid] | {"power_state": power})
    world.reconcile()
    assert server.vm_state == states.AS_FOUND[power]
    assert world.kinds() == ["instance_lost", "guest_found"]


@pytest.mark.parametrize("values", [{"power_state": states.RUNNING}, {"announced": False}])
def test_other_errors_stay(rig, world, take_away, values):
    """What was declared, and the half of a guest that a rebuild left."""
    (server,) = servers(world, 1)
    server.vm_state, server.power_state = states.ERROR, values.get("power_state", states.NOSTATE)
    if "announced" in values:
        rig.unannounce(server.uuid)
    world.reconcile()
    assert server.vm_state == states.ERROR
