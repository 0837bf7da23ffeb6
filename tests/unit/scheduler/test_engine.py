"""Decisions, without a database."""

import numpy as np
import pytest

from roost.scheduler import engine as engine_module
from roost.scheduler.filters import HostFilter
from roost.scheduler.weighers import Weighing
from roost.scheduler.weighers.capacity import RamWeigher
from tests.builders import CELL1, CELL2, a_flavor
from tests.unit.scheduler.host_builders import (
    FILTERS,
    a_request,
    a_row,
    amounts,
    an_engine,
    hosts_of,
)


def decide(request, *rows, **options):
    hosts = hosts_of(*rows)
    decision = an_engine(**options).decide(request, hosts)
    places = zip(decision.chosen, decision.alternates, strict=True)
    names = [[hosts.name("host", row) for row in (place.row, *more)] for place, more in places]
    return decision, names


class OnlyEven(HostFilter):
    """Passes hosts with an even number."""

    name = "only_even"

    def __init__(self):
        self.asked = []

    def why_not(self, request, host):
        self.asked.append(host.host)
        return None if int(host.host[1:]) % 2 == 0 else "odd"


def test_the_emptiest_host_is_chosen():
    busy, empty = a_row("busy", used=amounts(vcpus=4, memory_mb=8192)), a_row("empty")
    _, names = decide(a_request(), busy, empty)
    assert names == [["empty"]]


def test_a_negative_multiplier_fills_hosts_up():
    busy, empty = a_row("busy", used=amounts(memory_mb=8192)), a_row("empty")
    _, names = decide(a_request(), busy, empty, weighers=[Weighing(RamWeigher(), -1.0)])
    assert names == [["busy"]]


def test_instances_of_one_request_see_what_those_before_them_took():
    _, names = decide(a_request(count=4), a_row("h1"), a_row("h2"))
    assert sorted(names) == [["h1"], ["h1"], ["h2"], ["h2"]]


def test_hosts_alike_are_taken_in_their_order_every_time():
    rows = [a_row(f"h{i}") for i in range(5)]
    assert [decide(a_request(), *rows)[1] for _ in range(3)] == [[["h0"]]] * 3


def test_alternates_are_of_the_same_cell_best_first():
    rows = [
        a_row("chosen"),
        a_row("third", used=amounts(vcpus=2, memory_mb=2048)),
        a_row("second", used=amounts(vcpus=1, memory_mb=1024)),
        a_row("elsewhere", cell_uuid=CELL2),
    ]
    _, names = decide(a_request(alternates=5), *rows)
    assert names == [["chosen", "second", "third"]]


def test_no_more_alternates_than_asked_for():
    rows = [a_row(f"h{i}") for i in range(9)]
    _, names = decide(a_request(alternates=2), *rows)
    assert len(names[0]) == 3


def test_a_host_filled_by_the_request_is_no_alternate():
    rows = [a_row("small", vcpus=1), a_row("big", vcpus=2, memory_mb=512, disk_gb=1)]
    _, names = decide(a_request(count=2, alternates=5), *rows)
    assert sorted(names) == [["big"], ["small"]]


def test_all_or_none():
    decision, names = decide(a_request(count=3), a_row(vcpus=2))
    assert names == []
    assert decision.fitting == 2
    assert decision.refusals == {"cpu": {"not enough CPUs": 1}}


def test_refusals_count_each_host_once_under_the_first_filter():
    full = amounts(vcpus=8, memory_mb=16384, disk_gb=100)
    decision, _ = decide(a_request(), a_row("h1", enabled=False, used=full), a_row("h2", used=full))
    assert decision.refusals == {"enabled": {"disabled": 1}, "ram": {"not enough memory": 1}}


def test_a_refusal_names_the_nearest_miss():
    rows = [a_row("h1", memory_mb=300), a_row("h2", memory_mb=500), a_row("h3", memory_mb=100)]
    decision, _ = decide(a_request(), *rows)
    (ram,) = [verdict for verdict in decision.verdicts if verdict.filter == "ram"]
    assert ram.closest == (1, "500 MiB free of the 512 asked")


def test_an_instance_that_has_a_host_keeps_it_and_gets_alternates():
    full = amounts(vcpus=8, memory_mb=16384, disk_gb=100)
    rows = [a_row("full", used=full), a_row("h2"), a_row("h3", cell_uuid=CELL2)]
    _, names = decide(a_request(placed=[0, None], alternates=2), *rows)
    assert names[0] == ["full", "h2"]


def test_no_hosts_at_all():
    decision, names = decide(a_request())
    assert (names, decision.refusals) == ([], {})


