"""Decisions, without a database."""

from roost.scheduler import engine
from roost.scheduler.weighers import Weighing
from roost.scheduler.weighers.capacity import RamWeigher
from tests.builders import CELL1, CELL2, a_flavor
from tests.unit.scheduler.rows import FILTERS, WEIGHERS, a_request, a_row, hosts_of


def decide(request, *rows, weighers=WEIGHERS):
    hosts = hosts_of(*rows)
    decision = engine.decide(request, hosts, filters=FILTERS, weighers=weighers)
    names = [[hosts.name("host", row) for row in chosen] for chosen in decision.hosts]
    return decision, names


def test_the_emptiest_host_is_chosen():
    busy, empty = a_row("busy", used=(4, 8192, 50)), a_row("empty")
    _, names = decide(a_request(), busy, empty)
    assert names == [["empty"]]


def test_a_negative_multiplier_fills_hosts_up():
    busy, empty = a_row("busy", used=(4, 8192, 50)), a_row("empty")
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
        a_row("third", used=(2, 2048, 0)),
        a_row("second", used=(1, 1024, 0)),
        a_row("elsewhere", cell_uuid=CELL2),
    ]
    _, names = decide(a_request(alternates=5), *rows)
    assert names == [["chosen", "second", "third"]]


def test_no_more_alternates_than_asked_for():
    rows = [a_row(f"h{i}") for i in range(9)]
    _, names = decide(a_request(alternates=2), *rows)
    assert len(names[0]) == 3


def test_a_host_filled_by_the_request_is_no_alternate():
    small = a_row("small", capacity=(1, 16384, 100))
    _, names = decide(a_request(count=2, alternates=5), small, a_row("big", capacity=(2, 512, 1)))
    assert sorted(names) == [["big"], ["small"]]


def test_all_or_none():
    decision, names = decide(a_request(count=3), a_row(capacity=(2, 16384, 100)))
    assert names == []
    assert decision.fitting == 2
    assert decision.refusals == {"cpu": {"not enough CPUs": 1}}


def test_refusals_count_each_host_once_under_the_first_filter():
    closed_and_full = a_row("h1", enabled=False, used=(8, 16384, 100))
    decision, _ = decide(a_request(), closed_and_full, a_row("h2", used=(8, 16384, 100)))
    assert decision.refusals == {"enabled": {"disabled": 1}, "ram": {"not enough memory": 1}}


def test_refusals_are_told_beside_an_answer():
    decision, names = decide(a_request(), a_row("h1", enabled=False), a_row("h2"))
    assert names == [["h2"]]
    assert decision.refusals == {"enabled": {"disabled": 1}}


def test_an_instance_that_has_a_host_keeps_it_and_gets_alternates():
    rows = [a_row("full", used=(8, 16384, 100)), a_row("h2"), a_row("h3", cell_uuid=CELL2)]
    _, names = decide(a_request(placed=[0, None], alternates=2), *rows)
    assert names[0] == ["full", "h2"]


def test_no_hosts_at_all():
    decision, names = decide(a_request())
    assert (names, decision.refusals) == ([], {})


def test_deciding_does_not_change_the_hosts():
    hosts = hosts_of(a_row("h1"), a_row("h2"))
    engine.decide(a_request(count=5), hosts, filters=FILTERS, weighers=WEIGHERS)
    assert hosts.used.sum() == 0


def test_what_is_not_asked_for_may_be_overcommitted():
    row = a_row(capacity=(8, 16384, 100), used=(0, 0, 150))
    _, names = decide(a_request(flavor=a_flavor(root_gb=0)), row)
    assert names == [["h1"]]


def test_alternates_stay_with_each_chosen_ones_cell():
    rows = [a_row(f"a{i}", cell_uuid=CELL1) for i in range(3)]
    rows += [a_row(f"b{i}", cell_uuid=CELL2) for i in range(3)]
    _, names = decide(a_request(count=6, alternates=2), *rows)
    assert all(len({name[0] for name in chosen}) == 1 for chosen in names)
    assert all(len(set(chosen)) == 3 for chosen in names)
