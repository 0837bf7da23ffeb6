"""How much a weigher counts, and where aggregates have a say."""

import pytest

from roost.scheduler.weighers import Weighing, multiplier_of
from roost.scheduler.weighers.capacity import RamWeigher
from tests.unit.scheduler.host_builders import a_row, an_aggregate, hosts_of

ROWS = a_row("h1"), a_row("h2"), a_row("h3")


def multipliers(*aggregates, multiplier=1.5):
    return multiplier_of(Weighing(RamWeigher(), multiplier), hosts_of(*ROWS, aggregates=aggregates))


def test_the_configured_multiplier_counts_for_all():
    assert multipliers() == 1.5
    assert multipliers(an_aggregate("h1", cpu_weight_multiplier="9")) == 1.5


def test_an_aggregate_has_its_own():
    assert multipliers(an_aggregate("h2", ram_weight_multiplier="-2")).tolist() == [1.5, -2.0, 1.5]


def test_of_several_aggregates_the_smallest_counts():
    found = multipliers(
        an_aggregate("h1", "h2", ram_weight_multiplier="3"),
        an_aggregate("h1", ram_weight_multiplier="2"),
    )
    assert found.tolist() == [2.0, 3.0, 1.5]


@pytest.mark.parametrize("text", ["much", "", "nan", "inf"])
def test_what_is_no_number_is_as_if_it_were_not_there(text):
    assert multipliers(an_aggregate("h1", ram_weight_multiplier=text)).tolist() == [1.5] * 3


def test_aggregates_that_come_later_are_heard():
    hosts = hosts_of(*ROWS)
    weighing = Weighing(RamWeigher(), 1.0)
    assert multiplier_of(weighing, hosts) == 1.0
    other = hosts_of(a_row("h4"), aggregates=[an_aggregate("h4", ram_weight_multiplier="2")])
    hosts.membership[0] = hosts.shared.memberships.learn(other.one(0).membership)
    assert multiplier_of(weighing, hosts).tolist() == [2.0, 1.0, 1.0]
