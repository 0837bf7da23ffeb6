"""From which providers of the host the ports of an instance have what they need."""

import dataclasses

import pytest

from roost import exception
from roost.compute.port_resources import assign_providers
from roost.objects import NetworkRequest, PortResources
from roost.objects.host import uuid_of_node, uuid_of_provider
from tests.builders import a_provider, a_uuid, an_instance
from tests.unit.compute.conftest import RESOURCES

EGRESS = "NET_BW_EGR_KILOBIT_PER_SEC"
NEUTRONS = a_uuid()


def a_host(*, trait="CUSTOM_A"):
    parts = [a_provider("br0", traits=[trait]), a_provider("br1", traits=["CUSTOM_B"])]
    parts[0].uuid = NEUTRONS
    return dataclasses.replace(RESOURCES, providers=tuple(parts))


@pytest.fixture
def instance():
    """An instance of two ports that have as much each, of different providers."""
    needs = [
        PortResources.of(
            group_id=one, port_id=one, amounts={EGRESS: 100}, required=[f"CUSTOM_{one}"]
        )
        for one in "AB"
    ]
    asked = {"network_id": a_uuid(), "fixed_ip": None, "tag": None}
    ports = [NetworkRequest.of(**asked, port_id=one.port_id, resources=[one]) for one in needs]
    return an_instance(
        host="h1",
        node="n1",
        networks=ports,
        allocations={"br1": {EGRESS: 100}, "br0": {EGRESS: 100}},
    )


def test_each_port_is_told_the_provider_by_what_the_instance_holds(instance):
    assign_providers(instance, a_host)
    derived = uuid_of_provider(uuid_of_node("h1", "n1"), "br1")
    assert [one.resources[0].provider_uuid for one in instance.networks] == [NEUTRONS, derived]


def test_a_host_whose_providers_are_others_by_now_is_left_for_another(instance):
    with pytest.raises(exception.BuildFailed) as failed:
        assign_providers(instance, lambda: a_host(trait="CUSTOM_C"))
    assert failed.value.reschedulable


def test_a_host_is_not_asked_for_instances_without_such_ports(instance):
    for request in instance.networks:
        request.resources = []
    assign_providers(instance, lambda: pytest.fail("asked"))
