"""What flavors ask of PCI devices, by the names that the operator gives them."""

import json
import re

import pytest

from roost import exception
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.rescue import Rescuer
from roost.hardware import pci_aliases, values
from roost.hardware.requirements import check_other_image, check_rescue_image, requirements_of
from tests.builders import a_flavor, an_image, an_instance

GPU = {"name": "gpu", "vendor_id": "10DE", "product_id": "1EB8"}
NIC = {"name": "nic", "vendor_id": "8086", "device_type": "type-VF", "numa_policy": "required"}


def aliases(*entries):
    return pci_aliases.parse([json.dumps(entry) for entry in entries])


def requests(alias, properties=None, **specs):
    specs = {"pci_passthrough:alias": alias} | {f"hw:{name}": v for name, v in specs.items()}
    flavor, image = a_flavor(extra_specs=specs), an_image(properties=properties or {})
    return requirements_of(flavor, image, aliases(GPU, NIC)).pci_requests


def refusal(*asked, **specs):
    with pytest.raises(exception.Invalid) as raised:
        requests(*asked, **specs)
    return raised.value.message


def test_devices_are_asked_for_by_alias():
    gpu, nic = requests("gpu:2, nic:1")
    assert (gpu.alias, gpu.count, gpu.numa_policy) == ("gpu", 2, "legacy")
    assert gpu.specs == [{"vendor_id": "10de", "product_id": "1eb8"}]
    assert (nic.alias, nic.count, nic.numa_policy) == ("nic", 1, "required")
    assert nic.specs == [{"vendor_id": "8086", "dev_type": "type-VF"}]


def test_the_flavors_numa_policy_goes_before_that_of_the_alias():
    (nic,) = requests("nic:1", pci_numa_affinity_policy="socket")
    assert nic.numa_policy == "socket"
    (nic,) = requests("nic:1", {"hw_pci_numa_affinity_policy": "preferred"})
    assert nic.numa_policy == "preferred"


def test_the_image_may_not_contradict_the_flavors_numa_policy():
    said = refusal(
        "nic:1", {"hw_pci_numa_affinity_policy": "legacy"}, pci_numa_affinity_policy="socket"
    )
    assert "Image property 'hw_pci_numa_affinity_policy' is not permitted to override" in said


@pytest.mark.parametrize(
    ("alias", "said"),
    [
        ("fpga:1", "PCI alias fpga is not defined"),
        ("gpu", "Invalid pci_passthrough:alias 'gpu': it must read name:count"),
        ("gpu:0", "must read name:count"),
        ("gpu:two", "must read name:count"),
        ("gpu:1,", "must read name:count"),
    ],
)
def test_an_alias_that_cannot_be_is_refused(alias, said):
    assert said in refusal(alias)


def test_a_numa_policy_that_nobody_knows_is_refused():
    said = refusal("gpu:1", pci_numa_affinity_policy="near")
    assert said.startswith("PCI NUMA affinity policy requested is invalid: 'near', must be one of")


def test_entries_of_one_name_are_alternatives():
    known = aliases(GPU, GPU | {"product_id": "20b0"})
    assert [spec["product_id"] for spec in known["gpu"].specs] == ["1eb8", "20b0"]


def test_other_keys_are_tags():
    known = aliases(GPU | {"physical_network": "a", "capability_type": "pci"})
    assert known["gpu"].specs[0]["physical_network"] == "a"
    assert "capability_type" not in known["gpu"].specs[0]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["{"], "not JSON"),
        (['"gpu"'], "must be a JSON object"),
        ([json.dumps({"vendor_id": "10de"})], "needs a name"),
        ([json.dumps(GPU | {"name": "a:b"})], "needs a name"),
        ([json.dumps(GPU | {"vendor_id": "nvidia"})], "vendor_id must be four hexadecimal digits"),
        ([json.dumps(GPU | {"product_id": 7})], "values must be strings"),
        ([json.dumps(GPU | {"device_type": "PF"})], "device_type must be one of type-PCI"),
        ([json.dumps(GPU | {"numa_policy": "near"})], "numa_policy must be one of required"),
        ([json.dumps(GPU | {"capability_type": "usb"})], "capability_type must be one of pci"),
        ([json.dumps({"name": "gpu"})], "no field that selects devices"),
        ([json.dumps(GPU), json.dumps(GPU | {"numa_policy": "socket"})], "another numa_policy"),
        ([json.dumps(GPU), json.dumps(GPU | {"device_type": "type-PF"})], "another device_type"),
    ],
)
def test_an_entry_of_the_option_that_cannot_be_meant_is_named(entries, said):
    with pytest.raises(exception.Invalid) as raised:
        pci_aliases.parse(entries)
    assert raised.value.message.startswith(f"[pci] alias has a bad entry {entries[-1]!r}: ")
    assert said in raised.value.message


