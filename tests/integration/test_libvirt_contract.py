"""The driver of libvirt keeps what virt drivers promise: by a real libvirtd, with real guests.

Their CPU is emulated, as KVM is not to be had everywhere. Most are of one sector, and run within a
second; where a guest's own system has to take part it is a Linux.
"""

import dataclasses
import queue
import re

import libvirt
import pytest

from roost import exception
from roost.compute.virt.driver import GuestResources, Kernel
from roost.compute.virt.libvirt import images, probe, server_metadata
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.objects import NetworkInfo
from roost.rig.hypervisors import linux_guest, needs
from tests.builders import a_context, a_flavor, a_uuid, a_vif, an_image
from tests.stories.cloud import wait_until
from tests.stories.virt_drivers import *  # noqa: F403

GIB = 1 << 30
SOUND, XHCI = "pci:0x040300", "pci:0x0c0330"
pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU


@pytest.fixture
def make_driver(libvirtd, tmp_path, request):
    settings = LibvirtSettings(
        node="h1",
        folder=tmp_path / "instances",
        uri=libvirtd.uri,
        virt_type="qemu",
        shutdown_seconds=0.5,
        screens=("vnc", "spice"),
        monitors=("cpu.virt_driver",),
        images_type=getattr(request, "param", "qcow2"),
    )
    yield lambda: LibvirtDriver(settings)
    left = LibvirtDriver(settings)
    for uuid in left.list_guests():
        left.destroy(uuid)


@pytest.fixture
def image_path(request, tmp_path):
    if "awake" in request.fixturenames:
        return request.getfixturevalue("linux_image")
    path = tmp_path / "sector.img"
    path.write_bytes(probe.disk(rounds=1))
    return path


@pytest.fixture
def half_made(driver, image_path):
    """Plug a guest into what is not there, which libvirt finds when all else of it is."""
    vif = a_vif(type="bridge", details={"bridge_name": '"nobodys"'})

    def half_made(instance):
        with pytest.raises(Exception, match="nobodys"):
            driver.spawn(
                a_context(),
                instance,
                image_path=image_path,
                network_info=NetworkInfo.of(vifs=[vif]),
                resources=GuestResources(),
            )

    return half_made


def test_a_guest_has_all_at_once_that_its_image_asks_for(driver, spawn, a_guest, awake):
    instance = a_guest(
        flavor=a_flavor(
            vcpus=2,
            memory_mb=128,
            extra_specs={
                "hw:hide_hypervisor_id": "yes",
                "hw:maxphysaddr_mode": "emulate",
                "hw:maxphysaddr_bits": "42",
                "hw:pmu": "no",
                "hw:redirected_usb_ports": "1",
                "hw:serial_port_count": "4",
                "hw:sound_model": "ich9",
                "hw:usb_model": "nec-xhci",
                "hw:viommu_model": "auto",
                "quota:disk_total_iops_sec": "10000",
            },
        )
    )
    instance.image.properties = {
        "hw_machine_type": "q35",
        "hw_disk_bus": "scsi",
        "hw_cdrom_bus": "sata",
        "hw_vif_model": "e1000e",
        "hw_video_model": "vga",
        "hw_input_bus": "usb",
        "hw_watchdog_action": "reset",
        "hw_cpu_sockets": "1",
        "hw_ipxe_boot": "yes",
        "hw_qemu_guest_agent": "yes",
        "hw_serial_port_count": "3",
        "hw_time_hpet": "no",
        "os_require_quiesce": "yes",
    }
    uuid = spawn(instance, vifs=[a_vif()])
    awake(uuid)
    found = finds(driver, uuid)
    assert {"addresses:42", "ports:3", "iommu", SOUND, XHCI} <= found
    assert found.isdisjoint({"hypervisor", "hpet"})
    domain = described(driver, uuid)
    assert domain.find("features/pmu").get("state") == "off"
    assert len(domain.findall("devices/redirdev")) == 1
    assert domain.find("devices/interface/boot").get("order") == "2"
    assert domain.find("devices/disk/boot").get("order") == "3"
    driver.attach_interface(uuid, a_vif())
    with driver.snapshot(uuid, disk_format="qcow2") as disk:
        assert disk.read(4) == b"QFI\xfb"
    said = driver.console_output(uuid)
    assert said.index("agent: fsfreeze-freeze") < said.index("agent: fsfreeze-thaw")


