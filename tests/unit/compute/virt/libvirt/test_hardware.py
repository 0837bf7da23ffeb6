"""What flavor and image ask of a guest's hardware comes to what libvirt is told."""

import pytest

from roost import exception
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt.cpus import CpuTopology, Topology
from roost.compute.virt.libvirt.disks import Disk, DiskNames
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.identity import GuestIdentity
from roost.compute.virt.libvirt.interfaces import GuestInterface, VifShape
from tests.builders import a_vif
from tests.stories.libvirt_domains import (
    FOLDER,
    ON_A_BRIDGE,
    UUID,
    a_domain,
    a_hardware,
    a_topology,
)


def domain_of(specs=None, properties=None, *, machine=None, **values):
    hardware = a_hardware(specs, properties, machine=machine)
    return parse(a_domain(hardware=hardware, **values).xml())


def refusal(specs=None, properties=None, **values):
    with pytest.raises(exception.BuildFailed) as refused:
        a_hardware(specs, properties, **values)
    assert not refused.value.reschedulable
    return refused.value.message


def shape(specs=None, properties=None, vcpus=8):
    found = a_hardware(specs, properties, vcpus=vcpus).shape
    return found and (found.sockets, found.cores, found.threads)


@pytest.mark.parametrize(
    ("properties", "path", "attributes"),
    [
        ({"hw_watchdog_action": "reset"}, "devices/watchdog", {"action": "reset"}),
        ({"hw_tpm_version": "2.0"}, "devices/tpm", {"model": "tpm-tis"}),
        ({"hw_tpm_version": "1.2"}, "devices/tpm/backend", {"version": "1.2"}),
        ({"hw_video_model": "cirrus"}, "devices/video/model", {"type": "cirrus"}),
        ({"hw_pointer_model": "usbtablet"}, "devices/input", {"type": "tablet", "bus": "usb"}),
        ({"hw_input_bus": "virtio"}, "devices/input", {"type": "tablet", "bus": "virtio"}),
        ({"hw_qemu_guest_agent": "yes"}, "devices/channel/target",
         {"name": "org.qemu.guest_agent.0"}),
        ({"hw_boot_menu": "true"}, "os/bootmenu", {"enable": "yes"}),
        ({"hw_machine_type": "q35"}, "os/type", {"machine": "q35"}),
        ({"hw_firmware_type": "uefi"}, "os[@firmware='efi']", {}),
        ({"hw_scsi_model": "lsilogic"}, "devices/controller[@type='scsi']", {"model": "lsilogic"}),
        ({"hw_sound_model": "ac97"}, "devices/sound", {"model": "ac97"}),
        ({"hw_usb_model": "none"}, "devices/controller[@type='usb']", {"model": "none"}),
        ({"hw_redirected_usb_ports": "1"}, "devices/controller[@type='usb']",
         {"model": "qemu-xhci"}),
        ({"hw_redirected_usb_ports": "1"}, "devices/redirdev", {"type": "spicevmc"}),
        ({"hw_serial_port_count": "2"}, "devices/serial[2]/target", {"port": "1"}),
        ({"hw_viommu_model": "auto"}, "devices/iommu/driver", {"intremap": "on"}),
        ({"hw_viommu_model": "virtio"}, "devices/iommu", {"model": "virtio"}),
        ({"hw_viommu_model": "intel"}, "os/type", {"machine": "q35"}),
        ({"hw_pmu": "yes"}, "features/pmu", {"state": "on"}),
        ({"hw_time_hpet": "no"}, "clock/timer", {"name": "hpet", "present": "no"}),
        ({"img_hide_hypervisor_id": "yes"}, "cpu/feature",
         {"name": "hypervisor", "policy": "disable"}),
        ({"hw_maxphysaddr_mode": "emulate", "hw_maxphysaddr_bits": "42"}, "cpu/maxphysaddr",
         {"mode": "emulate", "bits": "42"}),
    ],
)  # fmt: skip
def test_an_image_gets_the_device_that_it_asks_for_and_no_other_has_it(
    properties, path, attributes
):
    found = domain_of({}, properties).find(path)
    assert attributes.items() <= dict(found.attrib).items()
    before = domain_of().find(path)
    assert before is None or dict(before.attrib) != dict(found.attrib)


