"""Whatever the host and the instances: what fits is found, and nothing is given twice."""

from hypothesis import given
from hypothesis import strategies as st

from roost.objects import NUMACell
from roost.scheduler.topology import HeldTopology, HostTopology, fit
from tests.builders import a_numa_topology, a_pci_pool, a_pci_request
from tests.unit.scheduler.reference_topology import PAGES, SlowHost

POLICIES = ["required", "preferred", "legacy", "socket"]
CPU_ROLES = [*["dedicated"] * 8, "shared", "other"]
PAGE_SIZES = [*[None] * 6, "small", "any", "any", "large", *map(str, PAGES), "2048"]


@st.composite
def host_cells(draw):
    cells = []
    for number in range(draw(st.sampled_from([0, 1, 2, 2, 3, 3]))):
        roles = {number * 6 + i: draw(st.sampled_from(CPU_ROLES)) for i in range(6)}
        first = number * 6
        pairs = [[first, first + 1], [first + 2, first + 3]]
        cores = draw(st.sampled_from([[], pairs, [[first, first + 1, first + 2]]]))
        cells.append(
            NUMACell.of(
                id=number,
                cpus=[100 + number] + [cpu for cpu, role in roles.items() if role == "shared"],
                pcpus=[cpu for cpu, role in roles.items() if role == "dedicated"],
                siblings=cores,
                page_counts={str(size): draw(st.integers(0, 2)) for size in PAGES},
                memory_mb=3072 + draw(st.integers(1, 4)) * 512,
                socket=draw(st.sampled_from([None, 0, 1])),
            )
        )
    return cells


pools = st.lists(
    st.builds(
        a_pci_pool,
        product_id=st.sampled_from("ab"),
        dev_type=st.sampled_from(["type-PCI", "type-PCI", "type-PF"]),
        numa_node=st.sampled_from([None, 0, 0, 1, 1, 2, 2]),
        count=st.integers(0, 2),
    ),
    max_size=5,
)
specs = st.lists(
    st.sampled_from(
        [
            {"product_id": "a"},
            {"product_id": "b"},
            {"vendor_id": "10de"},
            {"product_id": "a", "dev_type": "type-PF"},
        ]
    ),
    min_size=1,
    max_size=2,
)
devices = st.lists(
    st.builds(
        a_pci_request,
        specs=specs,
        count=st.integers(1, 2),
        numa_policy=st.sampled_from(POLICIES),
    ),
    max_size=2,
)
wanted_cells = st.lists(
    st.fixed_dictionaries(
        {
            "cpus": st.sampled_from([[], [], [], [9], [8, 9]]),
            "pcpus": st.sampled_from([[], [0], [0, 1], [0, 1], [0, 1, 2]]),
            "memory_mb": st.sampled_from([256, 512, 512, 1024]),
            "page_size": st.sampled_from(PAGE_SIZES),
        }
    ),
    min_size=1,
    max_size=3,
)
topologies = st.none() | st.builds(
    lambda cells, threads: a_numa_topology(*cells, cpu_thread_policy=threads),
    wanted_cells,
    st.sampled_from(["prefer", "isolate", "require"]),
)
wishes = st.tuples(topologies, devices)


def renamed(requests):
    """Tell the requests of one instance apart."""
    for number, request in enumerate(requests):
        request.alias = f"alias{number}"
    return requests


@given(host_cells(), pools, st.lists(wishes, min_size=1, max_size=4))
def test_what_fits_is_found_and_nothing_is_given_twice(cells, pools, asked):
    slow, host = SlowHost(cells, pools), HostTopology.of(cells, pools)
    for numa, requests in asked:
        answer = fit(numa, renamed(requests), host)
        assert isinstance(answer, HeldTopology) == slow.fits(numa, requests), answer
        if isinstance(answer, HeldTopology):
            slow.check(answer, numa, requests)
            slow.held.append(answer)
            host = host.taking(answer)


@given(host_cells(), pools, st.lists(wishes, max_size=4), st.randoms(use_true_random=False))
def test_giving_back_undoes_taking_in_any_order(cells, pools, asked, random):
    empty = host = HostTopology.of(cells, pools)
    held = []
    for numa, requests in asked:
        answer = fit(numa, renamed(requests), host)
        if isinstance(answer, HeldTopology):
            held.append(answer)
            host = host.taking(answer)
    random.shuffle(held)
    again = empty
    for one in held:
        again = again.taking(one)
    assert again == host
    random.shuffle(held)
    for one in held:
        host = host.giving_back(one)
    assert host == empty


@given(host_cells(), pools, wishes)
def test_the_same_question_has_the_same_answer_and_it_can_be_written_down(cells, pools, asked):
    numa, requests = asked
    answer = fit(numa, renamed(requests), HostTopology.of(cells, pools))
    assert fit(numa, requests, HostTopology.of(cells, pools)) == answer
    if isinstance(answer, HeldTopology):
        assert HeldTopology.from_json(answer.to_json()) == answer
        assert HeldTopology.of(answer.numa, answer.pci) == answer


@given(host_cells(), pools, wishes)
def test_preferred_devices_are_near_when_they_can_be(cells, pools, asked):
    numa, requests = asked
    for request in renamed(requests):
        request.numa_policy = "required"
    nearest = fit(numa, requests, HostTopology.of(cells, pools))
    for request in requests:
        request.numa_policy = "preferred"
    answer = fit(numa, requests, HostTopology.of(cells, pools))
    if numa and isinstance(nearest, HeldTopology):
        places = [cell.host_cell for cell in answer.numa.cells]
        assert all(part.numa_node in places for part in answer.pci)
