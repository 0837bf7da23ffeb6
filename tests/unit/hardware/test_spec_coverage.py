"""Whatever flavors and images may ask for is done by somebody, or its fate is in the table."""

import ast
import functools
import inspect
import itertools
import json
import re

import pytest

from roost import exception
from roost.api.servers import guest_config
from roost.compute import config_drive, image_cache
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.rescue import Rescuer
from roost.hardware import names, pci_aliases, values
from roost.hardware.requirements import requirements_of
from roost.image import driver as image_driver
from roost.image import signatures
from roost.scheduler.filters.aggregates import AggregateExtraSpecsFilter
from roost.scheduler.filters.capabilities import ComputeCapabilitiesFilter
from roost.scheduler.filters.images import ImagePropertiesFilter
from roost.scheduler.filters.resources import ResourceClassesFilter
from roost.scheduler.filters.traits import TraitsFilter
from roost.scheduler.request import Request
from tests.builders import a_flavor, a_spec, an_image, an_instance

GPU = {"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}
ALIASES = pci_aliases.parse([json.dumps(GPU)])
FILTERS = (
    AggregateExtraSpecsFilter(),
    ComputeCapabilitiesFilter(),
    ImagePropertiesFilter(),
    TraitsFilter(),
    ResourceClassesFilter(),
)
# One of these is a possible value of everything; rubbish is one of what nobody looks at first.
VALUES = [
    *sorted({word for allowed in values.CHOICES.values() for word in allowed}),
    *("yes", "no", "1", "2", "4", "40", "1000", "2048", "small", "dedicated", "mixed", "isolate"),
    *(
        "0-1",
        "gpu:1",
        "forbidden",
        "socket",
        "share",
        "user",
        "custom",
        "512",
        "windows",
        "rubbish",
    ),
]
GROUPS = ("-", "0", "A", "_", "a")
# Where one has no meaning without the other.
BESIDE = [
    ({}, {}),
    ({"pci_passthrough:alias": "gpu:1"}, {}),
    ({"hw_video:ram_max_mb": "1000"}, {"hw_video_model": "vga"}),
    ({}, {"hw_video_model": "vga", "hw_video_ram": "64"}),
    ({"hw:cpu_policy": "mixed"}, {}),
    ({"hw:cpu_policy": "dedicated"}, {}),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}, {}),
    ({"hw:maxphysaddr_mode": "emulate"}, {}),
    ({"hw:maxphysaddr_bits": "40"}, {}),
    ({"hw:mem_page_size": "any"}, {}),
    ({"hw:numa_nodes": "1", "hw:numa_mem.0": "512"}, {}),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-1"}, {}),
    ({"hw:tpm_version": "2.0"}, {}),
    ({"hw_rng:rate_bytes": "1"}, {}),
    ({f"resources{group}:VGPU": "1" for group in GROUPS} | {"group_policy": "none"}, {}),
    ({}, {"hw_firmware_type": "uefi"}),
    ({}, {"hw_qemu_guest_agent": "yes"}),
    ({f"quota:vif_{way}_average": "1" for way in ("inbound", "outbound")}, {}),
]
# What there is but one of, and it is what all guests have.
ONE_OF_A_KIND = ("hw_rng_model", "resources:VCPU")
# Properties of images that Nova acts on, none of which is in a table of words.
OF_IMAGES = """
architecture auto_disk_config hypervisor_type hypervisor_version_requires kernel_id mappings
ramdisk_id root_device_name vm_mode hw_architecture hw_auto_disk_config hw_cpu_policy
hw_cpu_thread_policy hw_cpu_realtime_mask hw_ephemeral_encryption
hw_ephemeral_encryption_format hw_ephemeral_encryption_secret_uuid hw_firmware_stateless
hw_floppy_bus hw_machine_type hw_mem_encryption hw_mem_encryption_model hw_mem_page_size
hw_numa_cpus.0 hw_numa_mem.0 hw_numa_nodes hw_pci_numa_affinity_policy hw_vm_mode
img_block_device_mapping img_config_drive img_hv_requested_version img_hv_type img_mappings
img_root_device_name img_signature os_admin_user os_command_line os_shutdown_timeout os_type
trait:CUSTOM_X
""".split()  # noqa: SIM905 - shorter so
# Who reads what is no matter of hardware or place.
BY_OTHERS = {
    "auto_disk_config": guest_config,
    "hw_auto_disk_config": guest_config,
    "img_config_drive": config_drive,
    "img_signature": signatures,
    "kernel_id": image_driver,
    "ramdisk_id": image_driver,
    "os_command_line": image_cache,
}


def expanded(pattern):
    """Return names that a pattern of names stands for, one for each of its alternatives."""
    return _expanded(re._parser.parse(pattern))


def _expanded(parsed):
    parts = itertools.product(*[_alternatives(str(kind), value) for kind, value in parsed])
    return ["".join(each) for each in parts]


