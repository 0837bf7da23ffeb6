"""Hints and server groups."""

import json

import pytest

from roost.scheduler.filters.hints import (
    DifferentHostFilter,
    SameHostFilter,
    SimpleCidrAffinityFilter,
    UnreadHints,
)
from roost.scheduler.filters.json_query import JsonFilter
from roost.scheduler.filters.server_groups import (
    ServerGroupAffinityFilter,
    ServerGroupAntiAffinityFilter,
)
from tests.builders import a_group
from tests.unit.scheduler.host_builders import a_request, a_row
from tests.unit.scheduler.requests import refused

ROWS = a_row("h1"), a_row("h2"), a_row("h3")
HERE = {"i1": [0], "i2": [1]}


def hinting(rows_of=None, **hints):
    return a_request(hints=hints, rows_of=rows_of)


def in_group(counts, policy="anti-affinity", **values):
    return a_request(group=a_group(policy=policy, **values), group_counts=counts)


def test_only_hosts_of_the_instances_to_be_with_pass():
    request = hinting(HERE, same_host=["i1", "i2", "elsewhere"])
    assert refused(SameHostFilter(), request, *ROWS) == {
        "h3": "not the host of an instance of same_host"
    }


def test_with_instances_that_are_nowhere_nobody_can_be():
    request = hinting(HERE, same_host=["elsewhere"])
    found = refused(SameHostFilter(), request, *ROWS)
    assert found == dict.fromkeys(
        ["h1", "h2", "h3"], "none of the instances of same_host is on a host"
    )


def test_hosts_of_the_instances_to_be_away_from_are_refused():
    request = hinting(HERE, different_host=["i2", "elsewhere"])
    assert refused(DifferentHostFilter(), request, *ROWS) == {
        "h2": "the host of an instance of different_host"
    }


def test_a_hint_that_no_filter_in_use_reads_gets_no_host():
    unread = UnreadHints([SameHostFilter()])
    assert refused(unread, hinting(query=["[]"]), *ROWS) == dict.fromkeys(
        ["h1", "h2", "h3"], "the hint query has no effect here: the filter json is not in use"
    )
    for hints in ({}, {"same_host": ["i1"]}, {"of another cloud": ["x"]}):
        assert not unread.applies_to(hinting(HERE, **hints))


@pytest.mark.parametrize(
    ("hints", "passing"),
    [
        ({"build_near_host_ip": ["10.0.0.7"]}, ["a", "b"]),
        ({"build_near_host_ip": ["10.0.0.7"], "cidr": ["/30"]}, ["a"]),
        ({"build_near_host_ip": ["10.0.0.7"], "cidr": ["8"]}, ["a", "b", "c"]),
        ({"build_near_host_ip": ["fd00::9"], "cidr": ["/64"]}, ["d"]),
        ({"build_near_host_ip": ["10.0.0.7"], "cidr": ["/99"]}, []),
        ({"build_near_host_ip": []}, []),
    ],
    ids=str,
)
def test_only_hosts_near_an_address_pass(hints, passing):
    addresses = {"a": "10.0.0.4", "b": "10.0.0.99", "c": "10.1.0.4", "d": "fd00::1", "e": None}
    rows = [a_row(name, host_ip=address) for name, address in addresses.items()]
    found = refused(SimpleCidrAffinityFilter(), hinting(**hints), *rows, a_row("f", host_ip="?"))
    assert sorted(set(addresses) - set(found)) == passing


def test_members_that_must_be_apart_do_not_meet():
    assert refused(ServerGroupAntiAffinityFilter(), in_group({0: 1, 2: 0}), *ROWS) == {
        "h1": "a member of the server group there already"
    }


def test_a_group_may_allow_several_members_on_a_host():
    request = in_group({0: 1, 1: 2}, max_server_per_host=2)
    assert refused(ServerGroupAntiAffinityFilter(), request, *ROWS) == {
        "h2": "2 members of the server group there already"
    }


def test_members_that_must_be_together_go_where_the_first_is():
    request = in_group({1: 1}, "affinity")
    assert refused(ServerGroupAffinityFilter(), request, *ROWS) == dict.fromkeys(
        ["h1", "h3"], "no member of the server group is there"
    )


def test_soft_policies_refuse_nobody():
    for policy in ("soft-affinity", "soft-anti-affinity"):
        request = in_group({0: 1}, policy)
        assert not ServerGroupAffinityFilter().applies_to(request)
        assert not ServerGroupAntiAffinityFilter().applies_to(request)


@pytest.mark.parametrize(
    ("query", "passing"),
    [
        ([">=", "$free_ram_mb", 4096], ["h1"]),
        (["<", "$free_disk_mb", 51200], ["h2"]),
        (["=", "$vcpus_used", 1, 1.0], ["h1"]),
        (["in", "$host", "h2", "h9"], ["h2"]),
        (["=", "$hypervisor_type", "xen"], ["h2"]),
        (["=", "$capabilities.nic", "fast"], ["h1"]),
        (["not", [">", "$hypervisor_version", 5]], ["h2"]),
        (["and", ["=", "$nodename", "h1"], [">", "$free_ram_mb", 10**9]], []),
        (["or", ["=", "$nodename", "h1"], ["<=", "$free_ram_mb", 1024]], ["h1", "h2"]),
        (["=", "$host", 1], []),
        (["=", 1, 1], ["h1", "h2"]),
    ],
    ids=json.dumps,
)
def test_hosts_must_meet_the_query(query, passing):
    rows = (
        a_row("h1", hypervisor_version=9, capabilities={"nic": "fast"}, used={"vcpus": 1}),
        a_row("h2", memory_mb=1024, disk_gb=20, hypervisor_type="xen"),
    )
    found = refused(JsonFilter(), hinting(query=[json.dumps(query)]), *rows)
    assert sorted({"h1", "h2"} - set(found)) == passing
    assert set(found.values()) <= {"does not meet the query"}


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("[", "it is not JSON"),
        ("[" * 5000, "it is not JSON"),
        ("1" * 9000, "it is longer than 8192 characters"),
        ('{"a": 1}', '{"a": 1.0} is not a list that begins with an operator'),
        ("[]", "[] is not a list that begins with an operator"),
        ('["xor", 1, 2]', '"xor" is no operator'),
        ("[[1], 2]", "[1.0] is no operator"),
        ('["and"]', "and needs queries"),
        ('["not", ["=", 1, 1], ["=", 1, 1]]', "not needs one query"),
        ('["=", 1]', "= needs two values"),
        ('["=", "$password", 1]', "hosts have no value named password"),
        ('["=", [1], 1]', "[1.0] is neither a number nor a text"),
        ('["=", true, 1]', "true is neither a number nor a text"),
        ('["not", ' * 20 + '["=", 1, 1]' + "]" * 20, "it is nested too deep"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_wrong_with_a_query_is_told(query, wrong):
    found = refused(JsonFilter(), hinting(query=[query]), *ROWS)
    assert set(found.values()) == {f"the query cannot be read: {wrong}"}
    assert len(found) == 3
