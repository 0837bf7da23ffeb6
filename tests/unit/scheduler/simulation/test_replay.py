import math
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.scheduler.simulation import course
from roost.scheduler.simulation.course import SIZES, course_of, fewest_hosts
from roost.scheduler.simulation.replay import replay
from roost.scheduler.simulation.trace import RequestShape, Trace
from tests.unit.scheduler.simulation.sample_files import a_driver, a_kind, a_trace, some_hosts


def the_rows(done):
    return done.rows.tolist()


def the_times(done):
    return done.times.tolist()


def test_a_vm_that_leaves_makes_room_for_one_that_comes_at_that_moment(tmp_path):
    read = a_trace(tmp_path, "0,5,8,16", "5,9,8,16")

    done = replay(read, some_hosts(), a_driver())

    assert not done.failures
    assert the_times(done) == [0, 5, 5, 9]
    assert done.given[0].tolist() == [8000, -8000, 8000, -8000]


def test_a_failure_tells_all_reasons_that_stood_against_it(tmp_path):
    hosts = some_hosts(a_kind(cores=1, ram=16), a_kind(cores=8, ram=1))

    done = replay(a_trace(tmp_path, "0,1,4,8", "0,1,9,1"), hosts, a_driver())

    reasons = [failure.reason for failure in done.failures]
    assert reasons == ["not enough CPUs + not enough memory", "not enough CPUs"]


def test_a_request_for_several_is_placed_whole_or_not_at_all(tmp_path):
    header = "arrival,departure,cores,ram,count"
    read = a_trace(tmp_path, "0,9,4,4,2", "1,9,4,4,5", header=header)

    done = replay(read, some_hosts(a_kind(2)), a_driver(profile="spread"))

    assert [failure.request for failure in done.failures] == [1]
    assert the_rows(done) == [0, 1, 0, 1]
    assert the_times(done) == [0, 0, 9, 9]


def test_members_of_a_group_are_kept_apart_while_they_are_there(tmp_path):
    header = "arrival,departure,cores,ram,group"
    lines = ("0,5,1,1,blue", "1,9,1,1,blue", "2,9,1,1,blue", "3,9,1,1,red", "6,9,1,1,blue")
    read = a_trace(tmp_path, *lines, header=header)

    done = replay(read, some_hosts(a_kind(2)), a_driver(), policy="anti-affinity")

    assert [failure.request for failure in done.failures] == [2]
    assert done.failures[0].reason == "a member of the server group there already"


def test_a_vm_goes_to_its_zone(tmp_path):
    header = "arrival,departure,cores,ram,zone"
    read = a_trace(tmp_path, "0,1,1,1,south", "0,1,1,1,east", header=header)
    hosts = some_hosts(a_kind(zone="north"), a_kind(zone="south"))

    done = replay(read, hosts, a_driver())

    assert the_rows(done)[0] == 1
    assert [failure.request for failure in done.failures] == [1]


quick = settings(deadline=None, max_examples=50)
times = st.integers(0, 12).map(float)
kinds = st.lists(
    st.tuples(*[st.integers(0, 6000)] * 3, st.integers(1, 3)).map(
        lambda sizes: RequestShape(*sizes)
    ),
    min_size=1,
    max_size=4,
)
fleets = st.lists(
    st.builds(
        lambda count, cores, ram, disk: a_kind(count, cores=cores, ram=ram, disk=disk),
        st.integers(0, 3),
        *[st.integers(0, 8)] * 3,
    ),
    min_size=1,
    max_size=3,
).filter(lambda fleet: any(kind.count for kind in fleet))


@st.composite
def traces(draw):
    found = draw(kinds)
    each = st.tuples(times, times | st.just(math.inf), st.integers(0, len(found) - 1))
    lives = sorted(draw(st.lists(each, min_size=1, max_size=25)))
    return Trace(
        arrivals=np.array([start for start, _, _ in lives]),
        departures=np.array([max(start, end) for start, end, _ in lives]),
        kind_of=np.array([kind for _, _, kind in lives]),
        kinds=found,
    )


