"""Ports as Neutron binds them, on a real Open vSwitch and with a real guest."""

import pathlib
import subprocess

import pytest

from roost import exception
from roost.compute.network.bindings import Binding
from roost.compute.network.bridge.system import System
from roost.compute.network.vifs import OpenVSwitch, Vifs
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import probe
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.networks import random_mac
from roost.objects import NetworkInfo
from tests.builders import a_context, a_flavor, a_vif, an_instance
from tests.external import openvswitch
from tests.external.wire import Wire, udp
from tests.stories.cloud import wait_until

pytestmark = pytest.mark.timeout(300)  # libvirt looks at QEMU first
LINKS = pathlib.Path("/sys/class/net")


@pytest.fixture(scope="module")
def switch(libvirtd):
    """An Open vSwitch that libvirt, too, finds."""
    try:
        openvswitch.check()
    except RuntimeError as missing:
        pytest.fail(str(missing), pytrace=False)
    with openvswitch.OpenVSwitch(libvirtd.switch_folder) as made:
        yield made


@pytest.fixture
def start(tmp_path, switch):
    """Return what starts a host's plugging, again and again; nothing stays at the end."""

    def start(database=switch.database):
        return Vifs(
            tmp_path / "vifs",
            system=System(),
            switch=OpenVSwitch(database),
            switch_name=f"br-{tmp_path.name[-8:]}",
        )

    yield start
    for uuid in start().plugged():
        start().unplug(uuid)


def bound(kind, **details):
    said = {"datapath_type": '"netdev"', **details} if kind == "ovs" else details
    return a_vif(type=kind, mtu=1400, mac=random_mac(), details=said)


def hybrid():
    return bound("ovs", ovs_hybrid_plug="true")


def plug(vifs, instance, *ports):
    """Plug, and return the bindings."""
    info = vifs.plug(instance.uuid, NetworkInfo.of(vifs=ports))
    return info, [Binding.of(vif) for vif in info.vifs]


@pytest.fixture
def virt(libvirtd, tmp_path):
    driver = LibvirtDriver(
        LibvirtSettings(
            node="h1", folder=tmp_path / "instances", uri=libvirtd.uri, virt_type="qemu"
        )
    )
    yield driver
    for uuid in driver.list_guests():
        driver.destroy(uuid)


def spawn(virt, instance, info, tmp_path):
    (tmp_path / "sector.img").write_bytes(probe.disk(rounds=1))
    virt.spawn(
        a_context(),
        instance,
        image_path=tmp_path / "sector.img",
        network_info=info,
        resources=GuestResources(),
    )


def mtu(link):
    return int((LINKS / link / "mtu").read_text())


def test_a_guest_is_plugged_as_its_ports_are_bound(start, switch, virt, tmp_path):
    instance = an_instance(flavor=a_flavor(vcpus=1, memory_mb=32))
    info, (on_switch, apart, alone) = plug(start(), instance, bound("ovs"), hybrid(), bound("tap"))
    spawn(virt, instance, info, tmp_path)
    for binding, row in ((on_switch, on_switch.tap), (apart, f"qvo{apart.port_id}"[:14])):
        ids = switch.find("Interface", row, "external_ids")
        assert f'iface-id="{binding.port_id}"' in ids
        assert f'attached-mac="{binding.mac}"' in ids
        wait_until(lambda row=row: int(switch.find("Interface", row, "ofport")) > 0, row)
    assert (LINKS / apart.bridge / "brif" / apart.tap).exists()
    wait_until(lambda: (LINKS / alone.tap / "carrier").read_text() == "1\n", "QEMU has the tap")
    assert {mtu(binding.tap) for binding in (on_switch, apart, alone)} == {1400}
    virt.destroy(instance.uuid)
    start().unplug(instance.uuid)
    left = {binding.tap for binding in (on_switch, apart, alone)} | {apart.bridge}
    assert [name for name in left if (LINKS / name).exists()] == []
    assert switch.vsctl("list-ports", on_switch.switch) == ""


def test_guests_reach_each_other_over_the_switch(start):
    vifs, one, other = start(), hybrid(), hybrid()
    _, (first,) = plug(vifs, an_instance(), one)
    _, (second,) = plug(vifs, an_instance(), other)
    with (
        Wire(one, first.bridge) as sender,
        Wire(other, second.bridge) as receiver,
        receiver.frames() as ear,
        sender.frames() as mouth,
    ):
        ear.settimeout(0.2)
        frame = udp(sender.mac, "10.7.0.1", "255.255.255.255")

        def arrives():
            mouth.send(frame)  # a switch learns of a new port in its own time
            try:
                return ear.recv(2048) == frame
            except TimeoutError:
                return False

        wait_until(arrives, "the frame")


def test_whoever_starts_anew_knows_what_is_plugged(start, switch):
    instance = an_instance()
    _, (apart, alone) = plug(start(), instance, hybrid(), bound("tap"))
    subprocess.run(["/usr/sbin/ip", "link", "delete", "dev", alone.tap], check=True)
    subprocess.run(["/usr/sbin/ip", "link", "delete", "dev", apart.bridge], check=True)
    again = start()
    again.restore()
    assert (again.plugged(), mtu(alone.tap)) == ([instance.uuid], 1400)
    again.unplug(instance.uuid)
    assert (again.plugged(), (LINKS / alone.tap).exists()) == ([], False)
    assert switch.vsctl("list-ports", apart.switch) == ""


def test_where_no_switch_answers_another_host_is_tried_and_nothing_stays(start):
    vif, instance = bound("ovs"), an_instance()
    with pytest.raises(exception.BuildFailed, match=f"port {vif.id} cannot be plugged") as failed:
        plug(start("unix:/nowhere/db.sock"), instance, vif)
    assert failed.value.reschedulable
    assert start().plugged() == [instance.uuid]
    start().unplug(instance.uuid)
    assert start().plugged() == []
