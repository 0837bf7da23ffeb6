"""What Neutron's agents of a host report: physical networks, bandwidth and packets."""

import types

import pytest

from roost.compute import collectors
from roost.compute.network.agents import NeutronAgents
from tests.fakes.neutron import FakeNetwork

SETTINGS = {
    "bridge_mappings": {"physnet0": "br-a", "other": "br-b"},
    "resource_provider_bandwidths": {
        "br-a": {"egress": 1000, "ingress": 2000},
        "rp_tunnelled": {"egress": 500, "ingress": None},
    },
    "resource_provider_inventory_defaults": {"allocation_ratio": 2.0, "reserved": 10},
    "resource_provider_packet_processing_without_direction": {"h1": 100},
}


@pytest.fixture
def collect():
    """Have the only agent of a host collected."""

    def collect(agent_type="Open vSwitch agent", *, host="h1", **settings):
        neutron = FakeNetwork()
        agent = {"agent_type": agent_type, "binary": "neutron-agent", "configuration": settings}
        neutron.all["agent"] = [types.SimpleNamespace(host=host, **agent)]
        found = NeutronAgents(neutron, "h1").collect()
        collectors._check(found)
        return found

    return collect


def test_an_agent_is_a_part_of_the_host_with_its_bridges_below(collect):
    agent, bridge, tunnels = collect(**SETTINGS).providers
    # by Neutron's rule: uuid5 of its driver's namespace and the names
    assert (agent.name, agent.uuid) == ("neutron-agent", "37db8e4c-80cb-5aac-a5ae-d6d528e5c4a0")
    assert (bridge.name, bridge.parent) == ("neutron-agent:br-a", "neutron-agent")
    assert bridge.uuid == "6b81c2a5-7efe-51c6-a1c7-d112f06feee9"
    assert {"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL"} <= {*bridge.traits}
    assert "CUSTOM_NETWORK_TUNNEL_PROVIDER" in tunnels.traits
    assert "CUSTOM_VNIC_TYPE_SMART_NIC" in agent.traits


def test_its_rates_are_inventories(collect):
    amounts = [
        {one.resource_class: one.capacity for one in part.inventories}
        for part in collect(**SETTINGS).providers
    ]
    assert amounts == [
        {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 100},
        {"NET_BW_EGR_KILOBIT_PER_SEC": 1980, "NET_BW_IGR_KILOBIT_PER_SEC": 3980},
        {"NET_BW_EGR_KILOBIT_PER_SEC": 980},
    ]


def test_its_mappings_are_labels_and_none_is_said_too(collect):
    assert collect(**SETTINGS).labels == ("physical_network=other", "physical_network=physnet0")
    assert collect(bridge_mappings={}).labels == ("physical_network=",)
    cards = {"physnet0": ["ens5", "ens6"]}
    found = collect("NIC Switch agent", device_mappings=cards)
    assert (found.labels, found.providers) == (("physical_network=physnet0",), ())


def test_other_agents_and_other_hosts_say_nothing(collect):
    nothing = collectors.Collected()
    assert collect("DHCP agent", **SETTINGS) == collect(host="h2", **SETTINGS) == nothing
