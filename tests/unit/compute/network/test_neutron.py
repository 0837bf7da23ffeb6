"""Ports of Neutron on a host: made, taken, waited for, let go; once, twice, with trouble."""

import contextlib
import threading

import pytest

from roost import exception, states
from roost.compute.network.neutron import NeutronDriver, PortWait
from roost.compute.network.vifs import Vifs
from roost.objects import ExternalEvent, NetworkRequest, PortResources, network
from tests.builders import a_context, a_uuid, an_instance
from tests.fakes.cell_conductor import FakeCellConductor
from tests.fakes.kernel import FakeKernel
from tests.fakes.neutron import FakeNetwork, failure

GROUP = "aaaaaaaa-0000-4000-8000-000000000009"
FINAL = [
    failure(400),
    failure(403),
    failure(404),
    failure(409),
    failure(409, "IpAddressInUse"),
    failure(409, "IpAddressGenerationFailure"),
    failure(409, "OverQuota"),
]


@pytest.fixture
def neutron():
    return FakeNetwork()


@pytest.fixture
def conductor():
    return FakeCellConductor()


def a_driver(neutron, conductor, host="h1", vifs=None, **waiting):
    waiting = PortWait(**{"seconds": 0.05, "look": 0.01} | waiting)
    return NeutronDriver(neutron, conductor, host=host, zone="nova", waiting=waiting, vifs=vifs)


@pytest.fixture
def driver(neutron, conductor):
    return a_driver(neutron, conductor)


def wanted(*requests, **values):
    asked = {"network_id": None, "fixed_ip": None, "port_id": None, "tag": None}
    return an_instance(
        host="h1",
        attempt=1,
        task_state=states.NETWORKING,
        hostname="web",
        networks=[NetworkRequest.of(**asked | request) for request in requests],
        **values,
    )


@pytest.fixture
def instance(neutron, conductor):
    """An instance that is to have one port of a network."""
    made = wanted({"network_id": neutron.a_network().id, "tag": "nic1"})
    conductor.instances[made.uuid] = made
    return made


def given(neutron, **values):
    network = neutron.a_network()
    return neutron.create_port(network_id=network.id, **values)


def ports(neutron):
    return neutron.all["port"]


def plugged(driver, instance, port_id, status="completed"):
    driver.hear(
        ExternalEvent.of(
            name=network.VIF_PLUGGED, instance_uuid=instance.uuid, status=status, tag=port_id
        )
    )


def wait(driver, instance, info):
    return driver.await_plugged(instance, info, stopped=threading.Event())


def test_a_port_is_made_and_told_of(neutron, driver, conductor, instance):
    info = driver.allocate(a_context(), instance)
    (port,) = ports(neutron)
    assert (port.device_id, port.device_owner, port.binding_host_id) == (
        *(instance.uuid, "compute:nova", "h1"),
    )
    assert (port.project_id, port.dns_name) == ("project", "web")
    (vif,) = info.vifs
    assert (vif.id, vif.tag, vif.host, vif.mtu, vif.type) == (port.id, "nic1", "h1", 1450, "tap")
    assert (vif.details, vif.profile, vif.kept, vif.active) == (
        *({"port_filter": "false"}, {}, False, True),
    )
    (address,) = vif.addresses
    assert (address.cidr, address.gateway, address.dns) == (
        "10.0.0.0/24",
        "10.0.0.1",
        ["10.0.0.53"],
    )
    assert address.routes == [{"destination": "10.1.0.0/16", "nexthop": "10.0.0.9"}]
    assert (instance.task_state, instance.network_info) == (states.SPAWNING, info)


@pytest.mark.parametrize("mode", [None, "slaac", "dhcpv6-stateless", "dhcpv6-stateful"])
def test_how_guests_of_a_subnet_get_addresses_of_ipv6_is_known(neutron, driver, instance, mode):
    (subnet,) = neutron.all["subnet"]
    subnet.ipv6_address_mode = mode
    (vif,) = driver.allocate(a_context(), instance).vifs
    assert [one.ipv6_mode for one in vif.addresses] == [mode]