def what_is_there(done, hosts):
    """Yield, after each event, what every host has given away: the slow, obvious way."""
    used = np.zeros((len(SIZES), len(hosts)), dtype=np.int64)
    vms = np.zeros(len(hosts), dtype=np.int64)
    yield used.copy(), vms.copy()
    for row, (vcpus, ram, disk, instances) in zip(the_rows(done), done.given.T, strict=True):
        used[:, row] += (vcpus, ram, disk)
        vms[row] += instances
        yield used.copy(), vms.copy()


DRIVERS = {
    name: a_driver(driver=driver, profile=profile)
    for name, driver, profile in (
        ("pack", "filter", "pack"),
        ("spread", "filter", "spread"),
        ("chance", "chance", "none"),
    )
}


@quick
@given(traces(), fleets, st.sampled_from(sorted(DRIVERS)))
def test_no_host_ever_gives_more_than_it_has(trace, fleet, way):
    hosts = some_hosts(*fleet)
    capacity = np.array([hosts.capacity_of(name) for name in SIZES])

    done = replay(trace, hosts, DRIVERS[way])

    for used, vms in what_is_there(done, hosts):
        assert (used <= capacity).all()
        assert (used >= 0).all()
        assert (vms >= 0).all()


@quick
@given(traces(), fleets)
def test_who_was_placed_comes_and_goes_when_the_trace_says(trace, fleet):
    done = replay(trace, some_hosts(*fleet), DRIVERS["pack"])

    failed = {failure.request for failure in done.failures}
    placed = [number for number in range(len(trace)) if number not in failed]
    counts = trace.counts()
    expected = [(trace.arrivals[number], counts[number]) for number in placed]
    expected += [(trace.departures[number], -counts[number]) for number in placed]
    changes = {}
    for time, change in expected:
        changes[time] = changes.get(time, 0) + int(change)
    found = {}
    for time, change in zip(the_times(done), done.given[-1].tolist(), strict=True):
        found[time] = found.get(time, 0) + change
    changes.pop(math.inf, None)
    assert found == changes


@quick
@given(traces(), fleets)
def test_a_course_is_what_counting_host_by_host_finds(trace, fleet):
    hosts = some_hosts(*fleet)
    reference = course.typical(trace)
    done = replay(trace, hosts, DRIVERS["spread"])
    capacity = np.array([hosts.capacity_of(name) for name in SIZES])

    found = course_of(done, hosts, reference=reference)

    for at, (used, vms) in enumerate(what_is_there(done, hosts)):
        free = capacity - used
        stranded = [
            sum(
                free[size, row]
                for row in range(len(hosts))
                if any(free[other, row] < reference[other] for other in range(3) if other != size)
            )
            for size in range(3)
        ]
        assert found.stranded[:, at].tolist() == stranded
        assert found.used[:, at].tolist() == used.sum(axis=-1).tolist()
        assert found.hosts_used[at] == np.count_nonzero(vms)
        assert found.vms[at] == vms.sum()
        assert found.bound[at] <= found.hosts_used[at]


@quick
@given(traces(), fleets)
def test_the_same_chance_falls_the_same_way(trace, fleet):
    driver = DRIVERS["chance"]
    rows = []
    for _ in range(2):
        driver.engine.reseed(7)
        rows.append(the_rows(replay(trace, some_hosts(*fleet), driver)))

    assert rows[0] == rows[1]


def test_the_fewest_hosts_are_the_largest_of_each_resource():
    capacity = np.array([[8, 2, 4], [1, 9, 1]])

    assert fewest_hosts(capacity, np.array([[0, 8, 9, 12, 13, 99], [0] * 6])).tolist() == [
        0, 1, 2, 2, 3, 4,
    ]  # fmt: skip
    assert fewest_hosts(capacity, np.array([[1], [10]])).tolist() == [2]


@pytest.mark.parametrize(
    ("arrivals", "window"),
    [([-5, -2, 9], (0, 9)), ([3, 9], (3, 9)), ([-5, -2], (-2, -2)), ([4], (4, 4))],
)
def test_time_counts_from_zero_or_the_first_arrival_to_the_last(arrivals, window):
    trace = types.SimpleNamespace(arrivals=np.array(arrivals, dtype=float))

    assert course.Window.of(trace) == window