def _alternatives(kind, value):
    if kind == "BRANCH":
        return [name for branch in value[1] for name in _expanded(branch)]
    if kind == "SUBPATTERN":
        return _expanded(value[-1])
    if kind == "MAX_REPEAT":
        return [*([""] if value[:2] == (0, 1) else []), *_expanded(value[-1])]
    if kind == "IN":
        return [chr(one[0] if str(what) == "RANGE" else one) for what, one in value]
    return [_LETTERS[kind](value)]


_LETTERS = {
    "LITERAL": chr,
    "ANY": lambda _value: "x",
    "NOT_LITERAL": lambda _value: "1",
    "ASSERT_NOT": lambda _value: "SRIOV_NET_VF",
}


def accepted_specs():
    """Return each extra spec that may be written, with its check."""
    return [
        (f"{scope}:{rest}", check)
        for scopes, rests in names._SCOPES.items()
        for scope in expanded(scopes)
        for pattern, check in rests.items()
        for rest in expanded(pattern)
    ]


def accepted():
    known = [*values.CHOICES, *values.TRUTHS, *values.NUMBERS]
    found = [name for name, _ in accepted_specs()] + [name for name in known if ":" not in name]
    found += [name for name in OF_IMAGES if name not in BY_OTHERS]
    return sorted({name for name in found if names.fate(name) is None})


def outcome(specs, properties):
    """Return what each of those who read flavors and images make of these; None: it is refused.

    That is for the request to do: what fails later fails the test.
    """
    flavor, image = a_flavor(vcpus=2, extra_specs=specs), an_image(properties=properties)
    try:
        demands = requirements_of(flavor, image, ALIASES)
    except exception.Invalid:
        return None
    instance = an_instance(flavor=flavor, image=image)
    request = Request.of(a_spec(flavor=flavor, image=image))
    return (
        demands,
        Hardware.of(instance),
        Rescuer.of(instance, image),
        [one.key(request) if one.applies_to(request) else None for one in FILTERS],
    )


def possible(name):
    check = dict(accepted_specs()).get(name)
    return [value for value in VALUES if check is None or check(value)]


def is_read(name):
    """Tell whether some value of a name, which is not refused, changes what becomes of a server."""
    for (specs, properties), value in itertools.product(BESIDE, possible(name)):
        said = {name: value}
        of_flavor = (":" in name and name not in OF_IMAGES) or name in values.SCOPELESS
        more = (specs | said, properties) if of_flavor else (specs, properties | said)
        with_it = outcome(*more)
        if with_it is not None and with_it != without(*map(json.dumps, (specs, properties))):
            return True
    return False


@functools.cache
def without(specs, properties):
    return outcome(json.loads(specs), json.loads(properties))


@pytest.mark.parametrize("name", accepted())
def test_what_may_be_asked_for_is_read_by_somebody(name):
    assert possible(name), f"no value of this test is possible for {name}: add one"
    is_done = name in ONE_OF_A_KIND or is_read(name)
    assert is_done, f"{name} passes, and nobody reads it: refuse it, or do it"


@pytest.mark.parametrize("name", BY_OTHERS)
def test_what_is_no_matter_of_hardware_is_read_by_others(name):
    assert names.fate(name) is None
    assert name in words_of(inspect.getsource(BY_OTHERS[name]))


def words_of(source):
    """Return the strings that a source has, those that say what it is about aside."""
    nodes = [*ast.walk(ast.parse(source))]
    about = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    words = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in about]
    return {node.value for node in words if isinstance(node.value, str)}


@pytest.mark.parametrize("name", ["hw_colour", "colour", "img_colour"])
def test_what_nobody_reads_would_be_found(name):
    assert not is_read(name)


def of_table(outcome):
    patterns = [pattern for pattern, fate in names._FATES.items() if fate.outcome == outcome]
    return sorted({name for pattern in patterns for name in expanded(pattern)})


def saying(name):
    """Return a flavor and an image of which one says this."""
    said = {name: "something"}
    of_flavor = ":" in name
    flavor = a_flavor(name="m1.secret", extra_specs=said if of_flavor else {})
    return flavor, an_image(properties={} if of_flavor else said)


@pytest.mark.parametrize("name", of_table(names.REFUSED))
def test_what_would_do_harm_is_refused_by_name_with_the_reason_and_what_to_do(name):
    flavor, image = saying(name)
    with pytest.raises(exception.Invalid, match=re.escape(f"'{name}'")) as raised:
        names.check(flavor, image)
    assert names.fate(name).why in raised.value.message
    assert raised.value.message.endswith(
        "have it removed from m1.secret." if ":" in name else f"have it removed from {image.id}."
    )


@pytest.mark.parametrize("name", of_table(names.IGNORED))
def test_what_makes_no_difference_is_passed_over(name):
    requirements_of(*saying(name), {})


@pytest.mark.parametrize("name", ["hw:mem_encryption", "hw:cpu_realtime", "resources1:CUSTOM_X"])
def test_who_asks_for_nothing_gets_it(name):
    names.check(a_flavor(extra_specs={name: "0"}), None)