def test_allocating_twice_is_the_same_as_once(neutron, driver, instance):
    assert driver.allocate(a_context(), instance) == driver.allocate(a_context(), instance)
    assert len(ports(neutron)) == 1


def test_another_host_takes_the_port_along(neutron, driver, conductor, instance):
    before = driver.allocate(a_context(), instance)
    instance.host, instance.attempt, instance.task_state = "h2", 2, states.NETWORKING
    after = a_driver(neutron, conductor, host="h2").allocate(a_context(), instance)
    assert [vif.id for vif in before.vifs] == [vif.id for vif in after.vifs]
    assert [port.binding_host_id for port in ports(neutron)] == ["h2"]


def test_the_ports_of_a_server_that_moves_go_along_and_its_row_waits_for_the_report(
    driver, neutron, conductor, instance
):
    before = driver.allocate(a_context(), instance)
    instance.vm_state, instance.task_state = states.ACTIVE, states.RESIZE_FINISH
    after = a_driver(neutron, conductor, host="h2").allocate(a_context(), instance)
    assert [vif.id for vif in after.vifs] == [vif.id for vif in before.vifs]
    assert [port.binding_host_id for port in ports(neutron)] == ["h2"]
    assert instance.task_state == states.RESIZE_FINISH


def test_the_port_of_a_user_is_taken_and_let_go_as_it_was(neutron, driver, conductor):
    port = given(neutron, binding_profile={"physical": "1"})
    instance = wanted({"network_id": port.network_id, "port_id": port.id})
    conductor.instances[instance.uuid] = instance
    (vif,) = driver.allocate(a_context(), instance).vifs
    assert (vif.id, vif.kept, vif.profile) == (port.id, True, {"physical": '"1"'})
    for _ in range(2):
        driver.free(a_context(), instance)
        (left,) = ports(neutron)
        assert (left.device_id, left.device_owner, left.binding_host_id) == ("", "", "")
        assert left.binding_profile == {"physical": "1"}


def test_of_two_servers_that_want_a_port_the_first_has_it(neutron, driver, conductor):
    port = given(neutron)
    first, second = (wanted({"port_id": port.id}) for _ in range(2))
    conductor.instances |= {first.uuid: first, second.uuid: second}
    driver.allocate(a_context(), first)
    with pytest.raises(exception.BuildFailed, match="still in use") as caught:
        driver.allocate(a_context(), second)
    assert not caught.value.reschedulable
    assert ports(neutron)[0].device_id == first.uuid


def test_a_host_that_the_port_cannot_be_bound_to_is_left_for_another(neutron, driver, instance):
    neutron.unbindable = {"h1"}
    with pytest.raises(exception.BuildFailed, match="could not be bound") as caught:
        driver.allocate(a_context(), instance)
    assert caught.value.reschedulable


@pytest.mark.parametrize("error", FINAL)
def test_what_no_host_would_cure_is_final(neutron, driver, instance, error):
    neutron.trouble = [error]
    with pytest.raises(exception.BuildFailed) as caught:
        driver.allocate(a_context(), instance)
    assert not caught.value.reschedulable


@pytest.mark.parametrize("error", [failure(500), failure(503), failure(401)])
def test_a_host_that_neutron_does_not_answer_is_left_for_another(neutron, driver, instance, error):
    neutron.trouble = [error]
    with pytest.raises(exception.BuildFailed) as caught:
        driver.allocate(a_context(), instance)
    assert caught.value.reschedulable


def test_ports_that_come_after_their_instance_was_buried_go_again(neutron, driver, conductor):
    instance = wanted({"network_id": neutron.a_network().id})
    with pytest.raises(exception.Conflict):
        driver.allocate(a_context(), instance)
    assert ports(neutron) == []


def test_freeing_takes_what_was_made_and_nothing_else(neutron, driver, instance):
    other = given(neutron, device_id=instance.uuid, device_owner="network:dhcp")
    driver.allocate(a_context(), instance)
    for _ in range(2):
        driver.free(a_context(), instance)
        assert [port.id for port in ports(neutron)] == [other.id]


