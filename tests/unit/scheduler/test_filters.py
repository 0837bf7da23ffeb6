"""Each filter by itself: whom it refuses, and in which words."""

import datetime

import pytest

from roost.objects import Retry, TriedHost
from roost.scheduler.filters.availability_zone import AvailabilityZoneFilter
from roost.scheduler.filters.capacity import CpuFilter, DiskFilter, RamFilter
from roost.scheduler.filters.enabled import EnabledFilter
from roost.scheduler.filters.requested import RequestedFilter
from tests.builders import CELL1, CELL2, NOW, a_flavor
from tests.unit.scheduler.rows import a_request, a_row, hosts_of


def refused(each, request, *rows):
    """Who is refused, and why, as ``{host: reason}``."""
    hosts = hosts_of(*rows)
    assert each.applies_to(request)
    return {
        hosts.name("host", row): reason
        for reason, mask in each.refuse(request, hosts)
        for row in mask.nonzero()[0]
    }


def tried(*pairs):
    return Retry(
        max_attempts=3,
        tried=[TriedHost(host=host, node=node, reason="it broke") for host, node in pairs],
    )


def test_disabled_hosts_are_refused():
    rows = a_row("h1", enabled=False), a_row("h2")
    assert refused(EnabledFilter(), a_request(), *rows) == {"h1": "disabled"}


def test_silent_hosts_are_refused():
    request = a_request(alive_since=NOW.timestamp() - 120)
    rows = a_row("h1", reported_at=NOW - datetime.timedelta(minutes=3)), a_row("h2")
    assert refused(EnabledFilter(), request, *rows) == {"h1": "down"}


def test_a_host_is_up_until_the_last_moment():
    request = a_request(alive_since=NOW.timestamp())
    assert refused(EnabledFilter(), request, a_row()) == {}


def test_hosts_of_other_zones_are_refused():
    rows = a_row("h1", availability_zone="a"), a_row("h2", availability_zone="b")
    request = a_request(availability_zone="b")
    assert refused(AvailabilityZoneFilter(), request, *rows) == {
        "h1": "in another availability zone"
    }


def test_a_zone_that_no_host_is_in_refuses_all():
    assert len(refused(AvailabilityZoneFilter(), a_request(availability_zone="x"), a_row())) == 1


def test_who_names_no_zone_may_go_anywhere():
    assert not AvailabilityZoneFilter().applies_to(a_request())


@pytest.mark.parametrize(
    ("each", "wish", "reason"),
    [
        (RamFilter(), {"memory_mb": 1025}, "not enough memory"),
        (CpuFilter(), {"vcpus": 3}, "not enough CPUs"),
        (DiskFilter(), {"root_gb": 5, "ephemeral_gb": 5, "swap": 1}, "not enough disk"),
    ],
)
def test_hosts_without_room_are_refused(each, wish, reason):
    tight = a_row("tight", capacity=(4, 2048, 20), used=(2, 1024, 10))
    request = a_request(flavor=a_flavor(**wish))
    assert refused(each, request, tight, a_row("big")) == {"tight": reason}


@pytest.mark.parametrize("each", [RamFilter(), CpuFilter(), DiskFilter()])
def test_the_last_of_it_may_be_taken(each):
    tight = a_row(capacity=(4, 2048, 20), used=(2, 1024, 10))
    request = a_request(flavor=a_flavor(vcpus=2, memory_mb=1024, root_gb=10))
    assert refused(each, request, tight) == {}


def test_who_takes_no_disk_is_not_asked_about_disk():
    assert not DiskFilter().applies_to(a_request(flavor=a_flavor(root_gb=0)))


def test_only_the_requested_host_and_node_pass():
    rows = a_row("h1", node="n1"), a_row("h2", node="n1"), a_row("h3", node="n3")
    request = a_request(requested_host="h1", requested_node="n1")
    assert refused(RequestedFilter(), request, *rows) == {
        "h2": "not the requested host",
        "h3": "not the requested node",
    }


def test_only_the_requested_cell_passes():
    rows = a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2)
    assert refused(RequestedFilter(), a_request(requested_cell=CELL2), *rows) == {
        "h1": "in another cell than requested"
    }


def test_hosts_to_be_ignored_are_refused_with_all_their_nodes():
    rows = a_row("h1", node="a"), a_row("h1", node="b"), a_row("h2")
    hosts = hosts_of(*rows)
    refusals = RequestedFilter().refuse(a_request(ignore_hosts=["h1"]), hosts)
    assert [r.hosts.tolist() for r in refusals if r.reason == "to be ignored"] == [
        [True, True, False]
    ]


def test_a_node_tried_before_is_refused_its_sister_is_not():
    rows = a_row("h1", node="a"), a_row("h1", node="b"), a_row("h2")
    refusals = RequestedFilter().refuse(a_request(retry=tried(("h1", "a"))), hosts_of(*rows))
    assert refusals[-1].reason == "tried before"
    assert refusals[-1].hosts.tolist() == [True, False, False]


def test_a_host_tried_without_a_node_is_refused_whole():
    rows = a_row("h1", node="a"), a_row("h1", node="b"), a_row("h2")
    refusals = RequestedFilter().refuse(a_request(retry=tried(("h1", None))), hosts_of(*rows))
    assert refusals[-1].hosts.tolist() == [True, True, False]


def test_who_names_no_host_is_not_asked_about_any():
    assert not RequestedFilter().applies_to(a_request(retry=tried()))


def test_cells_that_are_closed_are_refused():
    rows = a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2)
    assert refused(RequestedFilter(), a_request(ignore_cells=[CELL2]), *rows) == {
        "h2": "in a cell that is closed"
    }
