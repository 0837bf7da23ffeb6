"""From extra specs and image properties to the NUMA cells of a server."""

import pytest

from roost import exception
from roost.hardware.numa import numa_topology_of
from tests.builders import a_flavor, an_image

DEDICATED = {"hw:cpu_policy": "dedicated"}
TWO = {"hw:numa_nodes": "2"}
MIXED = {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-1"}
ASYMMETRIC = {
    "hw:numa_nodes": "2",
    "hw:numa_cpus.0": "0",
    "hw:numa_mem.0": "512",
    "hw:numa_cpus.1": "1-3",
    "hw:numa_mem.1": "1536",
}


def numa_of(specs=None, properties=None, **flavor):
    sizes = {"vcpus": 4, "memory_mb": 2048} | flavor
    image = an_image(properties=properties or {})
    return numa_topology_of(a_flavor(extra_specs=specs or {}, **sizes), image)


def refusal(*asked, **flavor):
    with pytest.raises(exception.Invalid) as raised:
        numa_of(*asked, **flavor)
    return raised.value.message


def cells_of(*asked, **flavor):
    return [(cell.cpus, cell.pcpus, cell.memory_mb) for cell in numa_of(*asked, **flavor).cells]


@pytest.mark.parametrize(
    "specs",
    [
        {},
        {"hw:cpu_policy": "shared"},
        {"resources:VCPU": "4"},
        {"resources:VCPU": "2"},
        {"resources:VCPU": "0", "resources:PCPU": "0"},
        {"hw:cpu_sockets": "2", "hw:cpu_realtime": "no"},
    ],
)
def test_a_plain_server_has_no_cells(specs):
    assert numa_of(specs) is None


@pytest.mark.parametrize("policy", ["share", "isolate"])
def test_emulator_threads_may_be_elsewhere_than_on_dedicated_cpus(policy):
    plain = numa_of(DEDICATED)
    assert numa_of(DEDICATED | {"hw:emulator_threads_policy": policy}) == plain


def test_nodes_share_cpus_and_memory_evenly():
    assert cells_of(TWO) == [([0, 1], [], 1024), ([2, 3], [], 1024)]
    assert numa_of(TWO).cpu_policy == "shared"


def test_shares_may_be_said_for_each_node():
    assert cells_of(ASYMMETRIC) == [([0], [], 512), ([1, 2, 3], [], 1536)]


@pytest.mark.parametrize("text", ["0-2", "0,1,2", "0-3,^3", " 0 - 1 , 2 "])
def test_cpus_are_said_as_ranges(text):
    specs = ASYMMETRIC | {"hw:numa_cpus.0": text, "hw:numa_cpus.1": "3"}
    assert cells_of(specs)[0][0] == [0, 1, 2]


@pytest.mark.parametrize(
    "specs", [DEDICATED, {"resources:PCPU": "4"}, DEDICATED | {"resources:PCPU": "4"}]
)
def test_dedicated_cpus_imply_a_node(specs):
    assert cells_of(specs) == [([], [0, 1, 2, 3], 2048)]
    assert numa_of(specs).cpu_policy == "dedicated"


@pytest.mark.parametrize(
    ("mask", "pinned"), [("0-1", [0, 1]), ("^0", [1, 2, 3]), ("^0-1", [2, 3]), ("1-3,^2", [1, 3])]
)
def test_the_mask_says_which_cpus_of_a_mixed_server_are_dedicated(mask, pinned):
    ((floating, dedicated, _),) = cells_of(MIXED | {"hw:cpu_dedicated_mask": mask})
    assert dedicated == pinned
    assert sorted(floating + dedicated) == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", ["prefer", "isolate", "require"])
@pytest.mark.parametrize("policy", [DEDICATED, MIXED], ids=["dedicated", "mixed"])
def test_the_thread_policy_is_kept(policy, threads):
    assert numa_of(policy | {"hw:cpu_thread_policy": threads}).cpu_thread_policy == threads


def test_the_image_may_say_what_the_flavor_leaves_open():
    numa = numa_of({}, {"hw_cpu_policy": "dedicated", "hw_cpu_thread_policy": "isolate"})
    assert (numa.cpu_policy, numa.cpu_thread_policy) == ("dedicated", "isolate")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("small", "small"),
        ("Large", "large"),
        ("any", "any"),
        ("2048", "2048"),
        ("2MB", "2048"),
        ("1GiB", "1048576"),
    ],
)
def test_a_page_size_implies_a_node(asked, kept):
    (cell,) = numa_of({"hw:mem_page_size": asked}).cells
    assert cell.page_size == kept


@pytest.mark.parametrize("flavor", ["large", "any"])
def test_the_image_chooses_among_the_pages_that_the_flavor_allows(flavor):
    numa = numa_of(TWO | {"hw:mem_page_size": flavor}, {"hw_mem_page_size": "2MB"})
    assert [cell.page_size for cell in numa.cells] == ["2048", "2048"]


