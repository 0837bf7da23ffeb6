"""What hosts are: traits, capabilities, what images ask, and labels."""

import pytest

from roost.objects import Locality
from roost.scheduler.filters.capabilities import ComputeCapabilitiesFilter
from roost.scheduler.filters.images import ImagePropertiesFilter, IsolatedHostsFilter
from roost.scheduler.filters.load import MetricsFilter
from roost.scheduler.filters.locality import LocalityFilter
from roost.scheduler.filters.traits import IsolatedAggregatesFilter, TraitsFilter
from tests.builders import a_flavor, a_uuid, an_image
from tests.unit.scheduler.host_builders import a_request, a_row, an_aggregate
from tests.unit.scheduler.requests import closest, refused

IMAGE = "5a0d4e6e-5e0c-4a35-8f12-1f0c7d3f0001"


def with_specs(**extra_specs):
    return a_request(flavor=a_flavor(extra_specs=extra_specs))


def with_properties(**properties):
    return a_request(image=an_image(properties=properties))


def near(*labels, hard=True):
    return a_request(locality=[Locality.of(label=label, hard=hard) for label in labels])


def test_required_traits_must_be_there_and_forbidden_ones_must_not():
    rows = a_row("h1", traits=["A"]), a_row("h2", traits=["A", "B"]), a_row("h3")
    request = with_specs(**{"trait:A": "required", "trait:B": "forbidden"})
    assert refused(TraitsFilter(), request, *rows) == {
        "h2": "has the trait B",
        "h3": "lacks the trait A",
    }


def test_images_may_require_traits_as_well():
    request = a_request(
        flavor=a_flavor(extra_specs={"trait:A": "required"}),
        image=an_image(properties={"trait:B": "required"}),
    )
    rows = a_row("h1", traits=["A"]), a_row("h2", traits=["B", "A"])
    assert refused(TraitsFilter(), request, *rows) == {"h1": "lacks the trait B"}


def test_a_trait_that_is_neither_required_nor_forbidden_is_a_mistake_that_is_told():
    assert refused(TraitsFilter(), with_specs(**{"trait:A": "perhaps"}), a_row()) == {
        "h1": "the trait A must be required or forbidden"
    }


def test_who_lacks_the_fewest_traits_came_closest():
    rows = a_row("h1", traits=["A"]), a_row("h2", traits=["A", "B"]), a_row("h3")
    request = with_specs(**{f"trait:{name}": "required" for name in "ABCD"})
    assert closest(TraitsFilter(), request, *rows) == (
        "h2",
        "lacks the trait C; lacks the trait D",
    )


def test_aggregates_may_keep_hosts_for_those_who_require_a_trait():
    licensed = an_aggregate("h1", **{"trait:CUSTOM_WINDOWS": "required", "trait:OTHER": "no"})
    rows = a_row("h1"), a_row("h2")
    each = IsolatedAggregatesFilter()
    assert refused(each, a_request(), *rows, aggregates=[licensed]) == {
        "h1": "reserved for other traits by its aggregates"
    }
    windows = with_specs(**{"trait:CUSTOM_WINDOWS": "required"})
    assert refused(each, windows, *rows, aggregates=[licensed]) == {}


UNREPORTED = ("sriov", "cpu_info:features", "unheard_of")


@pytest.mark.parametrize(
    ("name", "wanted", "passing"),
    [
        ("sriov", "yes", ["big"]),
        ("cpu_info:features", "<in> avx2", ["big"]),
        ("hypervisor_type", "<or> qemu <or> kvm", ["small"]),
        ("hypervisor_version", ">= 8000000", ["big"]),
        ("free_ram_mb", ">= 4096", ["big"]),
        ("vcpus_used", "== 2", ["big", "small"]),
        ("num_instances", "<= 0", ["big", "small"]),
        ("hypervisor_hostname", "s== small", ["small"]),
        ("unheard_of", "s!= x", []),
    ],
)
def test_capabilities_are_what_hosts_report_and_what_is_known_of_them(name, wanted, passing):
    rows = (
        a_row(
            "big",
            hypervisor_type="xen",
            hypervisor_version=8002000,
            capabilities={"sriov": "yes", "cpu_info:features": "sse,avx2"},
            used={"vcpus": 2},
        ),
        a_row("small", hypervisor_type="qemu", memory_mb=2048, used={"vcpus": 2}),
    )
    request = with_specs(**{f"capabilities:{name}": wanted})
    found = refused(ComputeCapabilitiesFilter(), request, *rows)
    assert sorted({"big", "small"} - set(found)) == passing
    assert set(found.values()) <= {f"{name} is not {wanted}", f"does not report {name}"}
    assert (found.get("small") == f"does not report {name}") is (name in UNREPORTED)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"hw_architecture": "aarch64"}, "no guests of the architecture aarch64"),
        ({"architecture": "arm64"}, "no guests of the architecture arm64"),
        ({"img_hv_type": "vmware"}, "not the hypervisor vmware"),
        ({"hypervisor_type": "xen"}, "not the hypervisor xen"),
        ({"img_hv_requested_version": ">=9.0"}, "not the hypervisor version >=9.0"),
        ({"hypervisor_version_requires": "soon"}, "not the hypervisor version soon"),
        ({"hw_vm_mode": "xen"}, "not the VM mode xen"),
    ],
    ids=str,
)
def test_hosts_that_cannot_run_the_image_are_refused(properties, reason):
    row = a_row(hypervisor_type="QEMU", hypervisor_version=8002000, architectures=["x86_64"])
    assert refused(ImagePropertiesFilter(), with_properties(**properties), row) == {"h1": reason}


