"""Which rules security groups can have, and which of them is meant."""

import pytest

from roost import exception
from roost.security_groups import SecurityGroupRule, checked, default_group, new_group, pick, same
from tests.builders import a_uuid


def a_rule(**values):
    asked = {"id": a_uuid(), "group_id": "g", "direction": "ingress", "ethertype": "IPv4"}
    return SecurityGroupRule(**{**asked, **values})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"protocol": "tcp"},
        {"protocol": "6", "port_min": 1, "port_max": 65535},
        {"protocol": "icmp", "port_min": 0},
        {"protocol": "icmp", "port_min": 8, "port_max": 0},
        {"protocol": "58", "port_min": 128},
        {"protocol": "0"},
        {"protocol": "255"},
        {"protocol": "vrrp", "remote_group_id": "g"},
        {"remote_prefix": "10.0.0.0/8"},
        {"ethertype": "IPv6", "remote_prefix": "fd00::/8"},
    ],
)
def test_a_rule_that_says_one_thing_is_kept_as_it_is(values):
    rule = a_rule(**values)
    assert checked(rule) == rule


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"protocol": "256"}, "not supported"),
        ({"protocol": "0x6"}, "not supported"),
        ({"protocol": "\u0661"}, "not supported"),  # a digit, elsewhere
        ({"protocol": "tcp", "port_max": 5}, "Invalid port range None:5"),
        ({"protocol": "17", "port_min": 5, "port_max": 4}, "Invalid port range 5:4"),
        ({"protocol": "udp", "port_min": 0, "port_max": 4}, "Invalid port range"),
        ({"protocol": "icmp", "port_max": 4}, "without a type"),
        ({"protocol": "icmpv6", "port_min": 4, "port_max": 256}, "ICMP type or code 256"),
        ({"port_min": 4, "port_max": 4}, "protocol that has ports"),
        ({"protocol": "esp", "port_min": 4}, "protocol that has ports"),
        ({"remote_prefix": "ten"}, "Invalid CIDR ten"),
        ({"remote_prefix": "fd00::/8"}, "no range of IPv4"),
        ({"remote_prefix": "10.0.0.0/8", "remote_group_id": "g"}, "Only one"),
    ],
)
def test_a_rule_that_says_nothing_sensible_is_refused(values, why):
    with pytest.raises(exception.Invalid, match=why):
        checked(a_rule(**values))


def test_a_rule_is_kept_as_it_is_meant():
    rule = checked(a_rule(protocol="TCP", remote_prefix="10.1.2.3/8"))
    assert (rule.protocol, rule.remote_prefix) == ("tcp", "10.1.2.3/8")
    assert checked(a_rule(protocol="any")).protocol is None


def test_rules_are_the_same_by_what_they_let_pass():
    assert same(a_rule(), a_rule(description="again"))
    assert not same(a_rule(), a_rule(direction="egress"))
    assert not same(a_rule(), a_rule(protocol="tcp"))
    assert same(a_rule(remote_prefix="10.1.2.3/8"), a_rule(remote_prefix="10.0.0.0/8"))


def test_the_default_group_of_a_project_is_always_the_same_one():
    assert default_group("a") == default_group("a")
    assert default_group("a").id != default_group("b").id


def test_an_id_is_meant_before_a_name_and_a_name_must_be_clear():
    one = new_group("a", name="one", description="")
    other = new_group("a", name=one.id, description="")
    assert pick([other, one], one.id) == one
    with pytest.raises(exception.Conflict, match="Multiple security groups"):
        pick([one, new_group("a", name="one", description="")], "one")
    with pytest.raises(exception.NotFound, match="two not found"):
        pick([one], "two")
