"""Decisions, without a database."""

import pytest

from roost import conf
from roost.scheduler import engine as engine_module
from roost.scheduler import plugins
from roost.scheduler.filters import HostFilter
from tests.builders import CELL2, a_flavor, a_provider
from tests.unit.scheduler.host_builders import (
    FILTERS,
    a_request,
    a_row,
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


def test_alternates_are_of_the_same_cell_best_first():
    rows = [
        a_row("chosen"),
        a_row("third", used={"vcpus": 2, "memory_mb": 2048}),
        a_row("second", used={"vcpus": 1, "memory_mb": 1024}),
        a_row("elsewhere", cell_uuid=CELL2),
    ]
    _, names = decide(a_request(alternates=5), *rows)
    assert names == [["chosen", "second", "third"]]


def test_by_default_a_host_with_a_gpu_is_left_to_those_who_ask_for_it():
    weighers = plugins.load_weighers(conf.of({}).scheduler)
    rows = [
        a_row("gpu", providers=[a_provider(""), a_provider("gpu0", VGPU=4)]),
        a_row("plain", used={"vcpus": 1, "memory_mb": 1024}),
        a_row("full", used={"vcpus": 2, "memory_mb": 2048}),
    ]
    _, names = decide(a_request(alternates=2), *rows, weighers=weighers)
    assert names == [["plain", "full", "gpu"]]
    _, names = decide(a_request(alternates=1), *rows[:1], *rows[2:], weighers=weighers)
    assert names == [["full", "gpu"]]


def test_all_or_none():
    decision, names = decide(a_request(count=3), a_row(vcpus=2))
    assert names == []
    assert decision.fitting == 2
    assert decision.refusals == {"cpu": {"not enough CPUs": 1}}


def test_refusals_count_each_host_once_under_the_first_filter():
    full = {"vcpus": 8, "memory_mb": 16384, "disk_gb": 100}
    decision, _ = decide(a_request(), a_row("h1", enabled=False, used=full), a_row("h2", used=full))
    assert decision.refusals == {"enabled": {"disabled": 1}, "ram": {"not enough memory": 1}}


def test_a_refusal_names_the_nearest_miss():
    rows = [a_row("h1", memory_mb=300), a_row("h2", memory_mb=500), a_row("h3", memory_mb=100)]
    decision, _ = decide(a_request(), *rows)
    (ram,) = [verdict for verdict in decision.verdicts if verdict.filter == "ram"]
    assert ram.closest == (1, "500 MiB free of the 512 requested")


def test_what_is_chosen_is_taken_and_can_be_given_back():
    hosts, request = hosts_of(a_row("h1"), a_row("h2")), a_request(count=5)
    decision = an_engine().decide(request, hosts)
    assert hosts.used_of("VCPU").sum() == 5
    engine_module.undo(request, hosts, decision.chosen)
    assert hosts.used.sum() == 0


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


def test_requests_of_many_kinds_do_not_confuse_each_other():
    hosts, chooser = hosts_of(a_row("small", vcpus=2), a_row("big", vcpus=64)), an_engine()
    sizes = [1, 2, 3, 4] * 40  # more kinds than are remembered come below
    for at, vcpus in enumerate(sizes):
        request = a_request(flavor=a_flavor(vcpus=vcpus, memory_mb=1 + at, root_gb=0))
        placed = chooser.decide(request, hosts).chosen
        assert hosts.free("VCPU").min() >= 0
        engine_module.undo(request, hosts, placed)
        assert [hosts.name("host", place.row) for place in placed] == ["big"]