@pytest.mark.parametrize(
    ("specs", "properties", "said"),
    [
        ({}, {"hw_disk_bus": "xen"}, "hw_disk_bus is 'xen', but must be one of ide, sata, scsi"),
        ({}, {"hw_cdrom_bus": "virtio"}, "hw_cdrom_bus is 'virtio', but must be one of ide"),
        ({}, {"hw_vif_model": "x"}, "hw_vif_model is 'x', but must be one of e1000, e1000e"),
        ({}, {"hw_video_model": "x"}, "hw_video_model is 'x', but must be one of bochs"),
        ({}, {"hw_scsi_model": "x"}, "hw_scsi_model is 'x', but must be one of lsilogic"),
        ({}, {"hw_rng_model": "x"}, "hw_rng_model is 'x', but must be one of virtio"),
        ({}, {"hw_watchdog_action": "x"}, "hw_watchdog_action is 'x', but must be one of disabled"),
        ({"hw:watchdog_action": "x"}, {}, "hw:watchdog_action is 'x', but must be one of disabled"),
        ({}, {"hw_firmware_type": "x"}, "hw_firmware_type is 'x', but must be one of bios, uefi"),
        ({}, {"hw_qemu_guest_agent": "x"}, "hw_qemu_guest_agent is 'x', but must be yes or no"),
        ({}, {"hw_pointer_model": "x"}, "hw_pointer_model is 'x', but must be one of ps2mouse"),
        ({"hw:tpm_version": "3"}, {}, "hw:tpm_version is '3', but must be one of 1.2, 2.0"),
        ({"hw:tpm_model": "tpm-tis"}, {}, "hw:tpm_model needs hw:tpm_version"),
        ({"hw:tpm_model": "tpm-crb", "hw:tpm_version": "1.2"}, {}, "needs hw:tpm_version=2.0"),
        ({"hw:tpm_version": "1.2"}, {"hw_tpm_version": "2.0"}, "not permitted to override"),
        ({"os:secure_boot": "required"}, {}, "needs an image with hw_firmware_type=uefi"),
        ({"os:secure_boot": "required"}, {"os_secure_boot": "disabled"}, "but the flavor has"),
        ({"hw_video:ram_max_mb": "32"}, {"hw_video_ram": "64"},
         "the flavor allows 32 MB (hw_video:ram_max_mb)"),
        ({"quota:cpu_period": "1"}, {}, "quota:cpu_period is '1', but must be a number from 1000"),
        ({"quota:vif_inbound_peak": "1"}, {}, "nothing without quota:vif_inbound_average"),
        ({"quota:disk_total_iops_sec": "1", "quota:disk_read_iops_sec": "1"}, {}, "goes without"),
        ({"hw_rng:rate_bytes": "-1"}, {}, "hw_rng:rate_bytes is '-1', but must be a number"),
        ({"hw:cpu_max_sockets": "1", "hw:cpu_max_cores": "1", "hw:cpu_max_threads": "1"}, {},
         "2 CPUs are not possible with hw:cpu_max_sockets=1"),
        ({"hw:viommu_model": "intel"}, {"hw_machine_type": "pc"}, "needs hw_machine_type=q35, not"),
        ({"hw:usb_model": "none"}, {"hw_pointer_model": "usbtablet"}, "guest has devices on USB"),
        ({"hw:cpu_max_cores": "2"}, {"hw_cpu_cores": "4"}, "hw_cpu_cores is '4', but may be 2"),
        ({"hw:cpu_max_cores": "2"}, {"hw_cpu_max_cores": "4"}, "hw_cpu_max_cores is '4', but may"),
    ],
)  # fmt: skip
def test_what_no_host_could_do_is_refused_for_good_and_what_could_be_done_is_named(
    specs, properties, said
):
    assert said in refusal(specs, properties)


def test_a_guest_of_kvm_hides_it_and_keeps_what_makes_it_fast():
    domain = domain_of({"hw:hide_hypervisor_id": "yes"}, virt_type="kvm")
    assert domain.find("features/kvm/hidden").get("state") == "on"
    assert domain.find("cpu") is None


