"""Hosts that take nothing, zones, and hosts that the request names."""

from roost.scheduler.filters.load import EnabledFilter
from roost.scheduler.filters.requested import AvailabilityZoneFilter, RequestedFilter, RetryFilter
from tests.builders import CELL1, CELL2
from tests.unit.scheduler.host_builders import a_request, a_row, an_aggregate
from tests.unit.scheduler.requests import refused, tried


def test_disabled_hosts_are_refused():
    rows = a_row("h1", enabled=False), a_row("h2")
    assert refused(EnabledFilter(), a_request(), *rows) == {"h1": "disabled"}


def test_hosts_that_are_down_are_refused():
    rows = a_row("h1", told_down=True), a_row("h2")
    assert refused(EnabledFilter(), a_request(), *rows) == {"h1": "down"}


def test_hosts_of_other_zones_are_refused():
    rows = a_row("h1", availability_zone="a"), a_row("h2", availability_zone="b")
    request = a_request(availability_zone="b")
    assert refused(AvailabilityZoneFilter(), request, *rows) == {
        "h1": "in another availability zone"
    }


def test_a_zone_may_come_from_an_aggregate():
    rows = a_row("h1"), a_row("h2")
    zone = an_aggregate("h2", availability_zone="b")
    request = a_request(availability_zone="b")
    assert list(refused(AvailabilityZoneFilter(), request, *rows, aggregates=[zone])) == ["h1"]


def test_only_the_requested_host_and_node_pass():
    rows = a_row("h1", node="n1"), a_row("h2", node="n1"), a_row("h3", node="n3")
    request = a_request(requested_host="h1", requested_node="n1")
    assert refused(RequestedFilter(), request, *rows) == {
        "h2": "not the requested host",
        "h3": "not the requested host",
    }


def test_another_node_of_the_requested_host_is_refused():
    rows = a_row("h1", node="n1"), a_row("h1", node="n2")
    request = a_request(requested_host="h1", requested_node="n1")
    assert refused(RequestedFilter(), request, *rows) == {"h1": "not the requested node"}


def test_only_the_requested_cell_passes():
    rows = a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2)
    assert refused(RequestedFilter(), a_request(requested_cell=CELL2), *rows) == {
        "h1": "in another cell than requested"
    }


def test_only_hosts_of_the_requested_aggregate_pass():
    wanted, other = an_aggregate("h1"), an_aggregate("h2")
    request = a_request(requested_aggregate=wanted.uuid)
    rows = a_row("h1"), a_row("h2"), a_row("h3")
    assert refused(RequestedFilter(), request, *rows, aggregates=[wanted, other]) == {
        "h2": "not in the requested aggregate",
        "h3": "not in the requested aggregate",
    }


def test_hosts_of_aggregates_to_be_ignored_are_refused():
    bad = an_aggregate("h1")
    request = a_request(ignore_aggregates=[bad.uuid])
    assert refused(RequestedFilter(), request, a_row("h1"), a_row("h2"), aggregates=[bad]) == {
        "h1": "to be ignored"
    }


def test_hosts_to_be_ignored_are_refused_with_all_their_nodes():
    rows = a_row("h1", node="a"), a_row("h1", node="b"), a_row("h2")
    request = a_request(ignore_hosts=["h1"])
    assert refused(RequestedFilter(), request, *rows) == {"h1": "to be ignored"}


def test_cells_that_are_closed_are_refused():
    rows = a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2)
    assert refused(RequestedFilter(), a_request(ignore_cells=[CELL2]), *rows) == {
        "h2": "in an excluded cell"
    }


def test_a_node_tried_before_is_refused_its_sister_is_not():
    rows = a_row("h1", node="a"), a_row("h2", node="b")
    request = a_request(retry=tried(("h1", "a"), ("h2", "other")))
    assert refused(RetryFilter(), request, *rows) == {"h1": "tried before"}
