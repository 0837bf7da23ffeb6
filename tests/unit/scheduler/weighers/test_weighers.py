"""What makes one host better than another, weigher by weigher."""

import pytest

from roost import conf, exception
from roost.objects import Locality
from roost.scheduler.weighers.capacity import (
    CpuWeigher,
    DiskWeigher,
    PciWeigher,
    RamWeigher,
    ResourceClassesWeigher,
)
from roost.scheduler.weighers.load import (
    BuildFailureWeigher,
    HypervisorVersionWeigher,
    IoOpsWeigher,
    NumInstancesWeigher,
)
from roost.scheduler.weighers.locality import CrossCellMoveWeigher, LocalityWeigher
from roost.scheduler.weighers.metrics import MetricsWeigher, ratios_of
from roost.scheduler.weighers.server_groups import SoftAffinityWeigher, SoftAntiAffinityWeigher
from tests.builders import CELL1, CELL2, a_flavor, a_group, a_pci_pool, a_pci_request, a_provider
from tests.unit.scheduler.host_builders import a_request, a_row, an_aggregate
from tests.unit.scheduler.requests import tried, weights


def in_group(policy, counts):
    return a_request(group=a_group(policy=policy), group_counts=counts)


@pytest.mark.parametrize(
    ("each", "resource"),
    [(RamWeigher(), "memory_mb"), (CpuWeigher(), "vcpus"), (DiskWeigher(), "disk_gb")],
    ids=["ram", "cpu", "disk"],
)
def test_room_counts_as_a_part_of_what_the_largest_host_has(each, resource):
    rows = (
        a_row("h1", **{resource: 100}),
        a_row("h2", **{resource: 50}, used={resource: 25}),
    )
    assert weights(each, a_request(), *rows) == [1.0, 0.25]


def test_the_more_instances_the_more():
    rows = [a_row(f"h{count}", used={"instances": count}) for count in (0, 50, 150)]
    assert weights(NumInstancesWeigher(), a_request(), *rows) == [0.0, 0.5, 0.75]


def test_the_busier_the_more():
    rows = [a_row(f"h{count}", io_operations=count) for count in (0, 8, 24)]
    assert weights(IoOpsWeigher(), a_request(), *rows) == [0.0, 0.5, 0.75]


def test_failed_builds_count_against_a_host():
    rows = [a_row(f"h{count}", failed_builds=count) for count in (0, 1, 3)]
    assert weights(BuildFailureWeigher(), a_request(), *rows) == [0.0, -0.5, -0.75]


def test_members_that_like_each_other_meet():
    rows = [a_row(f"h{number}") for number in range(3)]
    request = in_group("soft-affinity", {0: 4, 2: 1})
    assert weights(SoftAffinityWeigher(), request, *rows) == [1.0, 0.0, 0.25]


def test_members_that_do_not_like_each_other_avoid_each_other():
    rows = [a_row(f"h{number}") for number in range(3)]
    request = in_group("soft-anti-affinity", {0: 4, 2: 1})
    assert weights(SoftAntiAffinityWeigher(), request, *rows) == [-1.0, 0.0, -0.25]


@pytest.mark.parametrize("policy", ["affinity", "anti-affinity"])
def test_hard_policies_are_not_weighed(policy):
    request = in_group(policy, {})
    assert not SoftAffinityWeigher().applies_to(request)
    assert not SoftAntiAffinityWeigher().applies_to(request)


def test_devices_are_left_to_those_who_need_them():
    rows = a_row("plain"), a_row("gpu", topology=((), [a_pci_pool()]))
    assert weights(PciWeigher(), a_request(), *rows) == [1.0, 0.0]
    assert weights(PciWeigher(), a_request(pci_requests=[a_pci_request()]), *rows) == [0.0, 1.0]


