"""What a host makes of guests that its hypervisor tells of: each is looked at, and no other."""

import pytest

from roost import states
from roost.compute.virt.fake.driver import FakeDriver
from tests.builders import a_uuid
from tests.unit.compute.reconcile_harness import World


class Telling(FakeDriver):
    """A hypervisor that tells of its guests."""

    def listen(self, told):
        self.told = told


@pytest.fixture
def told(rig, boot):
    rig.virt.__class__ = Telling
    return World(rig, boot)


def test_a_guest_that_is_told_of_is_looked_at_and_no_other(told):
    stopped, other = told.server(), told.server()
    for instance in (stopped, other):
        told.virt.power_off(instance.uuid)
    told.virt.told(stopped.uuid)
    told.manager.follow()
    assert (stopped.vm_state, other.vm_state) == (states.STOPPED, states.ACTIVE)


def test_when_nobody_knows_which_guest_changed_all_are_looked_at(told):
    instance = told.server()
    told.virt.power_off(instance.uuid)
    told.virt.told(a_uuid())
    told.virt.told(None)
    told.manager.follow()
    assert instance.vm_state == states.STOPPED
