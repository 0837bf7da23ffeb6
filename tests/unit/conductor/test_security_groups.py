"""Security groups on their way: from the API level to cells, from there to hosts, and no stop."""

import dataclasses
import threading
from concurrent import futures

import pytest

from roost import exception, states
from roost.cells import security_groups as filtering_flow
from roost.cells.security_groups import GroupCopies
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.db.api import instance_mappings, security_groups
from roost.db.cell import instances, ports
from roost.db.cell import security_groups as cell_security_groups
from roost.db.types import utcnow
from roost.networks import parse
from roost.objects import NetworkRequest
from roost.objects.mapping import CELL0_UUID
from roost.rpc.compute import Compute
from roost.security_groups import INGRESS, SecurityGroupRule, default_group, new_group
from tests.builders import CELL1, CELL2, a_context, a_uuid, an_instance
from tests.fakes.bus import RecordingBus
from tests.operation_rows import begin_delete
from tests.stories.cloud import wait_until
from tests.unit.conductor.placements import end_leases

NETWORKS = parse(["private=10.0.0.0/24", "other=10.0.1.0/24"])
REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


def a_server(database, host, *groups, project_id="project", network=NETWORKS[0], **values):
    """A server that lives on a host, with one address there."""
    made = an_instance(
        host=host, project_id=project_id, security_groups=list(groups or ["default"]), **values
    )
    with database.begin() as session:
        instances.create(session, made)
        info = ports.allocate(
            session,
            instance_uuid=made.uuid,
            host=host,
            requests=[REQUEST],
            networks=[network],
        )
    (vif,) = info.vifs
    return made.uuid, vif


def mapped(world, cell_uuid=None):
    """Map a server of the project to a cell; None: it is on its way."""
    _, (uuid,) = world.build_request()
    with world.api_db.begin() as session:
        instance_mappings.map_to_cell(session, uuid, cell_uuid)


def a_group(database, name="web", project_id="project"):
    group = new_group(project_id, name=name, description="")
    with database.begin() as session:
        security_groups.create(session, group, at=utcnow())
    return group


def a_rule(database, group):
    rule = SecurityGroupRule(id=a_uuid(), group_id=group.id, direction=INGRESS, ethertype="IPv4")
    with database.begin() as session:
        security_groups.add_rule(session, rule, at=utcnow())
    return rule


def told(bus):
    """Which hosts were told, and of whose groups."""
    return [
        (server, arguments["project_id"])
        for server, method, arguments in bus.sent
        if method == "refresh_security_groups"
    ]


@pytest.fixture
def copies(world):
    return GroupCopies(world.api_db, world.cells)


def brought(database):
    with database.read() as session:
        return {
            project: {group.name: len(group.rules) for group in groups}
            for project, groups in cell_security_groups.copies(session).items()
        }


def test_cells_know_a_projects_groups_and_its_hosts_are_told(world, copies):
    mapped(world, CELL1)
    a_server(world.cell1, "h1")
    a_server(world.cell1, "h2", project_id="other")
    group = a_group(world.api_db)
    a_rule(world.api_db, group)
    copies.spread(a_context(), "project")
    assert [brought(world.databases[uuid]) for uuid in (CELL1, CELL0_UUID)] == [
        {"project": {"web": 3}},
        {},
    ]
    assert told(world.buses["fake://cell1/"]) == [("h1", "project")]
    assert told(world.buses["fake://cell2/"]) == []


def test_only_the_cells_of_a_projects_servers_are_asked_for_anything(world, copies):
    mapped(world, CELL2)
    a_group(world.api_db)
    copies.spread(a_context(), "project")
    copies.spread(a_context(), "nobody's")
    assert brought(world.cell1) == {}
    assert brought(world.databases[CELL2]) == {"project": {"web": 2}}


def test_while_a_server_is_on_its_way_all_cells_know_what_has_changed(world, copies):
    mapped(world, CELL2)
    mapped(world)
    a_group(world.api_db)
    copies.spread(a_context(), "project")
    assert brought(world.cell1) == brought(world.databases[CELL2]) == {"project": {"web": 2}}


def test_a_cell_that_is_away_does_not_keep_others_from_knowing(world, copies, monkeypatch):
    mapped(world, CELL1)
    mapped(world, CELL2)
    a_group(world.api_db)
    second = world.databases[CELL2]

    def away(cell, project_id, groups, bring=filtering_flow._bring):
        if cell.uuid == CELL1:
            raise exception.Unavailable("away")
        bring(cell, project_id, groups)

    monkeypatch.setattr(filtering_flow, "_bring", away)
    copies.spread(a_context(), "project")
    assert (brought(world.cell1), brought(second)) == ({}, {"project": {"web": 2}})


