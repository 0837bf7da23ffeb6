"""What a host keeps for the interfaces of guests comes before the guest, and goes with it."""

import dataclasses

import pytest

from roost import exception, states
from roost.compute.network.local import LocalNetworkDriver
from tests.builders import a_uuid
from tests.unit.compute.conftest import run


class PluggingNetworks(LocalNetworkDriver):
    """Remembers what is plugged."""

    def __init__(self, conductor, *, host):
        super().__init__(conductor, host=host)
        self.kept = {}
        self.restored = 0
        self.stuck = False

    def allocate(self, context, instance):
        return self.plug(instance, super().allocate(context, instance))

    def plug(self, instance, info):
        self.kept[instance.uuid] = [vif.id for vif in info.vifs]
        return info

    def unplug(self, instance_uuid):
        if self.stuck:
            raise exception.Internal("it is stuck")
        self.kept.pop(instance_uuid, None)

    def plugged(self):
        return sorted(self.kept)

    def restore(self):
        self.restored += 1


@pytest.fixture
def networks(rig):
    networks = PluggingNetworks(rig.conductor, host="h1")
    rig.host = dataclasses.replace(rig.host, networks=networks)
    return networks


@pytest.fixture
def server(rig, boot, networks):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    assert instance.vm_state == states.ACTIVE
    return manager, instance


def test_a_guest_is_plugged_as_long_as_it_is_there(networks, server):
    manager, instance = server
    assert [*networks.kept] == [instance.uuid]
    instance.task_state = states.DELETING
    run(manager, instance, kind="delete")
    assert networks.kept == {}


def test_a_guest_whose_interfaces_are_stuck_stays_deleting(rig, networks, server):
    manager, instance = server
    instance.task_state = states.DELETING
    networks.stuck = True
    run(manager, instance, kind="delete")
    assert instance.uuid not in rig.conductor.buried
    networks.stuck = False
    run(manager, instance, kind="delete")
    assert (networks.kept, instance.uuid in rig.conductor.buried) == ({}, True)


@pytest.mark.parametrize("step", ["network", "image", "spawn"])
def test_a_build_that_fails_leaves_nothing_plugged(rig, boot, networks, step):
    rig.trouble({"step": step, "kind": "reschedulable"})
    boot(rig.manager(), rig.instance())
    assert (len(rig.conductor.rescheduled), networks.kept) == (1, {})


def test_a_guest_that_is_made_anew_is_plugged_anew(rig, networks, server):
    manager, instance = server
    networks.kept.clear()
    instance.task_state = states.REBUILDING
    rig.conductor.images[instance.uuid] = rig.image
    instance.attempt += 1
    run(manager, instance, kind="rebuild")
    assert [*networks.kept] == [instance.uuid]


def test_what_is_plugged_for_nobody_is_found_at_the_next_comparison(rig, networks, server):
    manager, instance = server
    networks.kept[a_uuid()] = []
    manager.reconcile()
    assert [*networks.kept] == [instance.uuid]
    assert networks.restored == 1
