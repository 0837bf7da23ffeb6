"""Interfaces attached and detached on a host: once, twice, with trouble."""

import dataclasses

import pytest

from roost import exception, states
from roost.objects import NetworkRequest
from roost.operations.kinds import ATTACH_INTERFACE, DETACH_INTERFACE
from tests.builders import a_uuid
from tests.unit.compute.conftest import change_interfaces

REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag="nic")
WELL = (None, None)


class Simple:
    """A hypervisor that cannot change interfaces."""


@pytest.fixture
def server(rig, boot):
    manager, instance = rig.manager(), rig.instance(networks=[])
    boot(manager, instance)
    assert instance.vm_state == states.ACTIVE
    return manager, instance


@pytest.fixture
def attach(rig, server):
    """Return a function that attaches a port, and returns why not and the error's code."""

    def attach(key, **values):
        return end(rig, server, ATTACH_INTERFACE, port_id=key, request=REQUEST, **values)

    return attach


@pytest.fixture
def detach(rig, server):
    return lambda port_id: end(rig, server, DETACH_INTERFACE, port_id=port_id)


def end(rig, server, kind, **params):
    return rig.conductor.ended[change_interfaces(rig, *server, kind, **params)]


def plugged(rig, instance):
    return [one["port"] for one in rig.virt.contents(instance.uuid)["interfaces"]]


def rows(rig, instance):
    info = rig.conductor.instances[instance.uuid].network_info
    return [vif.id for vif in info.vifs]


def test_an_interface_is_in_the_row_and_in_the_guest(rig, server, attach):
    assert attach(key := a_uuid()) == WELL
    (vif,) = rig.conductor.instances[server[1].uuid].network_info.vifs
    assert (vif.id, vif.tag) == (key, "nic")
    assert plugged(rig, server[1]) == [key]


def test_attaching_twice_for_one_request_is_the_same_as_once(rig, server, attach):
    key = a_uuid()
    assert [attach(key), attach(key)] == [WELL, WELL]
    assert plugged(rig, server[1]) == rows(rig, server[1]) == [key]


def test_a_port_that_the_guest_does_not_take_is_given_back(rig, server, attach):
    rig.trouble({"step": "interface", "kind": "final"})
    assert attach(a_uuid()) != WELL
    assert plugged(rig, server[1]) == rows(rig, server[1]) == []


def test_a_port_that_cannot_be_given_back_now_is_attached_after_all(
    rig, server, attach, monkeypatch
):
    plug = rig.virt.attach_interface

    def fail_once(*args):
        monkeypatch.setattr(rig.virt, "attach_interface", plug)
        raise exception.BuildFailed("no luck")

    monkeypatch.setattr(rig.virt, "attach_interface", fail_once)
    rig.conductor.fail("detach_port", exception.Timeout("no answer"))
    assert attach(key := a_uuid()) == WELL
    assert plugged(rig, server[1]) == rows(rig, server[1]) == [key]


def test_detaching_twice_is_the_same_as_once(rig, server, attach, detach):
    attach(key := a_uuid())
    for _ in range(2):
        assert detach(key) == WELL
        assert plugged(rig, server[1]) == rows(rig, server[1]) == []


def test_an_interface_that_cannot_be_taken_from_the_guest_stays_its_own(
    rig, server, attach, detach
):
    attach(key := a_uuid())
    rig.trouble({"step": "interface", "kind": "final"})
    assert detach(key) != WELL
    assert plugged(rig, server[1]) == rows(rig, server[1]) == [key]


def test_a_hypervisor_that_cannot_change_interfaces_says_so_before_anything_is_done(
    rig, server, attach, detach
):
    manager, instance = server
    manager._operations._host = dataclasses.replace(rig.host, virt=Simple())
    assert attach(a_uuid())[1] == detach(a_uuid())[1] == exception.Unsupported.code
    assert rig.conductor.ports.get(instance.uuid, []) == []


def test_an_error_that_names_the_host_has_its_code_and_nothing_of_the_host(rig, attach):
    rig.conductor.fail("attach_port", exception.AddressInUse("h1 has it, says /var/lib/x"))
    reason, code = attach(a_uuid())
    assert (reason, code) == ("The host of this server refused the request.", "address_in_use")