def slow(neutron, driver, instance):
    """Allocate a port that does not work yet."""
    neutron.slow = {network.id for network in neutron.all["network"]}
    info = driver.allocate(a_context(), instance)
    return info, info.vifs[0].id


def test_who_heard_that_the_port_works_waits_no_longer(neutron, driver, instance):
    info, port_id = slow(neutron, driver, instance)
    plugged(driver, instance, port_id)
    assert [vif.active for vif in wait(driver, instance, info).vifs] == [True]


def test_an_event_that_was_lost_is_made_up_for_by_looking(neutron, driver, instance):
    info, _ = slow(neutron, driver, instance)
    ports(neutron)[0].status = "ACTIVE"
    assert [vif.active for vif in wait(driver, instance, info).vifs] == [True]


def test_a_port_that_does_not_work_in_time_fails_the_build(neutron, driver, instance):
    info, _ = slow(neutron, driver, instance)
    with pytest.raises(exception.BuildFailed, match="did not work within") as caught:
        wait(driver, instance, info)
    assert caught.value.reschedulable


def test_unless_that_is_not_fatal(neutron, conductor, instance):
    driver = a_driver(neutron, conductor, is_fatal=False)
    info, _ = slow(neutron, driver, instance)
    assert [vif.active for vif in wait(driver, instance, info).vifs] == [False]


def test_a_port_that_could_not_be_plugged_fails_the_build_at_once(neutron, conductor, instance):
    driver = a_driver(neutron, conductor, seconds=60, look=60)
    info, port_id = slow(neutron, driver, instance)
    plugged(driver, instance, port_id, status="failed")
    with pytest.raises(exception.BuildFailed, match="could not be plugged"):
        wait(driver, instance, info)


def test_a_build_that_is_to_end_waits_no_longer(neutron, conductor, instance):
    driver = a_driver(neutron, conductor, seconds=60, look=60)
    info, _ = slow(neutron, driver, instance)
    stopped = threading.Event()
    stopped.set()
    driver.await_plugged(instance, info, stopped=stopped)


def attach(driver, instance, key, **asked):
    fields = {"network_id": None, "fixed_ip": None, "port_id": None, "tag": "nic2"} | asked
    return driver.attach(a_context(), instance, NetworkRequest.of(**fields), key=key)


@pytest.fixture
def server(driver, instance):
    driver.allocate(a_context(), instance)
    instance.vm_state, instance.task_state = states.ACTIVE, None
    return instance


def rows(instance):
    return [vif.id for vif in instance.network_info.vifs]


def test_an_interface_is_attached_once_and_detached_once(neutron, driver, server):
    key, network = a_uuid(), neutron.a_network()
    one, again = (attach(driver, server, key, network_id=network.id) for _ in range(2))
    assert (one.id, one.tag) == (again.id, "nic2")
    assert rows(server) == [port.id for port in ports(neutron)]
    for _ in range(2):
        driver.detach(a_context(), server, one.id)
        assert rows(server) == [port.id for port in ports(neutron)]
        assert one.id not in rows(server)


def test_a_server_moves_with_the_interfaces_that_it_has_by_then(neutron, driver, conductor, server):
    attached = attach(driver, server, a_uuid(), network_id=neutron.a_network().id)
    first = next(uuid for uuid in rows(server) if uuid != attached.id)
    driver.detach(a_context(), server, first)
    server.task_state = states.RESIZE_FINISH
    moved = a_driver(neutron, conductor, host="h2").allocate(a_context(), server)
    assert [vif.id for vif in moved.vifs] == [attached.id]
    assert [port.binding_host_id for port in ports(neutron)] == ["h2"]


def bindings(neutron, info):
    return {one.host: one.status for one in neutron.port_bindings(info.vifs[0].id)}


