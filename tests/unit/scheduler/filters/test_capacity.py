"""Room, and what goes on at a host."""

import pytest

from roost.scheduler.filters.capacity import CpuFilter, DiskFilter, PcpuFilter, RamFilter
from roost.scheduler.filters.load import IoOpsFilter, NumInstancesFilter
from tests.builders import a_flavor, a_numa_topology, an_image
from tests.unit.scheduler.host_builders import a_request, a_row, an_aggregate
from tests.unit.scheduler.requests import closest, refused

TIGHT = {"vcpus": 4, "memory_mb": 2048, "disk_gb": 20}
HALF = {"vcpus": 2, "memory_mb": 1024, "disk_gb": 10}


@pytest.mark.parametrize(
    ("each", "wish", "reason"),
    [
        (RamFilter(), {"memory_mb": 1025}, "not enough memory"),
        (CpuFilter(), {"vcpus": 3}, "not enough CPUs"),
        (DiskFilter(), {"root_gb": 5, "ephemeral_gb": 5, "swap": 1}, "not enough disk"),
    ],
    ids=["ram", "cpu", "disk"],
)
def test_hosts_without_room_are_refused(each, wish, reason):
    tight = a_row("tight", used=HALF, **TIGHT)
    request = a_request(flavor=a_flavor(**wish))
    assert refused(each, request, tight, a_row("big")) == {"tight": reason}


@pytest.mark.parametrize("each", [RamFilter(), CpuFilter(), DiskFilter()], ids=["r", "c", "d"])
def test_the_last_of_it_may_be_taken(each):
    tight = a_row(used=HALF, **TIGHT)
    request = a_request(flavor=a_flavor(vcpus=2, memory_mb=1024, root_gb=10))
    assert refused(each, request, tight) == {}


def test_pinned_cpus_come_from_those_that_are_given_away():
    request = a_request(
        flavor=a_flavor(vcpus=2),
        numa_topology=a_numa_topology({"pcpus": [0, 1]}, cpu_policy="dedicated"),
    )
    rows = a_row("shared"), a_row("mixed", pcpus=4), a_row("taken", pcpus=4, used={"pcpus": 3})
    assert refused(PcpuFilter(), request, *rows) == {
        "shared": "not enough dedicated CPUs",
        "taken": "not enough dedicated CPUs",
    }
    assert not CpuFilter().applies_to(request)


def test_a_disk_that_only_the_image_sizes_must_fit():
    request = a_request(flavor=a_flavor(root_gb=0), image=an_image(min_disk=30))
    rows = a_row("small", disk_gb=29), a_row("large", disk_gb=30)
    assert refused(DiskFilter(), request, *rows) == {"small": "not enough disk"}


def test_the_host_with_the_most_room_came_closest():
    request = a_request(flavor=a_flavor(memory_mb=4096))
    rows = a_row("h1", memory_mb=1024), a_row("h2", memory_mb=4000, used={"memory_mb": 500})
    assert closest(RamFilter(), request, *rows) == ("h2", "3500 MiB free of the 4096 requested")


def test_a_host_takes_so_many_instances_and_no_more():
    rows = a_row("full", used={"instances": 3}), a_row("free", used={"instances": 2})
    assert refused(NumInstancesFilter(most=3), a_request(), *rows) == {"full": "too many instances"}


def test_a_host_that_is_busy_enough_gets_nothing_more():
    rows = a_row("busy", io_operations=8), a_row("quiet", io_operations=7)
    assert refused(IoOpsFilter(most=8), a_request(), *rows) == {
        "busy": "too many operations under way"
    }


def test_the_smallest_limit_of_its_aggregates_counts_for_a_host():
    aggregates = [
        an_aggregate("h1", "h2", max_io_ops_per_host="4"),
        an_aggregate("h1", max_io_ops_per_host="2"),
        an_aggregate("h3", max_io_ops_per_host="many"),
    ]
    rows = [a_row(name, io_operations=3) for name in ("h1", "h2", "h3", "h4")]
    found = refused(IoOpsFilter(most=3), a_request(), *rows, aggregates=aggregates)
    assert list(found) == ["h1", "h3", "h4"]
