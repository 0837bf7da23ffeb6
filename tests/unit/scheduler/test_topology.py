"""NUMA cells of instances: which cells, CPUs and pages of a host they get."""

import pytest

from roost.objects.topology import pcpus_of
from roost.scheduler.topology import fit
from tests.builders import a_numa_cell, a_pci_pool
from tests.unit.scheduler.topology_builders import (
    GPU,
    a_host,
    cpus_of,
    floating,
    host_cells,
    pinned,
    placed,
    threaded,
    two_cells,
)


def test_a_larger_cell_goes_where_it_fits():
    host = a_host(a_numa_cell(0, pcpus=[0, 1, 2]), a_numa_cell(1, pcpus=[3]))
    assert host_cells(placed(pinned(1, 3), host)) == [1, 0]


def test_the_fullest_cell_that_will_do_is_filled_first():
    host = a_host(a_numa_cell(0), a_numa_cell(1, pcpus=[4, 5]))
    assert host_cells(placed(pinned(2), host)) == [1]


def test_cpus_that_float_go_where_most_memory_is_free():
    host = a_host(a_numa_cell(0, cpus=[8]), a_numa_cell(1, cpus=[9], memory_mb=8192))
    assert host_cells(placed(floating(1), host)) == [1]


def test_cells_with_devices_are_left_to_those_who_want_them():
    host = two_cells(a_pci_pool(numa_node=0))
    assert host_cells(placed(pinned(2), host)) == [1]
    assert host_cells(placed(pinned(2), host, GPU)) == [0]


# CPUs


def test_threads_of_a_core_are_given_together():
    assert cpus_of(placed(pinned(4), threaded())) == [[0, 4, 1, 5]]


def test_pieces_of_cores_are_used_up_before_whole_ones():
    host = threaded().taking(placed(pinned(3), threaded()))
    assert cpus_of(placed(pinned(1), host)) == [[5]]
    assert cpus_of(placed(pinned(2), host)) == [[2, 6]]


def test_prefer_takes_single_threads_when_there_are_no_more_siblings():
    host = threaded(pcpus=[0, 1, 2, 3])
    assert cpus_of(placed(pinned(3), host)) == [[0, 1, 2]]


def test_isolate_prefers_cores_that_have_no_siblings_to_lose():
    host = a_host(a_numa_cell(pcpus=[0, 1, 2], siblings=[[0, 1]]))
    assert cpus_of(placed(pinned(1, threads="isolate"), host)) == [[2]]


# Memory


@pytest.mark.parametrize(
    ("asked", "memory_mb", "page_kb"),
    [
        (None, 1024, None),
        ("small", 1024, None),
        ("4", 1024, None),
        ("2048", 1024, 2048),
        ("1048576", 1024, 1048576),
        ("large", 1024, 1048576),
        ("large", 1026, 2048),
        ("large", 2048, 2048),
        ("any", 1024, 1048576),
        ("any", 1025, None),
    ],
)
def test_the_largest_pages_that_will_do_are_used(asked, memory_mb, page_kb):
    pages = {"2048": 1024, "1048576": 1}
    host = a_host(a_numa_cell(memory_mb=5120, page_counts=pages))
    held = placed(pinned(1, page_size=asked, memory_mb=memory_mb), host)
    assert held.numa.cells[0].page_kb == page_kb


@pytest.mark.parametrize(
    ("asked", "memory_mb", "reason"),
    [
        ("1048576", 2048, "not enough 1 GiB pages in one NUMA cell"),
        ("1048576", 512, "not enough 1 GiB pages in one NUMA cell"),
        ("2048", 1024, "not enough 2 MiB pages in one NUMA cell"),
        ("64", 1024, "not enough 64 KiB pages in one NUMA cell"),
        ("large", 1536, "not enough huge pages in one NUMA cell"),
        ("any", 8192, "not enough memory in one NUMA cell"),
    ],
)
def test_pages_that_are_missing_are_named(asked, memory_mb, reason):
    host = a_host(a_numa_cell(page_counts={"1048576": 1}))
    assert fit(pinned(1, page_size=asked, memory_mb=memory_mb), [], host) == reason


def test_the_reason_is_that_of_the_cell_that_came_nearest():
    host = a_host(a_numa_cell(0, pcpus=[]), a_numa_cell(1, memory_mb=512))
    assert fit(pinned(1), [], host) == "not enough memory in one NUMA cell"


def test_pinned_cpus_are_counted_over_all_cells():
    assert pcpus_of(None) == 0
    assert pcpus_of(floating(2)) == 0
    assert pcpus_of(pinned(2, 1)) == 3


USED = threaded().taking(placed(pinned(1), threaded()))


@pytest.mark.parametrize(
    ("asked", "host", "reason"),
    [
        (pinned(1), None, "no NUMA cells"),
        (pinned(1, 1, 1), two_cells(), "too few NUMA cells that would do"),
        (pinned(5), two_cells(), "too few dedicated CPUs in one NUMA cell"),
        (floating(3), a_host(a_numa_cell(cpus=[8])), "too few shared CPUs in one NUMA cell"),
        (pinned(4, threads="isolate"), USED, "too few unused cores in one NUMA cell"),
        (
            pinned(7, threads="require"),
            USED,
            "too few unused cores with thread siblings in one NUMA cell",
        ),
    ],
)
def test_what_is_missing_is_named(asked, host, reason):
    assert fit(asked, [], host) == reason