def test_a_host_with_what_a_request_does_not_name_is_left_to_others():
    gpus = [a_provider("gpu0", VGPU=4), a_provider("gpu1", VGPU=4)]
    rows = (
        a_row("plain"),
        a_row("gpus", providers=[a_provider(""), *gpus]),
        a_row("both", providers=[a_provider("", CUSTOM_LICENSE=2), *gpus]),
        a_row("whole", providers=[a_provider("", VGPU=4)]),
        a_row("nothing", providers=[a_provider("", VGPU=0)]),
    )
    wants_gpu = a_request(flavor=a_flavor(extra_specs={"resources:VGPU": "1"}))
    assert weights(ResourceClassesWeigher(), a_request(), *rows) == [1.0, 0.5, 1 / 3, 0.5, 1.0]
    assert weights(ResourceClassesWeigher(), wants_gpu, *rows) == [1.0, 1.0, 0.5, 1.0, 1.0]


def test_newer_hypervisors_weigh_more():
    rows = [a_row(f"h{version}", hypervisor_version=version) for version in (0, 6002000, 10000000)]
    none, old, new = weights(HypervisorVersionWeigher(), a_request(), *rows)
    assert none == 0.0
    assert old < new == 0.5


def test_the_cell_of_a_host_tried_before_is_better():
    rows = a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2), a_row("h3", cell_uuid=CELL2)
    request = a_request(retry=tried(("h2", None)))
    assert weights(CrossCellMoveWeigher(), request, *rows) == [0.0, 1.0, 1.0]


def test_the_cell_of_an_instance_that_is_placed_is_better():
    rows = a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2)
    assert weights(CrossCellMoveWeigher(), a_request(placed=[None, 1]), *rows) == [0.0, 1.0]


def test_hosts_at_the_places_that_are_liked_weigh_more():
    request = a_request(
        locality=[
            Locality.of(label="rack1", hard=False),
            Locality.of(label="ceph", hard=False),
            Locality.of(label="must", hard=True),
        ]
    )
    rows = a_row("h1", labels=["rack1"]), a_row("h2", labels=["ceph", "rack1"]), a_row("h3")
    ceph = an_aggregate("h3", labels="ceph")
    assert weights(LocalityWeigher(), request, *rows, aggregates=[ceph]) == [0.5, 1.0, 0.5]


def test_metrics_are_added_up_in_their_proportions():
    rows = a_row("h1", metrics={"cpu": 3.0, "net": 2.0}), a_row("h2", metrics={"cpu": 3, "net": 6})
    each = MetricsWeigher({"cpu": 1.0, "net": -1.0})
    assert weights(each, a_request(), *rows) == [0.5, -0.75]


def test_a_host_that_lacks_a_metric_is_the_worst_if_it_is_required():
    rows = a_row("h1", metrics={"cpu": 1.0}), a_row("h2", metrics={"net": 9.0}), a_row("h3")
    assert weights(MetricsWeigher({"cpu": 1.0}), a_request(), *rows) == [0.5, -1.0, -1.0]
    lenient = MetricsWeigher({"cpu": 1.0}, required=False)
    assert weights(lenient, a_request(), *rows) == [0.5, 0.0, 0.0]


def test_metrics_beyond_all_measure_stay_in_bounds():
    rows = a_row("h1", metrics={"cpu": float("inf")}), a_row("h2", metrics={"cpu": -float("inf")})
    high, low = weights(MetricsWeigher({"cpu": 5.0}), a_request(), *rows)
    assert -1 <= low < high <= 1


def test_a_metric_without_a_ratio_counts_once():
    options = conf.of({"scheduler": {"metrics_weights": ["cpu", "net = -2.5"]}}).scheduler
    assert ratios_of(options) == {"cpu": 1.0, "net": -2.5}


def test_a_ratio_must_be_a_number():
    options = conf.of({"scheduler": {"metrics_weights": ["cpu=much"]}}).scheduler
    with pytest.raises(exception.Invalid, match="metrics_weights: 'cpu=much'"):
        ratios_of(options)