def test_locked_memory_is_locked_beside_huge_pages_or_without():
    plain = parse(a_domain(topology=Topology(locked=True)).xml())
    assert [one.tag for one in plain.find("memoryBacking")] == ["locked"]
    specs = {"hw:locked_memory": "yes", "hw:mem_page_size": "small"}
    assert a_hardware(specs).locked


def test_packed_rings_are_of_disks_and_interfaces_also_of_those_that_come_later():
    asked = {"hw:virtio_packed_ring": "yes"}
    hardware = a_hardware(asked)
    disk = Disk(FOLDER / "root", "vda", packed=hardware.packed).element()
    assert disk.find("driver").get("packed") == "on"
    later = VifShape.noted(hardware.vifs.notes())
    for binding in ({}, ON_A_BRIDGE):
        interface = GuestInterface.of(a_vif(**binding), later).element()
        assert interface.find("driver").get("packed") == "on"
    of_scsi = Disk(FOLDER / "root", "sda", bus="scsi", packed=True).element()
    assert of_scsi.find("driver").get("packed") is None
    other = a_hardware(asked, {"hw_vif_model": "e1000"})
    assert GuestInterface.of(a_vif(), other.vifs).element().find("driver") is None


def test_the_flavors_machine_has_no_ide_whoever_asks_for_it():
    assert "'ide', which machine q35 does not have" in refusal(
        {}, {"hw_disk_bus": "ide"}, machine="q35"
    )
    with pytest.raises(exception.BuildFailed, match="disk_bus is 'lxc', but must be one of ide"):
        a_hardware().bus("lxc")
    assert a_hardware({}, {"hw_disk_bus": "sata"}).bus(None) == "sata"


def test_secure_boot_takes_a_machine_that_can():
    asked = {"hw_firmware_type": "uefi", "os_secure_boot": "required"}
    domain = domain_of({}, asked)
    assert domain.find("os/type").get("machine") == "q35"
    features = {one.get("name"): one.get("enabled") for one in domain.iterfind("os/firmware/*")}
    assert features == {"secure-boot": "yes", "enrolled-keys": "yes"}
    assert domain.find("features/smm").get("state") == "on"
    assert "os_secure_boot needs hw_machine_type=q35, not 'pc'" in refusal(
        {}, asked | {"hw_machine_type": "pc"}
    )


def test_the_image_knows_best_what_its_watchdog_should_do_and_the_flavor_of_the_menu():
    specs = {"hw:watchdog_action": "reset", "hw:boot_menu": "no"}
    domain = domain_of(specs, {"hw_watchdog_action": "disabled", "hw_boot_menu": "yes"})
    assert domain.find("devices/watchdog") is None
    assert domain.find("os/bootmenu") is None
    assert domain_of(specs).find("devices/watchdog").get("action") == "reset"


def test_random_numbers_are_there_unless_the_flavor_forbids_them():
    assert domain_of().find("devices/rng/rate") is None
    limited = domain_of({"hw_rng:rate_bytes": "64", "hw_rng:rate_period": "1000"})
    assert limited.find("devices/rng/rate").attrib == {"bytes": "64", "period": "1000"}
    assert domain_of({"hw_rng:allowed": "no"}).find("devices/rng") is None


@pytest.mark.parametrize(("said", "seconds"), [(None, None), ("0", 0), ("7", 7), ("1800", 900)])
def test_a_guest_keeps_its_host_waiting_no_longer_than_anybody_may(said, seconds):
    properties = {} if said is None else {"os_shutdown_timeout": said}
    assert a_hardware(properties=properties).shutdown_seconds == seconds


def test_a_graphics_card_has_as_much_memory_as_its_flavor_allows_at_most():
    asked = {"hw_video_ram": "64"}
    card = domain_of({"hw_video:ram_max_mb": "64"}, asked).find("devices/video/model")
    assert card.get("vram") == str(64 * 1024)


