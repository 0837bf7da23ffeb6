"""What a host makes of events."""

import dataclasses

import pytest

from roost import exception, states
from roost.objects import ExternalEvent, network
from tests.builders import a_context, a_uuid, a_vif


class HearingNetworks:
    """A network driver that notes what it hears."""

    def __init__(self, networks):
        self._networks = networks
        self.heard = []
        self.refreshed = []
        self.broken = False

    def __getattr__(self, name):
        return getattr(self._networks, name)

    def hear(self, event):
        self.heard.append((event.name, event.tag))

    def refresh(self, context, instance_uuid):
        if self.broken:
            raise exception.Unavailable("not now")
        self.refreshed.append(instance_uuid)


@pytest.fixture
def networks(rig):
    return HearingNetworks(rig.host.networks)


@pytest.fixture
def server(rig, boot, networks):
    rig.host = dataclasses.replace(rig.host, networks=networks)
    manager, instance = rig.manager(), rig.instance(networks=[])
    boot(manager, instance)
    return manager, instance


def tell(server, *events):
    manager, instance = server
    told = [
        ExternalEvent.of(name=name, instance_uuid=instance.uuid, status="completed", tag=tag)
        for name, tag in events
    ]
    manager.external_instance_events(a_context(), events=told)


def test_who_waits_for_a_port_hears_of_it_first(server, networks):
    tell(
        server, (network.NETWORK_CHANGED, None), (network.VIF_PLUGGED, "a"), ("network-lunch", None)
    )
    assert networks.heard == [(network.VIF_PLUGGED, "a")]
    assert networks.refreshed == [server[1].uuid]


def test_what_changes_during_a_build_is_read_when_it_has_ended(
    rig, boot, networks, threads, monkeypatch
):
    rig.host = dataclasses.replace(rig.host, networks=networks)
    server = rig.manager(ends=threads), rig.instance(networks=[])

    def note_announced(_uuid):  # the last thing that the build does
        tell(server, (network.NETWORK_CHANGED, None))

    monkeypatch.setattr(rig.host.virt, "note_announced", note_announced)
    boot(*server)
    threads.shutdown(wait=True)
    assert networks.refreshed == [server[1].uuid]


def test_the_interface_of_a_port_that_is_no_more_goes_from_the_guest(rig, server, networks):
    uuid, vif = server[1].uuid, a_vif(id=a_uuid())
    rig.virt.attach_interface(uuid, vif)
    tell(server, (network.VIF_DELETED, vif.id))
    assert rig.virt.contents(uuid)["interfaces"] == []
    assert networks.refreshed == [uuid]


def test_one_event_that_fails_does_not_stop_the_others(server, networks):
    networks.broken = True
    tell(server, (network.NETWORK_CHANGED, None), (network.VIF_UNPLUGGED, "b"))
    assert networks.heard == [(network.VIF_UNPLUGGED, "b")]


def test_when_power_changed_the_host_looks_and_the_row_follows(rig, server):
    rig.virt.power_off(server[1].uuid)
    tell(server, (network.POWER_UPDATE, "POWER_OFF"))
    assert server[1].vm_state == states.STOPPED