# What has no meaning by itself, and what makes sense of it.
BESIDE = {
    "hw:locked_memory": {"hw:mem_page_size": "small"},
    "hw:maxphysaddr_mode=emulate": {"hw:maxphysaddr_bits": "40"},
    "hw:maxphysaddr_bits": {"hw:maxphysaddr_mode": "emulate"},
    "hw:tpm_model": {"hw:tpm_version": "2.0"},
    "hw_video_ram": {"hw_video:ram_max_mb": "1048576", "hw_video_model": "vga"},
    "os:secure_boot=required": {"hw_firmware_type": "uefi"},
    "os_secure_boot=required": {"hw_firmware_type": "uefi"},
    **{
        f"quota:vif_{way}_{rate}": {f"quota:vif_{way}_average": "1"}
        for way in ("inbound", "outbound")
        for rate in ("peak", "burst")
    },
}


def asked(words, **sizes):
    """Return a flavor and an image that say this between them."""
    of_flavor = {name for name in words if ":" in name or name in values.SCOPELESS}
    specs = {name: text for name, text in words.items() if name in of_flavor}
    properties = {name: text for name, text in words.items() if name not in of_flavor}
    return a_flavor(extra_specs=specs, **sizes), an_image(properties=properties)


def said(name, text):
    """Return a flavor and an image of which one says that, and all that it needs."""
    of_flavor = name if name in BESIDE else name.replace("hw_", "hw:", 1)
    beside = (
        BESIDE.get(of_flavor) or BESIDE.get(f"{of_flavor}={text}") or BESIDE.get(f"{name}={text}")
    )
    return asked((beside or {}) | {name: text})


def read(flavor, image):
    """Read them as hosts of libvirt do."""
    instance = an_instance(flavor=flavor, image=image)
    return Hardware.of(instance), Rescuer.of(instance, image)


KNOWN = [*values.CHOICES, *values.TRUTHS, *values.NUMBERS]


@pytest.mark.parametrize("name", KNOWN)
def test_what_no_host_could_read_is_refused_by_name_as_hosts_do(name):
    flavor, image = said(name, "rubbish")
    with pytest.raises(exception.Invalid, match=f"^{name} is 'rubbish', but must be ") as refused:
        requirements_of(flavor, image, {})
    with pytest.raises(exception.RoostError) as failed:
        read(flavor, image)
    assert failed.value.message == refused.value.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text) for name, allowed in values.CHOICES.items() for text in allowed),
        *((name, text) for name in values.TRUTHS for text in ("yes", "False", "0")),
        *((name, str(n)) for name, ends in values.NUMBERS.items() for n in ends),
    ],
)
def test_what_is_let_through_hosts_can_read(name, text):
    requirements_of(*said(name, text), {})
    read(*said(name, text))


