"""How a guest does, as far as its hypervisor measures that."""

import dataclasses

import pytest

from roost import exception
from roost.compute.operations import consoles
from tests.builders import a_context, a_uuid


def test_a_host_tells_how_its_guest_does_while_it_runs(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    told = manager.get_diagnostics(a_context(), instance_uuid=instance.uuid)
    assert (told["state"], len(told["cpu_details"])) == ("running", instance.flavor.vcpus)
    rig.host.virt.power_off(instance.uuid)
    with pytest.raises(exception.Conflict):
        manager.get_diagnostics(a_context(), instance_uuid=instance.uuid)
    with pytest.raises(exception.NotFound):
        manager.get_diagnostics(a_context(), instance_uuid=a_uuid())


def test_a_hypervisor_that_measures_nothing_is_an_answer(rig):
    virt = dataclasses.replace(rig.host, virt=object()).virt
    with pytest.raises(exception.Unsupported):
        consoles.measure(virt, a_uuid())
