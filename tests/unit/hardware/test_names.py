"""Which extra specs are refused when they are written."""

import pytest

from roost import exception
from roost.hardware import names


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hw:cpu_policy", "dedicated"),
        ("hw:cpu_thread_policy", "isolate"),
        ("hw:cpu_dedicated_mask", "^0-1"),
        ("hw:cpu_max_sockets", "2"),
        ("hw:numa_nodes", "2"),
        ("hw:numa_cpus.0", "0,1,4-7"),
        ("hw:numa_mem.1", "2048"),
        ("hw:mem_page_size", "2MB"),
        ("hw:mem_page_size", "2048"),
        ("hw:mem_page_size", "any"),
        ("hw:hide_hypervisor_id", "Yes"),
        ("hw:watchdog_action", "reset"),
        ("hw_rng:allowed", "True"),
        ("hw_video:ram_max_mb", "64"),
        ("os:secure_boot", "required"),
        ("hw:mem_encryption", "no"),
        ("quota:disk_read_bytes_sec", "10240000"),
        ("quota:vif_inbound_burst", "1"),
        ("resources:VCPU", "2"),
        ("resources:CUSTOM_GPU", "0"),
        ("resources:MEMORY_MB", "0"),
        ("resources:VGPU", "1"),
        ("resources1:VGPU", "1"),
        ("resources_NET:NET_BW_EGR_KILOBIT_PER_SEC", "1000"),
        ("trait1:CUSTOM_GOLD", "forbidden"),
        ("trait:HW_CPU_X86_AVX2", "required"),
        ("pci_passthrough:alias", "gpu:1, nic:2"),
        ("aggregate_instance_extra_specs:ssd", "<in> true"),
        ("capabilities:cpu_info:vendor", "Intel"),
        ("our_filter:colour", "red"),
        ("colour", "red"),
        ("group_policy", "none"),
        ("same_subtree", "1, _gpu"),
        ("hw:serial_port_count", "0"),
    ],
)
def test_what_may_be_meant_is_taken(name, value):
    names.check_written({name: value})


@pytest.mark.parametrize(
    "name",
    [
        "hw:cpu_polic",
        "hw:CPU_POLICY",
        "hw:",
        "hw:numa_cpus",
        "hw:numa_cpus.x",
        "hw_rng:rate",
        "os:name",
        "quota:disk",
        "resources:vcpu",
        "resources:",
        "trait:hw_cpu",
        "accel:profile",
        "pci_passthrough:aliases",
        "capabilities:",
    ],
)
def test_what_no_known_scope_has_is_refused(name):
    with pytest.raises(exception.Invalid, match="does not appear to be a valid extra spec"):
        names.check_written({"colour": "red", name: "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hw:cpu_policy", "Dedicated"),
        ("hw:cpu_dedicated_mask", "0-"),
        ("hw:cpu_sockets", "0"),
        ("hw:numa_nodes", "two"),
        ("hw:numa_nodes", "٣"),
        ("hw:numa_mem.0", "1GB"),
        ("hw:mem_page_size", "huge"),
        ("hw:boot_menu", "perhaps"),
        ("os:secure_boot", "yes"),
        ("quota:cpu_quota", "-1"),
        ("resources:VCPU", "2.5"),
        ("resources:VCPU", "9" * 30),
        ("trait:CUSTOM_GOLD", "preferred"),
        ("pci_passthrough:alias", "gpu"),
        ("accel:device_profile", ""),
        ("group_policy", "together"),
        ("same_subtree", "1 2"),
    ],
)
def test_a_value_that_cannot_be_is_refused(name, value):
    with pytest.raises(exception.Invalid, match="is not a possible value"):
        names.check_written({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accel:device_profile", "mine"),
        ("hw:cpu_realtime", "yes"),
        ("hw:mem_encryption", "True"),
        ("quota:cpu_shares_level", "high"),
        ("resources:VGPUS", "1"),
        ("resources1:LICENSE", "1"),
        ("resources1:MEMORY_MB", "512"),
    ],
)
def test_what_nobody_does_is_refused_with_the_reason(name, value):
    with pytest.raises(exception.Invalid, match=f"'{name}' \\('{value}'\\) is not supported: "):
        names.check_written({"colour": "red", name: value})