@pytest.mark.parametrize("there", ["h2", "h1"])
def test_a_port_works_on_one_host_while_another_expects_its_guest(
    neutron, driver, conductor, server, there
):
    """It arrives at h2, or stays at h1."""
    hosts = {"h1": driver, "h2": a_driver(neutron, conductor, host="h2")}
    server.task_state = states.MIGRATING
    info = hosts["h2"].expect(server)
    assert hosts["h2"].expect(server) == info
    assert [vif.host for vif in info.vifs] == ["h2"]
    assert bindings(neutron, info) == {"h1": "ACTIVE", "h2": "INACTIVE"}
    port = neutron.get_port(info.vifs[0].id)
    assert port.binding_profile["migrating_to"] == "h2"
    for _ in range(2):
        info = hosts[there].allocate(a_context(), server)
    assert [vif.host for vif in info.vifs] == [there]
    assert bindings(neutron, info) == {there: "ACTIVE"}
    assert "migrating_to" not in neutron.get_port(info.vifs[0].id).binding_profile


@pytest.mark.parametrize("there", ["h2", "h1"])
def test_each_call_for_the_bindings_may_fail_and_they_are_asked_for_again(
    neutron, driver, conductor, server, there
):
    hosts = {"h1": driver, "h2": a_driver(neutron, conductor, host="h2")}
    server.task_state = states.MIGRATING
    calls = failed_at_each_call(neutron, lambda: hosts["h2"].expect(server))
    assert {"bindings", "create binding", "update"} <= calls
    calls = failed_at_each_call(neutron, lambda: hosts[there].allocate(a_context(), server))
    assert {"bindings", "delete binding"} <= calls
    assert ("activate binding" in calls) == (there == "h2")
    info = hosts[there].allocate(a_context(), server)
    assert bindings(neutron, info) == {there: "ACTIVE"}
    assert "migrating_to" not in neutron.get_port(info.vifs[0].id).binding_profile


def failed_at_each_call(neutron, ask):
    """Ask until it goes well, while each kind of call fails once; return what has failed."""
    strike, failed = neutron._strike, set()

    def fail_once(name):
        strike(name)
        if name not in failed:
            failed.add(name)
            raise failure(503)

    neutron._strike = fail_once
    for _ in range(20):
        with contextlib.suppress(exception.RoostError):
            ask()
            break
    neutron._strike = strike
    return failed


def test_a_host_that_a_port_cannot_be_bound_to_expects_no_guest(neutron, conductor, server):
    neutron.unbindable.add("h2")
    with pytest.raises(exception.BuildFailed) as failed:
        a_driver(neutron, conductor, host="h2").expect(server)
    assert failed.value.reschedulable


def test_a_server_in_no_state_for_it_gets_no_interface(neutron, driver, server):
    server.vm_state = states.ERROR
    before = rows(server)
    with pytest.raises(exception.Conflict):
        attach(driver, server, a_uuid(), network_id=neutron.a_network().id)
    assert [port.id for port in ports(neutron)] == before


def test_when_ports_change_the_row_follows(neutron, driver, server):
    ports(neutron)[0].status = "DOWN"
    driver.refresh(a_context(), server.uuid)
    assert [vif.active for vif in server.network_info.vifs] == [False]
    server.host = "h2"
    ports(neutron).clear()
    driver.refresh(a_context(), server.uuid)
    assert len(rows(server)) == 1


def test_floating_addresses_are_told_with_those_that_they_lead_to(neutron, driver, server):
    first, second = "203.0.113.5", "203.0.113.6"
    (port,) = ports(neutron)
    neutron.a_floating_ip(port, first)
    driver.refresh(a_context(), server.uuid)
    assert server.network_info.vifs[0].addresses[0].floating == [first]
    neutron.a_floating_ip(port, second, fixed="10.0.0.99")  # of an address that it has no more
    attach(driver, server, a_uuid(), network_id=neutron.a_network().id)
    shown = [pair for vif in server.network_info.vifs for pair in vif.all_ips()]
    assert [ip for ip, floats in shown if floats] == [first]
    neutron.all["ip"].clear()
    assert driver.describe([server.uuid])[server.uuid].vifs[0].addresses[0].floating == []