@pytest.mark.parametrize(
    ("specs", "properties", "told"),
    [
        ({"hw:locked_memory": "yes"}, {}, "hw:locked_memory needs hw:mem_page_size"),
        ({"hw:maxphysaddr_bits": "40"}, {}, "set both or neither"),
        ({"hw:maxphysaddr_mode": "emulate"}, {}, "set both or neither"),
        ({"hw:serial_port_count": "2"}, {"hw_serial_port_count": "3"}, "the flavor allows 2"),
        ({"hw:usb_model": "none", "hw:redirected_usb_ports": "1"}, {}, "needs an hw:usb_model"),
        ({}, {"hw_rescue_device": "cdrom", "hw_rescue_bus": "virtio"}, "CDs are on scsi, sata"),
        ({"hw:sound_model": "ich6"}, {"hw_sound_model": "ich9"}, "not permitted to override"),
        ({"hw:pmu": "yes"}, {"hw_pmu": "no"}, "not permitted to override"),
        ({}, {"hw_architecture": "x86_64", "hw_emulation_architecture": "aarch64"},
         "hw_emulation_architecture is 'aarch64', but must be that of hw_architecture"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_when_it_is_asked_for(specs, properties, told):
    with pytest.raises(exception.Invalid, match=re.escape(told)):
        requirements_of(a_flavor(extra_specs=specs), an_image(properties=properties), {})


UEFI = {"hw_firmware_type": "uefi"}


@pytest.mark.parametrize(
    "words",
    [
        {"os_secure_boot": "required"},
        {"os:secure_boot": "required", "os_secure_boot": "disabled"},
        UEFI | {"os_secure_boot": "required", "hw_machine_type": "pc"},
        UEFI | {"os_secure_boot": "required", "hw_disk_bus": "ide"},
        {"hw:tpm_model": "tpm-tis"},
        {"hw:tpm_model": "tpm-crb", "hw_tpm_version": "1.2"},
        {"hw_video_model": "vga", "hw_video_ram": "64", "hw_video:ram_max_mb": "32"},
        {"hw_disk_bus": "ide", "hw_machine_type": "q35"},
        {"hw_cdrom_bus": "ide", "hw_machine_type": "pc-q35-7.2"},
        {"hw:viommu_model": "intel", "hw_machine_type": "pc"},
        {"hw:usb_model": "none", "hw_disk_bus": "usb"},
        {"hw:usb_model": "none", "hw_pointer_model": "usbtablet"},
        {"hw:cpu_max_sockets": "2", "hw_cpu_max_sockets": "4"},
        {"hw:cpu_max_sockets": "1", "hw:cpu_max_cores": "1", "hw:cpu_max_threads": "1"},
        {"quota:disk_total_iops_sec": "1", "quota:disk_read_iops_sec": "1"},
        {"quota:vif_inbound_peak": "1"},
    ],
)
def test_what_hosts_could_not_build_is_refused_when_it_is_asked_for(words):
    flavor, image = asked(words, vcpus=4)
    with pytest.raises(exception.BuildFailed) as failed:
        read(flavor, image)
    with pytest.raises(exception.Invalid, match=re.escape(failed.value.message)):
        requirements_of(flavor, image, {})


@pytest.mark.parametrize("words", [{"hw_disk_bus": "ide"}, {"hw:viommu_model": "intel"}])
def test_what_depends_on_the_machine_of_a_host_waits_for_it(words):
    requirements_of(*asked(words), {})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            {"hw_video_ram": "1", "hw_video:ram_max_mb": "1", "hw_video_model": "none"},
            "hw_video_ram needs an hw_video_model other than none",
        ),
        ({"trait:CUSTOM_X": "maybe"}, "trait:CUSTOM_X is 'maybe', but must be required or forbidd"),
        ({"hw_pmu": "yes", "trait:CUSTOM_COMPUTE_PMU": "forbidden"}, "and forbidden at once"),
        ({"os_shutdown_timeout": "soon"}, "must be a number from 0"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(words, told):
    with pytest.raises(exception.Invalid, match=re.escape(told)):
        requirements_of(*asked(words), {})


def test_a_flavor_alone_is_not_asked_what_its_image_may_add():
    specs = {"os:secure_boot": "required", "hw:tpm_model": "tpm-tis"}
    requirements_of(a_flavor(extra_specs=specs), None, {})
    with pytest.raises(exception.Invalid, match="hw:tpm_model is 'x'"):
        requirements_of(a_flavor(extra_specs={"hw:tpm_model": "x"}), None, {})


# Other images of servers that are there.


def test_of_another_image_only_what_it_brings_is_looked_at():
    old = a_flavor(extra_specs={"hw:locked_memory": "yes", "hw:mem_encryption": "yes"})
    check_other_image(old, an_image(), before=an_image())
    twice = an_image(properties={"hw_tpm_model": "tpm-tis"})
    check_other_image(old, twice, before=twice)
    with pytest.raises(exception.Invalid, match="hw:tpm_model needs hw:tpm_version"):
        check_other_image(old, twice, before=an_image())


@pytest.mark.parametrize("name", ["hw_mem_encryption", "block_device_mapping"])
def test_what_the_image_of_a_server_says_already_keeps_it_from_no_rebuild(name):
    own = an_image(properties={name: "x"})
    check_other_image(a_flavor(), own, before=own)
    with pytest.raises(exception.Invalid, match=name):
        check_other_image(a_flavor(), own, before=an_image())


def test_another_image_must_still_go_with_the_flavor():
    flavor = a_flavor(extra_specs={"os:secure_boot": "required"})
    with pytest.raises(exception.Invalid, match="hw_firmware_type=uefi"):
        check_other_image(flavor, an_image(), before=an_image(properties=UEFI))


@pytest.mark.parametrize(
    ("rescuer", "own", "told"),
    [
        ({"hw_mem_encryption": "yes"}, {}, "the memory of guests cannot be encrypted"),
        ({"hw_rescue_bus": "ide"}, {"hw_machine_type": "q35"}, "hw_rescue_bus is 'ide', which"),
        ({"hw_rescue_bus": "usb"}, {"hw_usb_model": "none"}, "hw:usb_model is 'none', but the"),
        ({"hw_rescue_bus": "xen"}, {}, "hw_rescue_bus is 'xen', but must be one of"),
    ],
)
def test_an_image_to_rescue_with_that_would_not_do_is_refused(rescuer, own, told):
    with pytest.raises(exception.Invalid, match=re.escape(told)):
        check_rescue_image(a_flavor(), an_image(properties=rescuer), own=an_image(properties=own))
