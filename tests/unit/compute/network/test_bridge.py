"""Guests plugged into bridges: what is on the host then, once, again, and after being killed."""

import json
import threading
from concurrent import futures

import pytest

from roost import exception
from roost.compute.network.bridge.driver import BridgeDriver
from roost.compute.network.bridge.segment import SegmentNames
from roost.compute.network.bridge.settings import BridgeSettings
from roost.objects import NetworkInfo, NetworkRequest
from roost.security_groups import INGRESS, SecurityGroupRule
from tests.builders import CELL1, CELL2, a_context, a_uuid, a_vif, an_instance
from tests.fakes.cell_conductor import FakeCellConductor
from tests.fakes.kernel import FakeKernel, Killed

NAMES = SegmentNames(CELL1)
REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


class FakeMetadata:
    """Remembers who is served, by network."""

    def __init__(self):
        self.served = {}

    def ensure(self, segment):
        self.served[segment.names.network_id] = {port.ip for port in segment.ports}

    def remove(self, names):
        self.served.pop(names.network_id, None)


class Host:
    """A host with a driver, which may be started anew."""

    def __init__(self, folder, *links, **settings):
        self.kernel = FakeKernel("eth1", *links)
        self.conductor = FakeCellConductor()
        self.settings = BridgeSettings(folder, **settings)
        self.start()

    def start(self):
        self.metadata = FakeMetadata()
        self.driver = BridgeDriver(
            self.conductor,
            host="h1",
            settings=self.settings,
            system=self.kernel,
            metadata=self.metadata,
        )

    def plug(self, instance, *vifs):
        return self.driver.plug(instance, NetworkInfo.of(vifs=vifs))

    def everything(self):
        return self.kernel.everything(), self.metadata.served

    def is_bare(self):
        files = [path for path in self.settings.folder.rglob("*") if path.is_file()]
        return self.everything() == (({"eth1": {}}, {}, {}, []), {}) and not files

    def dhcp(self, names=NAMES):
        return (self.settings.folder / f"dhcp/{names.network_id}.conf").read_text()


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_a_guest_is_plugged_into_the_bridge_of_its_network(host):
    info = host.plug(an_instance(), a_vif())
    (vif,) = info.vifs
    assert vif.type == "bridge"
    assert json.loads(vif.details["bridge_name"]) == NAMES.bridge in host.kernel.links
    assert (vif.mtu, host.kernel.links[NAMES.outer]["master"]) == (1500, NAMES.bridge)


def test_rules_are_in_force_before_anything_is_on_the_bridge(host):
    host.plug(an_instance(), a_vif())
    commands = host.kernel.commands
    filtered = next(at for at, words in enumerate(commands) if words[0] == "nft")
    assert [words for words in commands[:filtered] if "master" in words or "netns" in words] == []


def test_plugging_again_changes_nothing(host):
    instance, vif = an_instance(), a_vif()
    first = host.plug(instance, vif)
    before = host.everything()
    assert host.plug(instance, vif) == first
    assert host.everything() == before


def test_with_the_last_guest_goes_everything(host):
    first, second = an_instance(), an_instance()
    host.plug(first, a_vif())
    host.plug(second, a_vif(ip="10.0.0.3"))
    host.driver.unplug(first.uuid)
    assert "10.0.0.2" not in host.dhcp()
    assert NAMES.bridge in host.kernel.links
    host.driver.unplug(second.uuid)
    assert host.is_bare()


def test_an_uplink_is_on_the_bridge_and_let_go_in_the_end(tmp_path):
    host = Host(tmp_path, uplinks={CELL1: "eth1"})
    host.plug(instance := an_instance(), a_vif())
    assert host.kernel.links["eth1"]["master"] == NAMES.bridge
    host.driver.unplug(instance.uuid)
    assert host.kernel.links == {"eth1": {"up": True}}


def test_an_uplink_that_is_not_there_lets_another_host_try(tmp_path):
    host = Host(tmp_path, uplinks={CELL1: "eth9"})
    with pytest.raises(exception.BuildFailed) as failed:
        host.plug(instance := an_instance(), a_vif())
    assert failed.value.reschedulable
    host.driver.unplug(instance.uuid)
    assert host.is_bare()


def test_a_network_of_ipv6_is_refused_for_all_hosts(host):
    with pytest.raises(exception.BuildFailed, match="no IPv4 addresses") as failed:
        host.plug(an_instance(), a_vif(ip="fd00::2", cidr="fd00::/64"))
    assert not failed.value.reschedulable
    assert host.is_bare()


def test_after_a_restart_of_the_machine_all_is_as_before(host):
    host.plug(an_instance(), a_vif())
    whole = host.everything()
    host.kernel = FakeKernel("eth1")
    host.start()
    host.driver.restore()
    assert host.everything() == whole


def test_one_network_that_cannot_be_restored_does_not_keep_others_from_it(host, caplog):
    host.plug(an_instance(), a_vif())
    host.plug(an_instance(), a_vif(network_id=CELL2))
    whole = host.kernel.everything()
    host.kernel = FakeKernel("eth1")
    host.start()
    host.kernel.fails = (NAMES.bridge,)
    host.driver.restore()
    assert SegmentNames(CELL2).bridge in host.kernel.links
    assert f"network {CELL1} could not be restored" in caplog.text
    host.kernel.fails = ()
    host.driver.restore()
    assert host.kernel.everything() == whole


def state(host):
    links, namespaces, tables, processes = host.kernel.everything()
    return links, namespaces, tables, len(processes)


