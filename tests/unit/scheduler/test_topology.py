"""NUMA cells of instances: which cells, CPUs and pages of a host they get."""

import pytest

from roost.objects.topology import pcpus_of
from roost.scheduler.topology import HeldTopology, fit
from tests.builders import a_numa_cell, a_numa_topology, a_pci_pool
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


def test_who_asks_for_nothing_fits_everywhere_and_holds_nothing():
    assert not fit(None, [], None)
    assert fit(None, [], two_cells()) == HeldTopology()


@pytest.mark.parametrize("host", [None, a_host(), a_host(pools=[a_pci_pool()])])
def test_a_host_without_numa_cells_takes_no_cells(host):
    assert fit(pinned(1), [], host) == "no NUMA cells"


def test_each_cell_gets_one_of_its_own():
    assert sorted(host_cells(placed(pinned(1, 1), two_cells()))) == [0, 1]
    assert fit(pinned(1, 1, 1), [], two_cells()) == "too few NUMA cells that would do"


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


def test_pinned_cpus_are_given_once():
    host, given = a_host(a_numa_cell()), []
    for _ in range(2):
        held = placed(pinned(2), host)
        given += cpus_of(held)[0]
        host = host.taking(held)
    assert sorted(given) == [0, 1, 2, 3]
    assert fit(pinned(1), [], host) == "too few dedicated CPUs in one NUMA cell"


def test_too_few_cpus_in_each_cell_do_not_add_up():
    assert fit(pinned(5), [], two_cells()) == "too few dedicated CPUs in one NUMA cell"


def test_cpus_that_float_may_be_promised_to_many():
    host = a_host(a_numa_cell(cpus=[8, 9], pcpus=[]))
    for _ in range(4):
        held = placed(floating(2), host)
        assert cpus_of(held) == [[]]
        host = host.taking(held)


def test_one_instance_does_not_float_over_more_cpus_than_there_are():
    host = a_host(a_numa_cell(cpus=[8, 9], pcpus=[]))
    assert fit(floating(3), [], host) == "too few shared CPUs in one NUMA cell"


def test_mixed_instances_need_both_in_one_cell():
    mixed = a_numa_topology({"cpus": [0], "pcpus": [1, 2]}, cpu_policy="mixed")
    apart = a_host(a_numa_cell(0), a_numa_cell(1, cpus=[4, 5, 6, 7], pcpus=[]))
    assert isinstance(fit(mixed, [], apart), str)
    assert cpus_of(placed(mixed, a_host(a_numa_cell(cpus=[8])))) == [[0, 1]]


def test_threads_of_a_core_are_given_together():
    assert cpus_of(placed(pinned(4), threaded())) == [[0, 4, 1, 5]]


def test_pieces_of_cores_are_used_up_before_whole_ones():
    host = threaded().taking(placed(pinned(3), threaded()))
    assert cpus_of(placed(pinned(1), host)) == [[5]]
    assert cpus_of(placed(pinned(2), host)) == [[2, 6]]


def test_prefer_takes_single_threads_when_there_are_no_more_siblings():
    host = threaded(pcpus=[0, 1, 2, 3])
    assert cpus_of(placed(pinned(3), host)) == [[0, 1, 2]]


def test_isolate_has_its_cores_for_itself():
    host = threaded()
    held = placed(pinned(3, threads="isolate"), host)
    assert cpus_of(held) == [[0, 1, 2]]
    host = host.taking(held)
    assert cpus_of(placed(pinned(2), host)) == [[3, 7]]
    assert fit(pinned(3), [], host) == "too few dedicated CPUs in one NUMA cell"


def test_isolate_takes_no_core_of_which_somebody_has_a_thread():
    host = threaded().taking(placed(pinned(1), threaded()))
    assert cpus_of(placed(pinned(3, threads="isolate"), host)) == [[1, 2, 3]]
    said = fit(pinned(4, threads="isolate"), [], host)
    assert said == "too few unused cores in one NUMA cell"


def test_isolate_takes_no_core_with_a_shared_thread():
    host = threaded(cpus=[4, 5, 6], pcpus=[0, 1, 2, 3])
    assert cpus_of(placed(pinned(1, threads="isolate"), host)) == [[3]]
    assert isinstance(fit(pinned(2, threads="isolate"), [], host), str)


def test_isolate_prefers_cores_that_have_no_siblings_to_lose():
    host = a_host(a_numa_cell(pcpus=[0, 1, 2], siblings=[[0, 1]]))
    assert cpus_of(placed(pinned(1, threads="isolate"), host)) == [[2]]


def test_isolate_is_free_where_cores_have_one_thread():
    assert cpus_of(placed(pinned(4, threads="isolate"), a_host(a_numa_cell()))) == [[0, 1, 2, 3]]


def test_require_takes_whole_cores():
    host = threaded().taking(placed(pinned(1), threaded()))
    assert cpus_of(placed(pinned(6, threads="require"), host)) == [[1, 5, 2, 6, 3, 7]]
    said = fit(pinned(7, threads="require"), [], host)
    assert said == "too few unused cores with thread siblings in one NUMA cell"


def test_require_needs_threads():
    assert isinstance(fit(pinned(2, threads="require"), [], a_host(a_numa_cell())), str)


def test_what_require_leaves_of_a_core_is_for_others():
    host = threaded().taking(placed(pinned(7, threads="require"), threaded()))
    assert cpus_of(placed(pinned(1), host)) == [[7]]


# Memory


def test_memory_of_a_cell_is_given_once():
    host = a_host(a_numa_cell(memory_mb=1024)).taking(placed(pinned(1), a_host(a_numa_cell())))
    assert fit(pinned(1), [], host) == "not enough memory in one NUMA cell"


def test_huge_pages_are_no_ordinary_memory():
    host = a_host(a_numa_cell(memory_mb=2048, page_counts={"2048": 600}))
    assert fit(pinned(1), [], host) == "not enough memory in one NUMA cell"
    assert placed(pinned(1, page_size="2048"), host).numa.cells[0].page_kb == 2048


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


def test_pages_are_given_once():
    host = a_host(a_numa_cell(page_counts={"1048576": 1}))
    host = host.taking(placed(pinned(1, page_size="large"), host))
    assert isinstance(fit(pinned(1, page_size="large"), [], host), str)
    assert placed(pinned(1, page_size="any"), host).numa.cells[0].page_kb is None


def test_the_reason_is_that_of_the_cell_that_came_nearest():
    host = a_host(a_numa_cell(0, pcpus=[]), a_numa_cell(1, memory_mb=512))
    assert fit(pinned(1), [], host) == "not enough memory in one NUMA cell"


def test_pinned_cpus_are_counted_over_all_cells():
    assert pcpus_of(None) == 0
    assert pcpus_of(floating(2)) == 0
    assert pcpus_of(pinned(2, 1)) == 3
