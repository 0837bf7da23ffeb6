"""What libvirt is told of guests says what was asked for."""

import dataclasses
import pathlib
import xml.etree.ElementTree as ET

import pytest

from roost import exception
from roost.compute.virt.libvirt import disks, screen, serial
from roost.compute.virt.libvirt.disks import Disk
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.identity import GuestIdentity, note_rescued, written
from roost.compute.virt.libvirt.interfaces import GuestInterface, find_interface
from roost.compute.virt.libvirt.rescue import Rescuer, take_out
from tests.builders import a_uuid, a_vif
from tests.stories.libvirt_domains import (
    ALONE,
    DOMAINS,
    FOLDER,
    ON_A_BRIDGE,
    ON_A_SWITCH,
    UUID,
    a_domain,
)

OTHER_KERNEL = DirectKernel(FOLDER / "rescue.kernel", None, None)


def test_a_guest_remembers_whose_it_is():
    domain = parse(a_domain().xml())
    assert GuestIdentity.of(domain) == GuestIdentity(UUID, 2)
    note_rescued(domain, rescued=True)
    assert GuestIdentity.of(parse(written(domain))) == GuestIdentity(UUID, 2, rescued=True)


def test_what_is_none_of_ours_is_told_apart():
    with pytest.raises(ValueError, match="other is no guest of Roost"):
        GuestIdentity.of(parse("<domain><name>other</name></domain>"))


@pytest.mark.parametrize("name", ["with all", "with its own kernel", "of a machine with all"])
@pytest.mark.parametrize("kernel", [None, OTHER_KERNEL], ids=["no kernel", "a kernel"])
@pytest.mark.parametrize(
    "rescuer", [Rescuer(), Rescuer(bus="usb"), Rescuer(is_cd=True, bus="scsi")], ids=str
)
def test_a_rescued_guest_starts_from_its_rescuer_alone_and_its_end_changes_all_back(
    name, rescuer, kernel
):
    before = DOMAINS[name].xml()
    domain = parse(before)
    own = pathlib.Path(disks.root_disk(domain).find("source").get("file"))
    rescuer.put_into(domain, FOLDER / "rescue.qcow2", kernel)
    assert domain.findtext("os/kernel") == (kernel and str(kernel.path))
    assert domain.find("os/initrd") is None
    orders = sorted(int(boot.get("order")) for boot in domain.iterfind("devices/*/boot"))
    assert len(orders) == len({*orders})
    assert disks.root_disk(domain).find("source").get("file") == "/guests/one/rescue.qcow2"
    take_out(domain, own)
    assert written(domain) == before


@pytest.mark.parametrize(
    ("rescuer", "kernel", "words"),
    [
        (Rescuer(), OTHER_KERNEL, "root=/dev/vda console=tty0 console=ttyS0"),
        (Rescuer(bus="virtio"), OTHER_KERNEL, "root=/dev/vdb console=tty0 console=ttyS0"),
        (Rescuer(bus="usb"), dataclasses.replace(OTHER_KERNEL, command_line="quiet"), "quiet"),
        (Rescuer(bus="usb"), None, None),
    ],
    ids=str,
)
def test_the_kernel_of_a_rescue_finds_its_system_on_the_rescuer(rescuer, kernel, words):
    domain = parse(DOMAINS["with its own kernel"].xml())
    rescuer.put_into(domain, FOLDER / "rescue.qcow2", kernel)
    assert domain.findtext("os/cmdline") == words


def test_a_rescue_changes_which_disk_comes_first_and_its_end_changes_it_back():
    before = a_domain(disks=(Disk(FOLDER / "own", "vda", 1), Disk(FOLDER / "blank", "vdb"))).xml()
    domain = parse(before)
    disks.start_from(domain, FOLDER / "rescue")
    found = {disk.find("target").get("dev"): disk.find("source").get("file")
             for disk in domain.iter("disk")}  # fmt: skip
    assert found == {"vda": "/guests/one/rescue", "vdb": "/guests/one/blank",
                     "vdc": "/guests/one/own"}  # fmt: skip
    disks.start_from_own(domain, FOLDER / "own")
    assert written(domain) == before