@pytest.mark.parametrize(
    ("specs", "properties", "expected"),
    [
        ({}, {}, None),
        ({"hw:cpu_sockets": "2"}, {}, (2, 4, 1)),
        ({"hw:cpu_threads": "2"}, {}, (4, 1, 2)),
        ({"hw:cpu_max_sockets": "1"}, {}, (1, 8, 1)),
        ({"hw:cpu_sockets": "2"}, {"hw_cpu_sockets": "4"}, (4, 2, 1)),
        ({"hw:cpu_max_sockets": "2", "hw:cpu_max_cores": "2"}, {}, (2, 2, 2)),
        ({"hw:cpu_max_sockets": "4"}, {"hw_cpu_max_sockets": "2"}, (2, 4, 1)),
        ({"hw:cpu_sockets": "3"}, {}, (8, 1, 1)),
    ],
)
def test_cpus_are_seen_in_the_shape_that_is_asked_for_if_there_is_one(specs, properties, expected):
    assert shape(specs, properties) == expected


def test_a_shape_stands_beside_the_cells_that_are_seen_on_it():
    hardware = a_hardware({"hw:cpu_sockets": "2"}, vcpus=4)
    cpu = parse(a_domain(vcpus=4, hardware=hardware, topology=a_topology()).xml()).find("cpu")
    assert [part.tag for part in cpu] == ["topology", "numa"]
    assert hardware.shape == CpuTopology(2, 2, 1)


def test_limits_are_on_cpus_each_disk_and_each_interface():
    specs = {
        "quota:cpu_shares": "512",
        "quota:cpu_period": "20000",
        "quota:cpu_quota": "10000",
        "quota:disk_total_iops_sec": "100",
        "quota:disk_read_bytes_sec": "4096",
        "quota:vif_inbound_average": "1000",
        "quota:vif_inbound_peak": "2000",
        "quota:vif_outbound_average": "500",
    }
    hardware = a_hardware(specs)
    disk = Disk(FOLDER / "root", "vda", 1, tuning=hardware.tuning)
    vif = GuestInterface.of(a_vif(**ON_A_BRIDGE), hardware.vifs)
    domain = parse(a_domain(hardware=hardware, disks=(disk,), interfaces=(vif,)).xml())
    assert {one.tag: one.text for one in domain.find("cputune")} == {
        "shares": "512",
        "period": "20000",
        "quota": "10000",
    }
    assert {one.tag: one.text for one in domain.find("devices/disk/iotune")} == {
        "total_iops_sec": "100",
        "read_bytes_sec": "4096",
    }
    way = domain.find("devices/interface/bandwidth")
    assert way.find("inbound").attrib == {"average": "1000", "peak": "2000"}
    assert way.find("outbound").attrib == {"average": "500"}


def test_interfaces_that_come_later_are_as_those_before():
    specs = {"quota:vif_outbound_average": "7", "hw:vif_multiqueue_enabled": "yes"}
    shaped = a_hardware(specs, {}, vcpus=4).vifs
    assert shaped.queues == 4
    remembered = parse(a_domain(identity=GuestIdentity(UUID, 1, notes=shaped.notes())).xml())
    assert VifShape.noted(GuestIdentity.of(remembered).notes) == shaped
    assert VifShape.noted({}) == VifShape()


def test_disks_are_named_by_their_buses():
    names = DiskNames()
    found = [names.next(bus) for bus in ("virtio", "scsi", "sata", "virtio", "usb")]
    assert found == ["vda", "sda", "sdb", "vdb", "sdc"]
    assert names.next("ide").startswith("hd")


def test_guests_without_cells_keep_to_shared_cpus_where_others_are_kept_from_them():
    def cpuset(**values):
        topology = Topology.of(GuestResources(), floating={0: [0, 1], 1: [4]}, **values)
        return parse(a_domain(topology=topology).xml()).find("vcpu").get("cpuset")

    assert cpuset(confined=True) == "0,1,4"
    assert cpuset() is None


@pytest.mark.parametrize(("apart", "cpus"), [(True, "0,1,4,5"), (False, "0,1,4,5,6")])
def test_the_emulators_threads_are_with_their_guest_or_with_all_others(apart, cpus):
    domain = parse(a_domain(vcpus=4, topology=a_topology(emulator_apart=apart)).xml())
    assert domain.find("cputune/emulatorpin").get("cpuset") == cpus