def test_uefi_and_a_tpm_are_the_guests_and_go_with_it(driver, a_guest, awake, image_path, libvirtd):
    needs.check({"swtpm": "swtpm", "swtpm_setup": "swtpm-tools"})
    instance = a_guest(flavor=a_flavor(memory_mb=256))  # with half of that Linux does not start
    instance.image.properties = {
        "hw_firmware_type": "uefi",
        "hw_tpm_version": "2.0",
        "hw_virtio_packed_ring": "yes",
    }
    kernel, ramdisk = linux_guest.kernel_of(image_path)
    driver.spawn(
        a_context(),
        instance,
        image_path=image_path,
        network_info=NetworkInfo.of(vifs=[a_vif()]),
        resources=GuestResources(),
        kernel=Kernel(kernel, ramdisk, "console=ttyS0 quiet"),
    )
    awake(instance.uuid)
    said = driver.console_output(instance.uuid)
    assert {"hypervisor", "packed", "ports:1"} <= finds(driver, instance.uuid)
    assert "guest: started by UEFI" in said
    assert "guest: TPM 2" in said
    assert len(libvirtd.kept_of(instance.uuid)) >= 2  # what UEFI and the TPM remember
    with pytest.raises(exception.Unsupported, match="has variables of UEFI, which cannot be"):
        driver.cold_moves().check(instance.uuid, '{"storage": "of another host"}')
    driver.destroy(instance.uuid)
    assert libvirtd.kept_of(instance.uuid) == []


def finds(driver, uuid):
    """Return what a Linux says that it finds of its machine."""
    (said,) = re.findall(r"guest: finds (.*)", driver.console_output(uuid))
    return {*said.split()}


def described(driver, uuid):
    """Return what libvirt says of a guest that runs."""
    return driver._on(uuid, "describe a guest", lambda domain: parse(domain.XMLDesc()))


def call(driver, do):
    return driver._connection.call("do something", do)


def test_a_guest_has_the_name_of_its_instance_or_that_of_an_earlier_release(driver, spawn, a_guest):
    names = {spawn(a_guest(instance_name="vm-1")): "vm-1"}
    old = spawn()
    names[old] = f"roost-{old}"
    for uuid, name in names.items():
        assert call(driver, lambda o, name=name: o.lookupByName(name).UUIDString()) == uuid
        driver.reboot(uuid, hard=True)
    assert driver.list_guests() == sorted(names)


def test_domains_of_others_are_no_guests_whatever_their_name_is(driver, spawn):
    ours, theirs = spawn(), a_uuid()
    heard = queue.SimpleQueue()
    driver.listen(heard.put)
    text = f"""<domain type="qemu"><name>instance-{theirs}</name><uuid>{theirs}</uuid>
    <memory unit="MiB">16</memory><os><type>hvm</type></os></domain>"""
    domain = call(driver, lambda opened: opened.createXML(text))
    try:
        assert heard.get(timeout=30) == theirs
        assert driver.list_guests() == [ours]
        with pytest.raises(exception.NotFound):
            driver.describe(theirs)
    finally:
        domain.destroy()


def test_meters_find_the_server_of_a_guest_and_its_ports(driver, spawn, a_guest):
    first, second = a_vif(), a_vif()
    uuid = spawn(a_guest(display_name="web"), vifs=[first])
    by = (libvirt.VIR_DOMAIN_METADATA_ELEMENT, server_metadata.NAMESPACE)

    def read():
        found = parse(driver._on(uuid, "read", lambda domain: domain.metadata(*by)))
        ports = [one.get("uuid") for one in found.iter() if one.tag.endswith("port")]
        return found[1].text, ports

    assert read() == ("web", [first.id])
    driver.attach_interface(uuid, second)
    assert read() == ("web", [first.id, second.id])
    driver.power_off(uuid)
    driver.detach_interface(uuid, first.id)
    assert read() == ("web", [second.id])


