"""Whatever flavors and images may ask for is done by somebody, or refused with the reason."""

import itertools
import json
import re

import pytest

from roost import exception
from roost.api import extra_specs, pci_aliases
from roost.api.server_demands import demands_of
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.rescuer import Rescuer
from roost.objects import hardware_refused, hardware_values
from roost.scheduler.filters.aggregates import AggregateExtraSpecsFilter
from roost.scheduler.filters.capabilities import ComputeCapabilitiesFilter
from roost.scheduler.filters.images import ImagePropertiesFilter
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
)
# One of these is a possible value of everything; rubbish is one of what nobody looks at first.
VALUES = [
    *sorted({word for allowed in hardware_values.CHOICES.values() for word in allowed}),
    *("yes", "no", "1", "2", "4", "40", "1000", "2048", "small", "dedicated", "mixed", "isolate"),
    *("0-1", "gpu:1", "forbidden", "socket", "user", "custom", "rubbish"),
]
# Where one has no meaning without the other.
BESIDE = [
    ({}, {}),
    ({"pci_passthrough:alias": "gpu:1"}, {}),
    ({}, {"hw_video_model": "vga", "hw_video_ram": "64"}),
]


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
    "ASSERT_NOT": lambda _value: "MEMORY_MB",
}


def accepted_specs():
    """Return each extra spec that may be written, with its check."""
    return [
        (f"{scope}:{rest}", check)
        for scopes, names in extra_specs._SCOPES.items()
        for scope in expanded(scopes)
        for pattern, check in names.items()
        for rest in expanded(pattern)
    ]


def accepted():
    known = [*hardware_values.CHOICES, *hardware_values.TRUTHS, *hardware_values.NUMBERS]
    names = [name for name, _ in accepted_specs()] + [name for name in known if ":" not in name]
    return sorted({name for name in names if hardware_refused.why_not(name) is None})


def told(do, *asked):
    """Return what comes of it, whatever that is."""
    try:
        return do(*asked)
    except exception.RoostError as error:
        return error.message


def outcome(specs, properties):
    """Return what each of those who read flavors and images make of these."""
    flavor, image = a_flavor(vcpus=2, extra_specs=specs), an_image(properties=properties)
    instance = an_instance(flavor=flavor, image=image, task_image=image)
    demands = told(demands_of, flavor, image, ALIASES)
    request = Request.of(a_spec(flavor=flavor, image=image))
    return (
        str(demands),
        told(Hardware.of, instance),
        told(Rescuer.of, instance),
        [one.key(request) if one.applies_to(request) else None for one in FILTERS],
    )


def possible(name):
    check = dict(accepted_specs()).get(name)
    return [value for value in VALUES if check is None or check(value)]


def is_read(name):
    """Tell whether some value of a name changes what becomes of a server."""
    for (specs, properties), value in itertools.product(BESIDE, possible(name)):
        said = {name: value}
        more = (specs | said, properties) if ":" in name else (specs, properties | said)
        if outcome(*more) != outcome(specs, properties):
            return True
    return False


@pytest.mark.parametrize("name", accepted())
def test_what_may_be_asked_for_is_read_by_somebody(name):
    assert possible(name), f"no value of this test is possible for {name}: add one"
    assert is_read(name), f"{name} passes, and nobody reads it: refuse it, or do it"


@pytest.mark.parametrize("name", ["hw:colour", "hw_colour", "quota:colour"])
def test_what_nobody_reads_would_be_found(name):
    assert not is_read(name)


def test_there_are_many_of_both():
    assert {"hw:sound_model", "hw_pmu", "hw:numa_cpus.0", "trait:A"} <= {*accepted()}
    assert {"hw_mem_encryption", "resources1:x", "hw:pmem"} <= {*refused()}


def refused():
    return sorted({n for pattern in hardware_refused._REFUSED for n in expanded(pattern)})


@pytest.mark.parametrize("name", refused())
def test_what_nobody_does_is_refused_by_name_with_the_reason_and_what_to_do(name):
    of_flavor = ":" in name or name == "group_policy"
    said = {name: "something"}
    flavor = a_flavor(name="m1.secret", extra_specs=said if of_flavor else {})
    image = an_image(properties={} if of_flavor else said)
    with pytest.raises(exception.Invalid, match=re.escape(f"'{name}'")) as raised:
        hardware_refused.check(flavor, image)
    assert hardware_refused.why_not(name) in raised.value.message
    assert raised.value.message.endswith(
        "have it removed from m1.secret." if of_flavor else f"have it removed from {image.id}."
    )


@pytest.mark.parametrize("name", ["hw:mem_encryption", "hw:cpu_realtime", "resources1:CUSTOM_X"])
def test_who_asks_for_nothing_gets_it(name):
    hardware_refused.check_specs({name: "0"})