@pytest.mark.parametrize(
    ("flavor", "against"),
    [
        ({}, "<empty>"),
        ({"hw:mem_page_size": "small"}, "small"),
        ({"hw:mem_page_size": "2MB"}, "2MB"),
    ],
)
def test_the_image_may_not_help_itself_to_huge_pages(flavor, against):
    said = refusal(flavor, {"hw_mem_page_size": "1GB"})
    assert said == f"Page size 1GB forbidden against '{against}'"


@pytest.mark.parametrize(
    ("specs", "properties"),
    [
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}),
        ({"hw:cpu_policy": "dedicated"}, {"hw_cpu_policy": "shared"}),
        (DEDICATED | {"hw:cpu_thread_policy": "prefer"}, {"hw_cpu_thread_policy": "isolate"}),
        ({"hw:numa_nodes": "1"}, {"hw_numa_nodes": "2"}),
        (ASYMMETRIC, {"hw_numa_cpus.0": "0-1"}),
        (ASYMMETRIC, {"hw_numa_mem.1": "2048"}),
    ],
)
def test_the_image_may_not_contradict_the_flavor(specs, properties):
    (name,) = properties
    assert f"Image property '{name}' is not permitted to override" in refusal(specs, properties)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ({"hw:numa_nodes": "0"}, "The property 'numa_nodes' cannot be '0'. It must be a number"),
        ({"hw:numa_nodes": "two"}, "cannot be 'two'"),
        ({"hw:numa_nodes": "3"}, "cannot be evenly distributed"),
        ({"hw:numa_cpus.0": "0-3"}, "hw:numa_cpus.N needs hw:numa_nodes"),
        ({"hw:numa_mem.0": "2048"}, "hw:numa_mem.N needs hw:numa_nodes"),
        (TWO | {"hw:numa_cpus.x": "0"}, "'numa_cpus.x' does not name a NUMA node"),
        (TWO | {"hw:numa_cpus.0": "0-1"}, "must be provided for all NUMA nodes"),
        (ASYMMETRIC | {"hw:numa_nodes": "1"}, "must be provided for all NUMA nodes"),
        (ASYMMETRIC | {"hw:numa_cpus.0": "4"}, "CPU number 4 is larger than max 3"),
        (ASYMMETRIC | {"hw:numa_cpus.0": "0-1"}, "CPU number 1 is assigned to two nodes"),
        (ASYMMETRIC | {"hw:numa_cpus.1": "1"}, "CPU number 2, 3 is not assigned to any node"),
        (ASYMMETRIC | {"hw:numa_cpus.0": "zero"}, "not a set of CPUs such as 0-3,^2: 'zero'"),
        (ASYMMETRIC | {"hw:numa_mem.0": "1024"}, "2560 MB of memory assigned, but expected 2048"),
        (ASYMMETRIC | {"hw:numa_mem.0": "-1"}, "hw:numa_mem.0 is not a number of MB: '-1'"),
        ({"hw:cpu_policy": "alone"}, "must be one of shared, dedicated, mixed"),
        (DEDICATED | {"hw:cpu_thread_policy": "no"}, "must be one of prefer, isolate, require"),
        ({"hw:cpu_thread_policy": "isolate"}, "only permitted with hw:cpu_policy dedicated"),
        ({"hw:cpu_policy": "mixed"}, "needs hw:cpu_dedicated_mask"),
        (MIXED | {"hw:cpu_dedicated_mask": "0-3"}, "at least 1 pinned vCPU and 1 unpinned"),
        (MIXED | {"hw:cpu_dedicated_mask": "^0-3"}, "at least 1 pinned vCPU and 1 unpinned"),
        (MIXED | {"hw:cpu_dedicated_mask": "3-4"}, "CPU number 4 is larger than max 3"),
        (DEDICATED | {"hw:cpu_dedicated_mask": "0"}, "only permitted with hw:cpu_policy mixed"),
        ({"resources:PCPU": "2"}, "resources:PCPU is '2', but must be the number"),
        ({"resources:PCPU": "2", "resources:VCPU": "2"}, "not possible to request PCPU and VCPU"),
        ({"hw:cpu_policy": "shared", "resources:PCPU": "4"}, "asks for CPUs twice"),
        ({"hw:mem_page_size": "huge"}, "Invalid memory page size 'huge'"),
        ({"hw:mem_page_size": "0"}, "Invalid memory page size '0'"),
        ({"hw:mem_page_size": "-2MB"}, "Invalid memory page size '-2MB'"),
        (TWO | {"hw:mem_page_size": "2GB"}, "1024 MB of memory in NUMA node 0 is not a multiple"),
        ({"hw:emulator_threads_policy": "isolate"}, "only permitted with hw:cpu_policy dedicated"),
        ({"hw:emulator_threads_policy": "so"}, "must be one of isolate, share"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(specs, said):
    assert said in refusal(specs)


def test_what_the_image_says_is_judged_too():
    assert "must be one of" in refusal({}, {"hw_cpu_policy": "alone"})
