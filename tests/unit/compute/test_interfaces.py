"""Interfaces attached and detached on a host: once, twice, with trouble."""

import dataclasses

import pytest

from roost import exception, states
from roost.objects import NetworkRequest
from tests.builders import a_context, a_uuid

REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag="nic")


class Simple:
    """A hypervisor that cannot change interfaces."""


@pytest.fixture
def server(rig, boot):
    manager, instance = rig.manager(), rig.instance(networks=[])
    boot(manager, instance)
    assert instance.vm_state == states.ACTIVE
    return manager, instance


def attach(server, key):
    manager, instance = server
    return manager.attach_interface(a_context(), instance=instance, request=REQUEST, key=key)


def detach(server, port_id):
    manager, instance = server
    manager.detach_interface(a_context(), instance=instance, port_id=port_id)


def plugged(rig, instance):
    return [one["port"] for one in rig.virt.contents(instance.uuid)["interfaces"]]


def rows(rig, instance):
    info = rig.conductor.instances[instance.uuid].network_info
    return [vif.id for vif in info.vifs]


def test_an_interface_is_in_the_row_and_in_the_guest(rig, server):
    vif = attach(server, key := a_uuid())
    assert (vif.id, vif.tag) == (key, "nic")
    assert plugged(rig, server[1]) == rows(rig, server[1]) == [key]


def test_attaching_twice_for_one_request_is_the_same_as_once(rig, server):
    key = a_uuid()
    assert attach(server, key) == attach(server, key)
    assert plugged(rig, server[1]) == rows(rig, server[1]) == [key]


def test_a_port_that_the_guest_does_not_take_is_given_back(rig, server):
    rig.trouble({"step": "interface", "kind": "final"})
    with pytest.raises(exception.RoostError):
        attach(server, a_uuid())
    assert plugged(rig, server[1]) == rows(rig, server[1]) == []


def test_detaching_twice_is_the_same_as_once(rig, server):
    attach(server, key := a_uuid())
    for _ in range(2):
        detach(server, key)
        assert plugged(rig, server[1]) == rows(rig, server[1]) == []


def test_an_interface_that_cannot_be_taken_from_the_guest_stays_its_own(rig, server):
    attach(server, key := a_uuid())
    rig.trouble({"step": "interface", "kind": "final"})
    with pytest.raises(exception.RoostError):
        detach(server, key)
    assert plugged(rig, server[1]) == rows(rig, server[1]) == [key]


def test_a_hypervisor_that_cannot_change_interfaces_says_so_before_anything_is_done(rig, server):
    manager, instance = server
    manager._host = dataclasses.replace(rig.host, virt=Simple())
    with pytest.raises(exception.Unsupported):
        attach(server, a_uuid())
    with pytest.raises(exception.Unsupported):
        detach(server, a_uuid())
    assert rig.conductor.ports.get(instance.uuid, []) == []
