"""What every driver keeps to, however it chooses."""

import pytest
from hypothesis import given
from stevedore import extension

from roost import conf
from roost.scheduler import engine, plugins
from tests.builders import CELL2
from tests.unit.scheduler.host_builders import a_request, a_row, hosts_of
from tests.unit.scheduler.test_engine_properties import (
    again,
    hosts,
    requests,
    roomy,
    used_of,
    wanted,
    welcome,
    with_one_more,
)

DRIVERS = sorted(extension.ExtensionManager("roost.scheduler.drivers").names())


def make(name, **options):
    return plugins.load_driver(conf.of({"scheduler": {"driver": name, **options}}).scheduler)


MADE = {name: make(name) for name in DRIVERS}


@pytest.fixture(params=DRIVERS)
def driver(request):
    return make(request.param)


def names(hosts, decision):
    return [hosts.name("host", place.row) for place in decision.chosen]


def test_the_drivers_of_the_documentation_are_there():
    assert DRIVERS == ["chance", "filter", "solver"]


@pytest.mark.parametrize("name", DRIVERS)
def test_whatever_the_hosts_and_the_wish_no_rule_is_broken(name):
    @given(requests, hosts)
    def check(request, rows):
        all_hosts, asked = hosts_of(*rows), again(request)
        decision = MADE[name].twin().decide(asked, all_hosts)
        after, placed = list(rows), []
        for place in sorted(decision.chosen):
            assert wanted(request, after[place.row])
            assert roomy(request, after[place.row])
            assert welcome(request, place.row, placed)
            after[place.row] = with_one_more(request, after[place.row])
            placed.append(place.row)
        assert all_hosts.used.T.tolist() == [used_of(row) for row in after]

    check()


def test_an_instance_that_has_a_host_keeps_it(driver):
    all_hosts = hosts_of(a_row("h1", vcpus=0), a_row("h2"), a_row("h3"))
    decision = driver.decide(a_request(placed=[0, None, None]), all_hosts)
    assert names(all_hosts, decision)[0] == "h1"
    assert all_hosts.used_of("VCPU").tolist()[0] == 0


def test_alternates_are_others_of_the_same_cell(driver):
    rows = [a_row(f"h{i}") for i in range(3)] + [a_row("far", cell_uuid=CELL2)]
    all_hosts = hosts_of(*rows)
    for count in (1, 2):
        request = a_request(count=count, alternates=5, requested_cell=rows[0].cell_uuid)
        decision = driver.decide(request, all_hosts)
        for place, others in zip(decision.chosen, decision.alternates, strict=True):
            assert set(others) == {0, 1, 2} - {place.row}


def test_a_host_that_cannot_take_more_says_why(driver):
    all_hosts = hosts_of(a_row("h1", vcpus=1))
    request = a_request()
    assert driver.why_not(request, all_hosts, 0) is None
    engine.take(request, all_hosts, 0)
    assert driver.why_not(request, all_hosts, 0) == "not enough CPUs"


def test_a_twin_answers_alike_and_remembers_nothing(driver):
    one, other = hosts_of(a_row("h1")), hosts_of(a_row("x", vcpus=0), a_row("y"))
    driver.decide(a_request(), one)
    assert names(other, driver.twin().decide(a_request(count=2), other)) == ["y", "y"]


def test_chance_chooses_any_host_that_passes():
    driver, seen = make("chance"), set()
    for _ in range(200):
        all_hosts = hosts_of(
            a_row("full", vcpus=0), *(a_row(f"h{i}", memory_mb=1000 * (i + 1)) for i in range(4))
        )
        seen.update(names(all_hosts, driver.decide(a_request(), all_hosts)))
    assert seen == {"h0", "h1", "h2", "h3"}
