"""A build whose interfaces work only some time after its guest is there."""

import dataclasses

import pytest

from roost import exception, states


class SlowNetworks:
    """A network driver whose ports take time; ``error`` is what comes of waiting."""

    def __init__(self, networks, virt):
        self._networks, self._virt = networks, virt
        self.error = None
        self.waited = []

    def __getattr__(self, name):
        return getattr(self._networks, name)

    def await_plugged(self, instance, info, *, stopped):
        self.waited.append(self._virt.exists(instance.uuid))
        if self.error:
            raise self.error
        for vif in info.vifs:
            vif.mtu = 1450
        return info


@pytest.fixture
def networks(rig):
    made = SlowNetworks(rig.host.networks, rig.virt)
    rig.host = dataclasses.replace(rig.host, networks=made)
    return made


def test_it_waits_when_the_guest_is_there_and_tells_how_they_are_then(rig, boot, networks):
    instance = rig.instance()
    boot(rig.manager(), instance)
    assert networks.waited == [True]
    assert instance.vm_state == states.ACTIVE
    assert [vif.mtu for vif in instance.network_info.vifs] == [1450]


def test_without_interfaces_there_is_nothing_to_wait_for(rig, boot, networks):
    boot(rig.manager(), rig.instance(networks=[]))
    assert networks.waited == []


def test_when_they_do_not_work_the_guest_goes_and_another_host_is_asked(rig, boot, networks):
    networks.error = exception.BuildFailed("did not work")
    instance = rig.instance()
    boot(rig.manager(), instance)
    assert [each[0] for each in rig.conductor.rescheduled] == [instance.uuid]
    rig.assert_clean_slate()
