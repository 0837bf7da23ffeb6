"""Whatever the hosts and the wishes: the engine answers as a slow and obvious program would.

The engine remembers scores between requests and mends them; the program looks at everything anew.
"""

import dataclasses
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roost.objects import Retry, ServerGroup, TriedHost
from roost.scheduler import engine as engine_module
from roost.scheduler.engine import Engine
from tests.builders import CELL1, CELL2, a_flavor
from tests.unit.scheduler.host_builders import (
    FILTERS,
    WEIGHERS,
    a_request,
    a_row,
    filters_of,
    hosts_of,
)

NAMES = [f"h{i}" for i in range(6)]
RESOURCES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")
GROUP_FILTERS = filters_of("server_group_affinity", "server_group_anti_affinity")
SIZES = ("vcpus", "memory_mb", "disk_gb")


def some_of_each(highest):
    return st.fixed_dictionaries({name: st.integers(0, highest) for name in SIZES})


def rows_of(names):
    return st.tuples(
        *(
            st.builds(
                lambda name, sizes, used, **values: a_row(name, used=used, **sizes, **values),
                st.just(name),
                sizes=some_of_each(9),
                used=some_of_each(5),
                cell_uuid=st.sampled_from([CELL1, CELL2]),
                availability_zone=st.sampled_from(["nova", "other"]),
                enabled=st.sampled_from([True, True, True, False]),
                told_down=st.sampled_from([False, False, False, True]),
            )
            for name in names
        )
    )


hosts = st.lists(st.sampled_from(NAMES), unique=True).flatmap(rows_of)
groups = st.builds(
    lambda policy, most: ServerGroup.of(
        uuid=CELL1,
        project_id="p",
        user_id="u",
        name="g",
        policy=policy,
        max_server_per_host=most if policy == "anti-affinity" else None,
    ),
    st.sampled_from(["affinity", "anti-affinity"]),
    st.sampled_from([None, 1, 2]),
)
requests = st.builds(
    a_request,
    count=st.integers(1, 5),
    alternates=st.integers(0, 3),
    flavor=st.builds(
        a_flavor, vcpus=st.integers(0, 3), memory_mb=st.integers(0, 3), root_gb=st.integers(0, 3)
    ),
    availability_zone=st.sampled_from([None, None, "nova"]),
    requested_cell=st.sampled_from([None, None, CELL1]),
    requested_host=st.sampled_from([None, None, None, "h1"]),
    ignore_hosts=st.lists(st.sampled_from(NAMES), max_size=2),
    group=st.one_of(st.none(), groups),
    retry=st.sampled_from(
        [None, Retry(max_attempts=3, tried=[TriedHost(host="h2", node="h2", reason="broke")])]
    ),
)


def wanted(request, row):
    """What the rules say of a host, one after the other, leaving room and groups aside."""
    spec = request.spec
    tried = spec.retry.tried if spec.retry else []
    return (
        row.enabled
        and not row.told_down
        and spec.availability_zone in (None, row.availability_zone)
        and spec.requested_cell in (None, row.cell_uuid)
        and spec.requested_host in (None, row.host)
        and row.host not in spec.ignore_hosts
        and all(row.host != each.host for each in tried)
    )


def roomy(request, row):
    return all(
        asked == 0 or used + asked <= net
        for asked, used, net in zip(sizes(request.asked), used_of(row), net_of(row), strict=True)
    )


def welcome(request, at, placed):
    """What the request's group says of a host, given where its members are."""
    group = request.spec.group
    if group is None:
        return True
    if group.policy == "affinity":
        return not placed or at in placed
    return placed.count(at) < (group.max_server_per_host or 1)


def sizes(amounts):
    return [amounts.get(name, 0) for name in RESOURCES]


def used_of(row):
    return sizes(row.used.get("", {}))


def net_of(row):
    (node,) = json.loads(row.inventories)
    return sizes({name: total for name, (total, *_) in node[-1].items()})