def test_many_instances_are_described_at_the_cost_of_one(neutron, driver, conductor, server):
    network = neutron.a_network().id
    for _ in range(3):
        other = wanted({"network_id": network})
        conductor.instances[other.uuid] = other
        driver.allocate(a_context(), other)
    uuids, nobody = [*conductor.instances], a_uuid()
    neutron.calls.clear()
    described = driver.describe([*uuids, nobody])
    assert len(neutron.calls) == 4  # ports, networks, subnets, floating IPs
    assert {uuid: described[uuid] for uuid in uuids} == {
        uuid: driver.describe([uuid])[uuid] for uuid in uuids
    }
    assert described[nobody].vifs == []


@pytest.fixture
def kernel():
    return FakeKernel()


@pytest.fixture
def plugging(neutron, conductor, kernel, tmp_path):
    """A driver on a host whose guests are plugged; the ports are bound as tap."""
    vifs = Vifs(tmp_path, system=kernel, switch=None, switch_name="br-int")
    return a_driver(neutron, conductor, vifs=vifs)


def taps(neutron):
    return {f"tap{port.id}"[:14] for port in ports(neutron)}


def test_a_guest_is_plugged_before_its_build_goes_on_and_as_long_as_it_has_ports(
    neutron, plugging, kernel, instance
):
    plugging.allocate(a_context(), instance)
    assert {*kernel.links} == taps(neutron) != set()
    instance.vm_state, instance.task_state = states.ACTIVE, None
    one = attach(plugging, instance, a_uuid(), network_id=neutron.a_network().id)
    assert {*kernel.links} == taps(neutron)
    plugging.detach(a_context(), instance, one.id)
    assert {*kernel.links} == taps(neutron)
    assert plugging.plugged() == [instance.uuid]
    plugging.unplug(instance.uuid)
    assert (kernel.links, plugging.plugged()) == ({}, [])


def test_a_port_that_cannot_be_plugged_is_not_attached(neutron, plugging, kernel, instance):
    plugging.allocate(a_context(), instance)
    instance.vm_state, instance.task_state = states.ACTIVE, None
    kernel.fails, before = ("tuntap",), taps(neutron)
    with pytest.raises(exception.BuildFailed, match="no such luck"):
        attach(plugging, instance, a_uuid(), network_id=neutron.a_network().id)
    assert {*kernel.links} == taps(neutron) == before


def needing(port_id, provider_uuid, *, group=GROUP):
    needs = PortResources.of(
        group_id=group or port_id, port_id=port_id, amounts={}, provider_uuid=provider_uuid
    )
    return wanted({"port_id": port_id, "resources": [needs]})


def test_a_port_is_bound_with_the_providers_of_what_it_has(neutron, conductor):
    port, first, second = given(neutron, binding_profile={"theirs": 1}), a_uuid(), a_uuid()
    instance = needing(port.id, first)
    conductor.instances[instance.uuid] = instance
    a_driver(neutron, conductor).allocate(a_context(), instance)
    assert neutron.get_port(port.id).binding_profile["allocation"] == {GROUP: first}
    instance.networks[0].resources[0].provider_uuid = second
    instance.host, instance.task_state = "h2", None
    a_driver(neutron, conductor, host="h2").allocate(a_context(), instance)
    bound = neutron.get_port(port.id)
    assert (bound.binding_host_id, bound.binding_profile["allocation"]) == ("h2", {GROUP: second})
    a_driver(neutron, conductor, host="h2").free(a_context(), instance)
    assert neutron.get_port(port.id).binding_profile == {"theirs": 1}


def test_a_port_without_groups_is_bound_with_its_one_provider(neutron, conductor):
    port, provider = given(neutron), a_uuid()
    instance = needing(port.id, provider, group=None)
    conductor.instances[instance.uuid] = instance
    a_driver(neutron, conductor).allocate(a_context(), instance)
    assert neutron.get_port(port.id).binding_profile["allocation"] == provider


def test_no_port_is_made_that_needs_what_nobody_has_claimed(neutron, driver, instance):
    (request,) = instance.networks
    neutron.resource_requests[request.network_id] = {"request_groups": [{}]}
    with pytest.raises(exception.BuildFailed, match="create a port") as failed:
        driver.allocate(a_context(), instance)
    assert not failed.value.reschedulable
    assert ports(neutron) == []