def test_a_driver_that_is_killed_at_any_command_of_plugging_finds_its_way(tmp_path):
    uplinks = {CELL1: "eth1"}
    instance, vif = an_instance(), a_vif()
    whole = Host(tmp_path / "whole", uplinks=uplinks)
    whole.plug(instance, vif)
    for count in range(len(whole.kernel.commands)):
        host = Host(tmp_path / str(count), uplinks=uplinks)
        host.kernel.dies_after = count
        with pytest.raises(Killed):
            host.plug(instance, vif)
        host.kernel.dies_after = None
        host.start()
        host.driver.restore()
        assert state(host) == state(whole), f"killed after {count} commands"
        assert host.driver.plugged() == [instance.uuid]
        host.driver.unplug(instance.uuid)
        assert {*host.kernel.links} == {"eth1"}


def test_a_driver_that_is_killed_at_any_command_of_unplugging_leaves_nothing(tmp_path):
    instance, vif = an_instance(), a_vif()
    count = 0
    while True:
        host = Host(tmp_path / str(count), uplinks={CELL1: "eth1"})
        host.plug(instance, vif)
        host.kernel.dies_after = count
        try:
            host.driver.unplug(instance.uuid)
        except Killed:
            host.kernel.dies_after = None
            host.start()
            host.driver.restore()
            assert host.driver.plugged() == [], f"killed after {count} commands"
            assert {*host.kernel.links} == {"eth1"}
            assert not host.kernel.namespaces
            count += 1
        else:
            break
    assert count > 5


def test_what_cannot_be_removed_is_removed_when_it_is_asked_for_again(host):
    host.plug(instance := an_instance(), a_vif())
    host.kernel.fails = ("delete",)
    with pytest.raises(exception.Internal):
        host.driver.unplug(instance.uuid)
    assert host.driver.plugged() == [instance.uuid]
    host.kernel.fails = ()
    host.driver.unplug(instance.uuid)
    assert host.is_bare()


@pytest.fixture
def server(host):
    """An instance of the cell with one interface."""
    instance = an_instance(host="h1", attempt=1, task_state="networking", networks=[REQUEST])
    host.conductor.instances[instance.uuid] = instance
    host.driver.allocate(a_context(), instance)
    return instance


def test_an_interface_is_added_to_those_that_are_there(host, server):
    vif = host.driver.attach(a_context(), server, REQUEST, key=a_uuid())
    assert vif.type == "bridge"
    assert host.dhcp().count("dhcp-host=") == 2
    host.driver.detach(a_context(), server, vif.id)
    assert host.dhcp().count("dhcp-host=") == 1
    host.driver.unplug(server.uuid)
    assert host.is_bare()


def test_an_interface_that_the_host_has_no_place_for_is_given_back(host, server):
    host.kernel.fails = ("dnsmasq",)
    with pytest.raises(exception.Internal):
        host.driver.attach(a_context(), server, REQUEST, key=a_uuid())
    assert len(host.conductor.ports[server.uuid]) == 1


def groups_table(host):
    return host.kernel.tables[f"ip {NAMES.table}"]


def test_what_groups_say_is_in_force_before_the_guest_and_as_soon_as_it_changes(host):
    vif = a_vif()
    host.conductor.let_pass(vif, a_rule(protocol="tcp", port_min=80, port_max=81))
    host.plug(an_instance(), vif)
    assert "ct original protocol 6 ct original proto-dst 80-81 accept" in groups_table(host)
    as_written = a_rule(protocol="vrrp", remote_prefix="10.1.2.3/255.255.0.0")
    host.conductor.let_pass(vif, as_written, a_rule(ethertype="IPv6"))
    host.driver.refresh_groups(a_context(), "another project")
    assert "80-81" in groups_table(host)
    host.driver.refresh_groups(a_context(), "project")
    assert "ct original protocol 112 ct original ip saddr 10.1.0.0/16 accept" in groups_table(host)
    assert "80-81" not in groups_table(host)


def test_while_conductors_are_a_release_behind_guests_wait_and_others_stay(host):
    vif, old = a_vif(), exception.VersionTooOld("it must be 1.1")
    host.plug(an_instance(), vif)
    host.conductor.fail("describe_filtering", old, old)
    host.driver.restore()
    with pytest.raises(exception.Unavailable, match="do not know security groups yet"):
        host.plug(an_instance(), a_vif(ip="10.0.0.3", mac="02:00:00:00:00:02"))


def test_of_many_changes_at_once_the_host_asks_once_more_after_the_last(
    host, monkeypatch, wait_until
):
    host.plug(an_instance(), a_vif())
    ask, asked, answer = host.conductor.describe_filtering, [], threading.Event()

    def slowly(*arguments, **values):
        asked.append(values)
        answer.wait(10)
        return ask(*arguments, **values)

    monkeypatch.setattr(host.conductor, "describe_filtering", slowly)
    with futures.ThreadPoolExecutor(9) as pool:
        told = [pool.submit(host.driver.refresh_groups, a_context(), "project") for _ in range(9)]
        wait_until(lambda: sum(one.done() for one in told) == 7)
        answer.set()
    assert [one.exception() for one in told] == [None] * 9
    assert len(asked) == 2


def test_what_was_told_is_known_after_a_restart_without_asking(host):
    instance, vif = an_instance(), a_vif()
    host.conductor.let_pass(vif, a_rule(protocol="udp"))
    host.plug(instance, vif)
    host.start()
    host.conductor.fail("describe_filtering", *[exception.Unavailable("away")] * 2)
    host.kernel.tables.clear()
    host.driver.restore()
    assert "ct original protocol 17 accept" in groups_table(host)
    host.plug(instance, vif)  # as a rebuild does


def a_rule(ethertype="IPv4", **values):
    return SecurityGroupRule(
        id=a_uuid(), group_id=a_uuid(), direction=INGRESS, ethertype=ethertype, **values
    )
