"""What Neutron says of a port is read as it means it."""

import pytest

from roost import exception
from roost.compute.network.bindings import Binding
from tests.builders import a_vif

PORT = "8637dc02-0b15-447b-a0df-20476675b574"
SWITCH = {"bridge_name": '"br-int"', "datapath_type": '"system"', "port_filter": "true"}


def binding(**values):
    return Binding.of(a_vif(id=PORT, mtu=1450, **values))


def test_a_port_of_a_local_network_is_bound_to_nothing():
    assert binding() is None


def test_a_port_on_a_bridge_is_on_that_alone():
    found = binding(type="bridge", details={"bridge_name": '"brq1"'})
    assert (found.bridge, found.switch, found.tap, found.mtu) == (
        "brq1",
        None,
        "tap8637dc02-0b",
        1450,
    )


def test_a_port_on_open_vswitch_is_on_the_bridge_that_neutron_names():
    found = binding(type="ovs", details=SWITCH)
    assert (found.bridge, found.switch, found.datapath) == ("br-int", "br-int", "system")
    assert not found.is_hybrid


def test_a_hybrid_port_has_a_bridge_of_its_own_before_the_switch():
    found = binding(type="ovs", details={**SWITCH, "ovs_hybrid_plug": "true"})
    assert (found.bridge, found.switch, found.is_hybrid) == ("qbr8637dc02-0b", "br-int", True)


def test_a_tap_is_on_nothing():
    found = binding(type="tap", details={"port_filter": "true"})
    assert (found.bridge, found.switch, found.tap) == (None, None, "tap8637dc02-0b")


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"type": "vhostuser", "details": SWITCH}, "vhostuser"),
        ({"type": "binding_failed"}, "binding_failed"),
        ({"type": "bridge", "details": {}}, "bridge"),
        ({"type": "ovs", "details": {}}, "ovs"),
        ({"type": "ovs", "details": SWITCH, "vnic_type": "direct"}, "ovs for a vnic_type direct"),
    ],
)
def test_what_nobody_can_plug_is_named_and_may_be_plugged_elsewhere(values, named):
    with pytest.raises(exception.BuildFailed, match=f"{PORT} is bound as {named}, ") as failed:
        binding(**values)
    assert failed.value.reschedulable
