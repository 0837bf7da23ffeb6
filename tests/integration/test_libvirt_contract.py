"""The driver of libvirt keeps what virt drivers promise: by a real libvirtd, with real guests.

Their CPU is emulated, as KVM is not to be had everywhere. Most are of one sector, and run within a
second; where a guest's own system has to take part it is a Linux.
"""

import pytest

from roost.compute.virt.driver import Placement
from roost.compute.virt.libvirt import probe
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.settings import Settings
from roost.objects import NetworkInfo
from roost.rig.hypervisors import linux_guest
from tests.builders import a_context, a_flavor, a_vif
from tests.stories.cloud import wait_until
from tests.stories.virt_drivers import *  # noqa: F403

pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU


@pytest.fixture
def make_driver(libvirtd, tmp_path):
    settings = Settings(
        node="h1",
        folder=tmp_path / "instances",
        uri=libvirtd.uri,
        virt_type="qemu",
        shutdown_seconds=0.5,
        screens=("vnc", "spice"),
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
                placement=Placement(),
            )

    return half_made


def test_a_guest_has_all_at_once_that_its_image_asks_for(driver, spawn, a_guest, awake):
    instance = a_guest(
        flavor=a_flavor(vcpus=2, memory_mb=128, extra_specs={"quota:disk_total_iops_sec": "10000"})
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
        "hw_qemu_guest_agent": "yes",
        "os_require_quiesce": "yes",
    }
    uuid = spawn(instance, vifs=[a_vif()])
    awake(uuid)
    driver.attach_interface(uuid, a_vif())
    with driver.snapshot(uuid, disk_format="qcow2") as disk:
        assert disk.read(4) == b"QFI\xfb"
    said = driver.console_output(uuid)
    assert said.index("agent: fsfreeze-freeze") < said.index("agent: fsfreeze-thaw")


@pytest.fixture
def awake(driver):
    def awake(uuid):
        wait_until(
            lambda: linux_guest.READY in driver.console_output(uuid),
            "the guest is awake",
            timeout=180,
        )

    return awake