def test_of_many_changes_at_once_hosts_are_told_once_more_after_the_last(
    world, copies, monkeypatch
):
    a_server(world.cell1, "h1")
    mapped(world, CELL1)
    asked, go_on, list_groups = [], threading.Event(), security_groups.list_groups

    def slowly(*arguments):
        asked.append(arguments)
        assert go_on.wait(10)
        return list_groups(*arguments)

    monkeypatch.setattr(security_groups, "list_groups", slowly)
    with futures.ThreadPoolExecutor(9) as pool:
        changes = [pool.submit(copies.spread, a_context(), "project") for _ in range(9)]
        wait_until(lambda: sum(one.done() for one in changes) == 8, "nobody to wait for another")
        go_on.set()
    assert [one.exception() for one in changes] == [None] * 9
    assert len(told(world.buses["fake://cell1/"])) == 2


def test_after_one_that_failed_changes_are_spread_again(world, copies, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(instance_mappings, "cells_of_project", lambda *_arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            copies.spread(a_context(), "project")
    a_server(world.cell1, "h1")
    mapped(world, CELL1)
    copies.spread(a_context(), "project")
    assert told(world.buses["fake://cell1/"])


def test_what_a_cell_has_missed_is_found_by_comparing(world, copies):
    a_server(world.cell1, "h1")
    group = a_group(world.api_db)
    copies.bring(world.cells.get(CELL1), "project")
    copies.compare()
    assert told(world.buses["fake://cell1/"]) == []
    a_rule(world.api_db, group)
    a_group(world.api_db, project_id="nobody's here")
    a_group(world.api_db, project_id="new here")
    a_server(world.cell1, "h2", project_id="new here")
    copies.compare()
    assert brought(world.cell1) == {"project": {"web": 3}, "new here": {"web": 2}}
    assert told(world.buses["fake://cell1/"]) == [("h2", "new here"), ("h1", "project")]


def test_no_host_builds_a_server_whose_groups_its_cell_does_not_know(world, copies, monkeypatch):
    a_group(world.api_db)
    world.boots = dataclasses.replace(world.boots, groups=copies)
    request = world.build_request(count=2)
    bus = world.buses["fake://cell1/"]
    with monkeypatch.context() as patched:
        patched.setattr(filtering_flow, "_bring", fail)
        world.build(request)
    assert bus.sent == []
    world.sweeper = dataclasses.replace(world.sweeper, boots=world.boots)
    end_leases(world)
    world.sweeper.take_up_requests()
    assert brought(world.cell1) == {"project": {"web": 2}}
    assert bus.methods() == ["build_and_run_instance"] * 2


def fail(*_):
    raise exception.Unavailable("away")


@pytest.fixture
def bus():
    return RecordingBus()


@pytest.fixture
def filterings(cell_db, bus):
    return HostSecurityGroups(cell_db, Compute(bus), filters=True)


def bring(database, *groups, project_id="project"):
    with database.begin() as session:
        cell_security_groups.bring(session, project_id, groups)


def test_a_host_is_told_of_its_networks_and_of_members_there(cell_db, filterings):
    default = default_group("project")
    bring(cell_db, default)
    _, here = a_server(cell_db, "h1")
    _, there = a_server(cell_db, "h2")
    a_server(cell_db, "h2", network=NETWORKS[1])
    _, strange = a_server(cell_db, "h2", project_id="other")
    found = filterings.describe("h1", [network.id for network in NETWORKS])
    assert found[NETWORKS[0].id]["ports"] == {here.id: [default.id]}
    assert found[NETWORKS[0].id]["members"] == {default.id: sorted([here.ip, there.ip])}
    assert repr(strange.ip) not in str(found)
    assert found[NETWORKS[1].id] == {"ports": {}, "rules": {}, "members": {}}


def test_hosts_are_told_when_the_addresses_of_a_projects_servers_change(cell_db, filterings, bus):
    uuid, _ = a_server(cell_db, "h1")
    a_server(cell_db, "h2")
    a_server(cell_db, "h3", project_id="other")
    with filterings.changing(a_context(), uuid, host="h1"):
        assert told(bus) == []
    assert told(bus) == [("h2", "project")]
    with filterings.changing(a_context(), uuid):
        pass
    assert told(bus)[1:] == [("h1", "project"), ("h2", "project")]


def test_a_change_is_done_though_no_host_can_be_told(cell_db, filterings, bus):
    uuid, _ = a_server(cell_db, "h1")
    bus.away = True
    with filterings.changing(a_context(), uuid):
        pass
    assert told(bus) == []


def test_hosts_are_told_of_a_server_that_is_buried_without_its_host(cell):
    uuid, _ = a_server(cell.database, "h1", vm_state=states.ACTIVE, task_state=None)
    begin_delete(cell.database, uuid)
    a_server(cell.database, "h2", vm_state=states.ACTIVE, task_state=None)
    cell.filters = True
    cell.down = {"h1"}
    for _ in range(2):  # the first one gives it a lease, which is over at once
        cell.sweep()
    with cell.database.read() as session:
        assert instances.find(session, uuid) is None
    assert told(cell.bus) == [("h2", "project")]