def test_what_is_chosen_is_taken_and_can_be_given_back():
    hosts, request = hosts_of(a_row("h1"), a_row("h2")), a_request(count=5)
    decision = an_engine().decide(request, hosts)
    assert hosts.used_of("vcpus").sum() == 5
    engine_module.undo(request, hosts, decision.chosen)
    assert hosts.used.sum() == 0


def test_what_does_not_fit_takes_nothing():
    hosts = hosts_of(a_row("h1", vcpus=2))
    an_engine().decide(a_request(count=3), hosts)
    assert hosts.used.sum() == 0


def test_what_is_not_asked_for_may_be_overcommitted():
    row = a_row(disk_gb=100, used=amounts(disk_gb=150))
    _, names = decide(a_request(flavor=a_flavor(root_gb=0), image=None), row)
    assert names == [["h1"]]


def test_alternates_stay_with_each_chosen_ones_cell():
    rows = [a_row(f"a{i}", cell_uuid=CELL1) for i in range(3)]
    rows += [a_row(f"b{i}", cell_uuid=CELL2) for i in range(3)]
    _, names = decide(a_request(count=6, alternates=2), *rows)
    assert all(len({name[0] for name in chosen}) == 1 for chosen in names)
    assert all(len(set(chosen)) == 3 for chosen in names)


def test_who_judges_one_host_is_asked_about_the_best_until_enough_are_found():
    rows = [a_row(f"h{i}", memory_mb=16384 - i) for i in range(1, 9)]
    judge = OnlyEven()
    _, names = decide(a_request(), *rows, filters=[*FILTERS, judge])
    assert (names, judge.asked) == ([["h2"]], ["h1", "h2"])


def test_what_one_host_is_refused_for_is_told():
    rows = [a_row(f"h{i}") for i in (1, 3)] + [a_row("h2", vcpus=0)]
    decision, _ = decide(a_request(), *rows, filters=[*FILTERS, OnlyEven()])
    assert decision.refusals == {"cpu": {"not enough CPUs": 1}, "only_even": {"odd": 2}}


def test_alternates_pass_those_who_judge_one_host_too():
    rows = [a_row(f"h{i}") for i in range(6)]
    _, names = decide(a_request(alternates=5), *rows, filters=[*FILTERS, OnlyEven()])
    assert names == [["h0", "h2", "h4"]]


def test_a_forced_request_gets_past_all_but_room_and_what_it_names():
    hosts = {"closed": a_row("closed", enabled=False), "full": a_row("full", vcpus=0)}
    forced = a_request(requested_host="closed", forced=True, availability_zone="elsewhere")
    assert decide(forced, *hosts.values())[1] == [["closed"]]
    assert decide(a_request(requested_host="closed"), *hosts.values())[1] == []
    assert decide(a_request(requested_host="full", forced=True), *hosts.values())[1] == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_by_chance_means_among_the_best_and_the_same_for_the_same_seed(seed):
    rows = [a_row(f"h{i}", memory_mb=16384 - 1000 * i) for i in range(9)]

    def picked():
        chooser = an_engine(best_of=3, seed=seed)
        found = []
        for _ in range(30):
            hosts = hosts_of(*rows)
            found.append(hosts.name("host", chooser.decide(a_request(), hosts).chosen[0].row))
        return found

    first = picked()
    assert set(first) == {"h0", "h1", "h2"}
    assert picked() == first


def test_an_engine_follows_what_happens_to_the_hosts_between_requests():
    hosts, chooser = hosts_of(a_row("h1"), a_row("h2", vcpus=0)), an_engine()
    request = a_request(flavor=a_flavor(vcpus=1))
    for _ in range(3):
        chooser.decide(request, hosts)
    hosts.take(0, amounts(vcpus=8))
    assert chooser.decide(a_request(), hosts).chosen == []
    hosts.add([a_row("h3")])
    assert chooser.decide(a_request(), hosts).chosen[0].row == 2
    hosts.overwrite(np.array([1]), [a_row("h2", vcpus=100, memory_mb=10**6)])
    assert chooser.decide(a_request(), hosts).chosen[0].row == 1
    hosts.keep(np.array([0, 2]))
    assert chooser.decide(a_request(), hosts).chosen[0].row == 1


def test_requests_of_many_kinds_do_not_confuse_each_other():
    hosts, chooser = hosts_of(a_row("small", vcpus=2), a_row("big", vcpus=64)), an_engine()
    sizes = [1, 2, 3, 4] * 40  # more kinds than are remembered come below
    for at, vcpus in enumerate(sizes):
        request = a_request(flavor=a_flavor(vcpus=vcpus, memory_mb=1 + at, root_gb=0))
        placed = chooser.decide(request, hosts).chosen
        assert hosts.free("vcpus").min() >= 0
        engine_module.undo(request, hosts, placed)
        assert [hosts.name("host", place.row) for place in placed] == ["big"]
