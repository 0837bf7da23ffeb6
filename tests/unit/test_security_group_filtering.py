"""What hosts are told of security groups follows from who is in them, network by network."""

import dataclasses
import json

from roost.security_groups import (
    EGRESS,
    INGRESS,
    Filtering,
    GroupMember,
    SecurityGroupRule,
    default_group,
    group_as_dict,
    new_group,
    on_host,
    read_group,
)

DEFAULT = default_group("one")
WEB = dataclasses.replace(
    new_group("one", name="web", description=""),
    rules=(
        SecurityGroupRule(id="r1", group_id="web", direction=EGRESS, ethertype="IPv4"),
        SecurityGroupRule(
            id="r2",
            group_id="web",
            direction=INGRESS,
            ethertype="IPv4",
            protocol="tcp",
            port_min=80,
            port_max=80,
            remote_group_id=DEFAULT.id,
        ),
    ),
)


def member(last, *groups, project="one", host="h1"):
    return GroupMember(
        f"port{last}", project, "net", f"10.0.0.{last}", host, groups or ("default",)
    )


def test_a_host_is_told_of_its_own_ports_and_of_members_wherever_they_are():
    told = on_host(
        [member(5), member(6, "web"), member(7, host="h2"), member(8, "web", host="h2")],
        {"one": [DEFAULT, WEB]},
        host="h1",
    )
    assert told.ports == {"port5": [DEFAULT.id], "port6": [WEB.id]}
    assert told.members == {DEFAULT.id: ["10.0.0.5", "10.0.0.7"]}
    assert {rule.id for rule in told.of_port("port6", INGRESS)} == {"r2"}
    assert {rule.id for rule in told.of_port("port6", EGRESS)} == {"r1"}


def test_a_project_of_which_no_group_was_brought_has_its_default_group():
    told = on_host([member(5)], {}, host="h1")
    assert told.of_port("port5", INGRESS) == [
        rule for rule in DEFAULT.rules if rule.direction == INGRESS
    ]
    assert told.members == {DEFAULT.id: ["10.0.0.5"]}


def test_groups_of_one_name_of_two_projects_are_two():
    told = on_host([member(5), member(6, project="two")], {}, host="h1")
    assert told.members == {
        DEFAULT.id: ["10.0.0.5"],
        default_group("two").id: ["10.0.0.6"],
    }


def test_a_group_that_is_not_known_here_yet_lets_nothing_pass():
    told = on_host([member(5, "new")], {"one": [DEFAULT]}, host="h1")
    assert (told.ports, told.rules, told.members) == ({"port5": []}, {}, {})


def test_a_server_that_has_left_all_groups_is_let_nothing_pass():
    alone = dataclasses.replace(member(5), groups=[])
    told = on_host([alone, member(6)], {"one": [WEB]}, host="h1")
    assert (told.of_port("port5", EGRESS), told.members) == ([], {DEFAULT.id: ["10.0.0.6"]})


def test_messages_and_rows_carry_all_of_it():
    told = on_host([member(5), member(6, "web")], {"one": [DEFAULT, WEB]}, host="h1")
    assert Filtering.read(json.loads(json.dumps(told.as_dict()))) == told
    assert read_group(json.loads(json.dumps(group_as_dict(WEB)))) == WEB