@pytest.mark.parametrize(("device", "bus"), [("cdrom", "sata"), ("disk", "usb"), (None, "scsi")])
def test_a_guest_is_rescued_by_what_the_image_says_with_its_disks_in_place(
    driver, spawn, a_guest, image_path, device, bus
):
    instance = a_guest()
    instance.image.properties = {"hw_machine_type": "q35"}
    uuid = spawn(instance)
    before = {disk.find("target").get("dev"): disk.find("source").get("file")
              for disk in described(driver, uuid).iterfind("devices/disk")}  # fmt: skip
    asked = {"hw_rescue_device": device, "hw_rescue_bus": bus}
    said = {name: value for name, value in asked.items() if value}
    image = an_image(properties=said)
    driver.rescue(a_context(), instance, image=image, image_path=image_path, password=None)
    disks = described(driver, uuid).findall("devices/disk")
    (rescuer,) = [one for one in disks if one.find("boot[@order='1']") is not None]
    assert (rescuer.get("device"), rescuer.find("target").get("bus")) == (device or "disk", bus)
    assert rescuer.find("source").get("file").endswith("rescue.qcow2")
    others = {disk.find("target").get("dev"): disk.find("source").get("file")
              for disk in disks if disk is not rescuer}  # fmt: skip
    assert others == before
    driver.unrescue(uuid)
    (own,) = described(driver, uuid).findall("devices/disk")
    assert (own.find("source").get("file"), own.find("boot").get("order")) == (
        before["vda"],
        "1",
    )


of_plain_disks = pytest.mark.parametrize("make_driver", ["raw"], indirect=True)


@pytest.fixture
def kernel(image_path):
    return Kernel(*linux_guest.kernel_of(image_path), "console=ttyS0 quiet word=ours")


@pytest.fixture
def started_by(driver, awake, image_path):
    """Spawn a guest that does not look for a kernel on its disk, and wait until it is up."""

    def started_by(kernel, instance):
        driver.spawn(
            a_context(),
            instance,
            image_path=image_path,
            network_info=NetworkInfo.of(vifs=[]),
            resources=GuestResources(),
            kernel=kernel,
        )
        awake(instance.uuid)

    return started_by


@of_plain_disks
def test_a_guest_of_plain_disks_is_started_by_its_own_kernel(driver, a_guest, kernel, started_by):
    instance = a_guest(flavor=a_flavor(memory_mb=128, swap=1))
    started_by(kernel, instance)
    assert "guest: command line console=ttyS0 quiet word=ours" in driver.console_output(
        instance.uuid
    )
    folder = driver._folders.of(instance.uuid)
    names = {"kernel", "ramdisk", "root.raw", "blank0.raw"}
    assert names <= {path.name for path in folder.path.iterdir()}
    assert images.inspect(folder.root).size == GIB
    assert folder.root.stat().st_blocks * 512 < GIB / 4  # holes stay holes
    with driver.snapshot(instance.uuid, disk_format="qcow2") as disk:
        assert disk.read(4) == b"QFI\xfb"


def test_a_guest_is_rescued_by_another_kernel_and_started_by_its_own_again(
    driver, a_guest, kernel, started_by, image_path
):
    instance = a_guest(flavor=a_flavor(memory_mb=128))
    started_by(kernel, instance)

    def started(by):
        said = [line for line in driver.console_output(uuid).splitlines() if "command line" in line]
        return said and said[-1].endswith(f"word={by}")

    uuid, folder = instance.uuid, driver._folders.of(instance.uuid)
    image = an_image(properties={"hw_rescue_bus": "virtio"})
    other = dataclasses.replace(kernel, command_line="console=ttyS0 quiet word=other")
    how = {"image": image, "image_path": image_path, "password": None}
    driver.rescue(a_context(), instance, **how, kernel=other)
    wait_until(lambda: started("other"), "the rescue", timeout=180)
    driver.unrescue(uuid)
    wait_until(lambda: started("ours"), "the end of the rescue", timeout=180)
    assert {*folder.path.glob("rescue*")} == set()
    driver.rescue(a_context(), instance, image=image, image_path=image_path, password=None)
    assert described(driver, uuid).find("os/kernel") is None


@pytest.fixture
def awake(driver):
    def awake(uuid):
        wait_until(
            lambda: linux_guest.READY in driver.console_output(uuid),
            "the guest is awake",
            timeout=180,
        )
        agent = "devices/channel/target[@name='org.qemu.guest_agent.0']"
        wait_until(
            lambda: all(
                one.get("state") == "connected" for one in described(driver, uuid).findall(agent)
            ),
            "libvirt has heard of its agent",
        )

    return awake
