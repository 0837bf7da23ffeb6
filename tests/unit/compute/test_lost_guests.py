"""Servers whose guests are gone: a few are given up, many wait for a word; and some come back."""

import functools

import pytest

from roost import states
from tests.builders import a_context, a_flavor
from tests.unit.compute.reconcile_harness import World

MOST = 3


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


def in_error(some):
    return sum(server.vm_state == states.ERROR for server in some)


def abandon(world):
    world.manager.reconcile_guests(a_context(), abandon=True)


@pytest.mark.parametrize("count", [1, MOST])
def test_a_few_servers_without_guests_are_given_up(world, take_away, count):
    gone = servers(world, count)
    take_away(gone)
    world.reconcile()
    assert in_error(gone) == count


def test_many_wait_for_a_word_and_are_told_of_once(world, take_away):
    gone = servers(world, MOST + 1)
    take_away(gone)
    for _ in range(3):
        world.reconcile()
    assert in_error(gone) == 0
    assert world.kinds() == ["instance_missing"] * len(gone)
    abandon(world)
    assert in_error(gone) == MOST + 1


def test_one_after_the_other_are_no_more_than_a_few_in_an_hour(rig, world, take_away):
    gone = servers(world, MOST + 2)
    for server in gone:
        take_away([server])
        world.reconcile()
    assert in_error(gone) == MOST
    rig.clock.advance(3601)
    world.reconcile()
    assert in_error(gone) == MOST + 2


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