@pytest.mark.parametrize(
    "properties",
    [
        {"hw_architecture": "amd64"},
        {"img_hv_type": "qemu"},
        {"img_hv_requested_version": ">=8.0,<9"},
        {"hw_vm_mode": "hvm"},
        {"hw_vm_mode": "exe", "architecture": "i686"},
    ],
    ids=str,
)
def test_hosts_that_can_run_the_image_pass(properties):
    row = a_row(
        hypervisor_type="QEMU",
        hypervisor_version=8002000,
        architectures=["x86_64", "i686"],
        capabilities={"vm_modes": "hvm, exe"},
    )
    assert refused(ImagePropertiesFilter(), with_properties(**properties), row) == {}


def test_images_that_say_nothing_run_anywhere_unless_the_operator_says_for_them():
    assert not ImagePropertiesFilter().applies_to(a_request())
    strict = ImagePropertiesFilter(architecture="x86_64")
    rows = a_row("h1", architectures=["x86_64"]), a_row("h2", architectures=["aarch64"])
    assert list(refused(strict, a_request(image=None), *rows)) == ["h2"]


def test_isolated_images_and_isolated_hosts_are_for_each_other():
    each = IsolatedHostsFilter(hosts=["h1"], images=[IMAGE])
    rows = a_row("h1"), a_row("h2")
    assert refused(each, a_request(image=an_image(id=IMAGE)), *rows) == {
        "h2": "not a host for isolated images"
    }
    assert refused(each, a_request(image=an_image(id=a_uuid())), *rows) == {
        "h1": "reserved for isolated images"
    }


def test_isolated_hosts_may_be_open_to_others():
    each = IsolatedHostsFilter(hosts=["h1"], images=[IMAGE], strict=False)
    assert refused(each, a_request(image=None), a_row("h1"), a_row("h2")) == {}


def test_hosts_must_have_every_label_that_is_insisted_on():
    rows = a_row("h1", labels=["rack1", "ceph"]), a_row("h2", labels=["rack2"]), a_row("h3")
    aggregate = an_aggregate("h2", labels="ceph, rack1")
    assert refused(LocalityFilter(), near("rack1", "ceph"), *rows, aggregates=[aggregate]) == {
        "h3": "not at ceph"
    }


def test_hosts_must_measure_what_counts():
    rows = a_row("h1", metrics={"cpu": 0.5}), a_row("h2", metrics={"net": 1.0}), a_row("h3")
    assert refused(MetricsFilter(["cpu"]), a_request(), *rows) == {
        "h2": "does not measure cpu",
        "h3": "does not measure cpu",
    }
    assert not MetricsFilter().applies_to(a_request())


def test_one_of_several_labels_is_enough():
    rows = a_row("h1", labels=["net=a"]), a_row("h2", labels=["net=b"]), a_row("h3")
    either = Locality.of(label="net=a", alternatives=["net=b"], hard=True)
    refusals = refused(LocalityFilter(), a_request(locality=[either]), *rows)
    assert refusals == {"h3": "not at net=a or net=b"}


def test_a_host_without_a_label_of_that_key_may_be_let_pass():
    rows = a_row("h1", labels=["net="]), a_row("h2", labels=["rack=a"]), a_row("h3"), a_row("h4")
    other = an_aggregate("h4", labels="net=b")
    known = Locality.of(label="net=a", hard=True, if_known=True)
    refusals = refused(LocalityFilter(), a_request(locality=[known]), *rows, aggregates=[other])
    assert refusals == dict.fromkeys(("h1", "h4"), "not at net=a")


def test_every_host_has_its_host_and_zone_as_labels():
    rows = a_row("h1", availability_zone="az1"), a_row("h2", availability_zone="az2")
    assert refused(LocalityFilter(), near("zone=az1"), *rows) == {"h2": "not at zone=az1"}
    assert refused(LocalityFilter(), near("host=h2"), *rows) == {"h1": "not at host=h2"}