def with_one_more(request, row):
    used = [a + b for a, b in zip(used_of(row), sizes(request.asked), strict=True)]
    return dataclasses.replace(row, used={"": dict(zip(RESOURCES, used, strict=True))})


def weight(row, rows):
    total = 0.0
    for line in (2, 0, 3):  # ram, cpu, disk
        largest = max(net_of(other)[line] for other in rows)
        if largest:
            total += (net_of(row)[line] - used_of(row)[line]) * (1.0 / largest)
    return total


def slowly(request, rows):
    """Place one instance after the other: the first of the best hosts that pass every rule."""
    rows, chosen = list(rows), []
    for _ in request.placed:
        passing = [
            at
            for at, row in enumerate(rows)
            if wanted(request, row) and roomy(request, row) and welcome(request, at, chosen)
        ]
        if not passing:
            return None
        best = max(passing, key=lambda at: weight(rows[at], rows))
        rows[best] = with_one_more(request, rows[best])
        chosen.append(best)
    return chosen


def an_engine():
    return Engine([*FILTERS, *GROUP_FILTERS], WEIGHERS)


def again(request):
    """The same request, asked for the first time."""
    return dataclasses.replace(request, group_counts={})


def decide(request, rows):
    return an_engine().decide(again(request), hosts_of(*rows))


def chosen_by(decision):
    return [place.row for place in decision.chosen]


@given(requests, hosts)
def test_it_chooses_what_the_obvious_program_chooses(request, rows):
    assert chosen_by(decide(request, rows)) == (slowly(request, rows) or [])


@given(st.lists(requests, max_size=6), hosts)
def test_one_request_after_another_is_placed_as_if_nothing_were_remembered(wishes, rows):
    engine, all_hosts, rows = an_engine(), hosts_of(*rows), list(rows)
    for request in wishes * 2:
        chosen = chosen_by(engine.decide(again(request), all_hosts))
        assert chosen == (slowly(request, rows) or [])
        for at in chosen:
            rows[at] = with_one_more(request, rows[at])


@given(st.lists(requests, max_size=5), hosts, st.data())
def test_hosts_that_change_meanwhile_are_seen_as_they_are(wishes, rows, data):
    engine, all_hosts, rows = an_engine(), hosts_of(*rows), list(rows)
    for request in wishes * 2:
        if rows:
            at = data.draw(st.integers(0, len(rows) - 1))
            (rows[at],) = data.draw(rows_of([rows[at].host]))
            all_hosts.overwrite(np.array([at]), [rows[at]])
        decision = engine.decide(again(request), all_hosts)
        assert chosen_by(decision) == (slowly(request, rows) or [])
        engine_module.undo(again_counted(request, decision), all_hosts, decision.chosen)


def again_counted(request, decision):
    counts = {row: chosen_by(decision).count(row) for row in chosen_by(decision)}
    return dataclasses.replace(request, group_counts=counts)


@given(requests, hosts)
def test_alternates_pass_every_rule_once_all_are_placed(request, rows):
    decision = decide(request, rows)
    after, placed = list(rows), chosen_by(decision)
    for at in placed:
        after[at] = with_one_more(request, after[at])
    for at, alternates in zip(placed, decision.alternates, strict=True):
        assert at not in alternates
        assert len(alternates) <= request.alternates
        for other in alternates:
            assert rows[other].cell_uuid == rows[at].cell_uuid
            assert wanted(request, after[other])
            assert roomy(request, after[other])
            assert welcome(request, other, placed)


@given(requests, hosts)
def test_a_refusal_counts_every_host_exactly_once(request, rows):
    decision = decide(request, rows)
    counted = sum(sum(reasons.values()) for reasons in decision.refusals.values())
    assert counted == (0 if decision.chosen else len(rows))


@given(requests, hosts)
def test_who_asks_of_one_host_hears_what_the_whole_search_says(request, rows):
    all_hosts = hosts_of(*rows)
    scores = an_engine().search(again(request), all_hosts).scores()
    for row in range(len(rows)):
        refused = an_engine().why_not(again(request), all_hosts, row) is not None
        assert refused == (scores[row] == engine_module.REFUSED)
