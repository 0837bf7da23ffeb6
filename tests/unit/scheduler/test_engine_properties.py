"""Whatever the hosts and the wish: the engine answers as a slow and obvious program would."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from roost.objects import Retry, TriedHost
from roost.scheduler import engine
from tests.builders import CELL1, CELL2, NOW, a_flavor
from tests.unit.scheduler.rows import FILTERS, WEIGHERS, a_request, a_row, hosts_of

NAMES = [f"h{i}" for i in range(6)]
ALIVE_SINCE = NOW.timestamp() - 60


def amounts(highest):
    return st.tuples(*(st.integers(0, highest) for _ in range(3)))


def rows_of(names):
    return st.tuples(
        *(
            st.builds(
                a_row,
                st.just(name),
                cell_uuid=st.sampled_from([CELL1, CELL2]),
                availability_zone=st.sampled_from(["nova", "other"]),
                enabled=st.sampled_from([True, True, True, False]),
                reported_at=st.sampled_from([NOW, NOW, NOW.replace(year=2020)]),
                capacity=amounts(9),
                used=amounts(5),
            )
            for name in names
        )
    )


hosts = st.lists(st.sampled_from(NAMES), unique=True).flatmap(rows_of)
requests = st.builds(
    a_request,
    count=st.integers(1, 5),
    alternates=st.integers(0, 3),
    alive_since=st.just(ALIVE_SINCE),
    flavor=st.builds(
        a_flavor, vcpus=st.integers(0, 3), memory_mb=st.integers(0, 3), root_gb=st.integers(0, 3)
    ),
    availability_zone=st.sampled_from([None, None, "nova"]),
    requested_cell=st.sampled_from([None, None, CELL1]),
    requested_host=st.sampled_from([None, None, None, "h1"]),
    ignore_hosts=st.lists(st.sampled_from(NAMES), max_size=2),
    retry=st.sampled_from(
        [None, Retry(max_attempts=3, tried=[TriedHost(host="h2", node="h2", reason="broke")])]
    ),
)


def wanted(request, row):
    """What the rules say of a host, one after the other, leaving room aside."""
    spec = request.spec
    tried = spec.retry.tried if spec.retry else []
    return (
        row.enabled
        and row.reported_at.timestamp() >= ALIVE_SINCE
        and spec.availability_zone in (None, row.availability_zone)
        and spec.requested_cell in (None, row.cell_uuid)
        and spec.requested_host in (None, row.host)
        and row.host not in spec.ignore_hosts
        and all(row.host != each.host for each in tried)
    )


def roomy(request, row):
    return all(
        asked == 0 or used + asked <= capacity
        for asked, used, capacity in zip(request.asked, row.used, row.capacity, strict=True)
    )


def with_one_more(request, row):
    used = tuple(a + b for a, b in zip(row.used, request.asked, strict=True))
    return dataclasses.replace(row, used=used)


def free(row):
    return [c - u for c, u in zip(row.capacity, row.used, strict=True)]


def weight(row, among):
    total = 0.0
    for line in (1, 0, 2):  # ram, cpu, disk
        values = [free(other)[line] for other in among]
        low, high = min(values), max(values)
        if high > low:
            total += (free(row)[line] - low) * (1.0 / (high - low))
    return total


def slowly(request, rows):
    """Place one instance after the other: the first of the best hosts that pass every rule."""
    rows, chosen = list(rows), []
    for _ in request.placed:
        passing = [row for row in rows if wanted(request, row) and roomy(request, row)]
        if not passing:
            return None
        best = max(passing, key=lambda row: weight(row, passing))
        at = rows.index(best)
        rows[at] = with_one_more(request, best)
        chosen.append(at)
    return chosen


def decide(request, rows):
    return engine.decide(request, hosts_of(*rows), filters=FILTERS, weighers=WEIGHERS)


@given(requests, hosts)
def test_it_chooses_what_the_obvious_program_chooses(request, rows):
    decision = decide(request, rows)
    assert [chosen[0] for chosen in decision.hosts] == (slowly(request, rows) or [])


@given(requests, hosts)
def test_no_host_is_ever_given_more_than_it_has_or_against_a_rule(request, rows):
    after = list(rows)
    for at, *_ in decide(request, rows).hosts:
        assert wanted(request, after[at])
        assert roomy(request, after[at])
        after[at] = with_one_more(request, after[at])


@given(requests, hosts)
def test_alternates_pass_every_rule_once_all_are_placed(request, rows):
    decision = decide(request, rows)
    after = list(rows)
    for at, *_ in decision.hosts:
        after[at] = with_one_more(request, after[at])
    for at, *alternates in decision.hosts:
        assert at not in alternates
        assert len(alternates) <= request.alternates
        for other in alternates:
            assert rows[other].cell_uuid == rows[at].cell_uuid
            assert wanted(request, after[other])
            assert roomy(request, after[other])


@given(requests, hosts)
def test_the_same_question_has_the_same_answer(request, rows):
    assert decide(request, rows) == decide(request, rows)


@given(requests, hosts)
def test_a_refusal_counts_every_host_exactly_once(request, rows):
    decision = decide(request, rows)
    counted = sum(sum(reasons.values()) for reasons in decision.refusals.values())
    if decision.hosts:
        assert counted == sum(not (wanted(request, r) and roomy(request, r)) for r in rows)
    else:
        assert counted == len(rows)