def test_the_cells_of_a_guest_are_where_its_claim_says():
    domain = parse(DOMAINS["pinned"].xml())
    pins = {pin.get("vcpu"): pin.get("cpuset") for pin in domain.iter("vcpupin")}
    assert pins == {"0": "4,5", "1": "6", "2": "0,1", "3": "0,1"}
    nodes = [(one.get("cellid"), one.get("nodeset")) for one in domain.iter("memnode")]
    assert nodes == [("0", "1"), ("1", "0")]
    seen = [(one.get("cpus"), one.get("memory")) for one in domain.iter("cell")]
    assert seen == [("0,1", str(256 * 1024)), ("2,3", str(256 * 1024))]
    assert [(one.get("size"), one.get("nodeset")) for one in domain.iter("page")] == [("2048", "0")]


@pytest.mark.parametrize("kinds", [(), ("vnc",), ("spice",), ("spice", "vnc")])
def test_a_guest_has_the_screens_that_its_operator_wants(kinds):
    assert tuple(screen.kinds(parse(a_domain(screens=kinds).xml()))) == kinds


def test_a_serial_console_that_only_a_file_hears_cannot_be_typed_at():
    made = a_domain().xml()
    assert serial.is_there(parse(made))
    assert not serial.is_there(parse(made.replace('type="pty"', 'type="file"')))


def test_a_port_that_says_its_bridge_is_plugged_there():
    made = GuestInterface.of(a_vif(**ON_A_BRIDGE)).element()
    assert (made.get("type"), made.find("source").get("bridge")) == ("bridge", "br-vm")
    assert made.find("mtu").get("size") == "1450"
    assert len(made.find("target").get("dev")) <= 15


def test_a_port_on_a_switch_is_told_by_its_id():
    made = GuestInterface.of(vif := a_vif(**ON_A_SWITCH)).element()
    assert (made.get("type"), made.find("source").get("bridge")) == ("bridge", "br-int")
    assert made.find("virtualport").get("type") == "openvswitch"
    assert made.find("virtualport/parameters").get("interfaceid") == vif.id


def test_a_hybrid_port_is_plugged_into_its_own_bridge_as_into_any():
    details = {**ON_A_SWITCH["details"], "ovs_hybrid_plug": "true"}
    made = GuestInterface.of(vif := a_vif(**{**ON_A_SWITCH, "details": details})).element()
    assert made.find("source").get("bridge") == f"qbr{vif.id}"[:14]
    assert made.find("virtualport") is None


def test_a_tap_is_there_before_the_guest_and_after():
    made = GuestInterface.of(vif := a_vif(**ALONE)).element()
    assert (made.get("type"), made.find("source")) == ("ethernet", None)
    assert made.find("target").attrib == {"dev": f"tap{vif.id}"[:14], "managed": "no"}


def test_a_port_of_a_local_network_is_behind_qemus_own_router():
    made = GuestInterface.of(a_vif(mtu=1450)).element()
    assert made.get("type") == "user"
    assert made.find("mtu") is None


@pytest.mark.parametrize(
    "values", [{"type": "ovs"}, {"type": "bridge", "details": {}}, {"type": "binding_failed"}]
)
def test_a_port_that_cannot_be_plugged_may_be_plugged_elsewhere(values):
    with pytest.raises(exception.BuildFailed, match=f"is bound as {values['type']}") as failed:
        GuestInterface.of(a_vif(**values))
    assert failed.value.reschedulable


def test_interfaces_are_found_by_their_ports():
    vif = a_vif()
    domain = ET.fromstring(a_domain(interfaces=(GuestInterface.of(vif),)).xml())
    assert find_interface(domain, vif.id).find("mac").get("address") == vif.mac
    assert find_interface(domain, a_uuid()) is None
