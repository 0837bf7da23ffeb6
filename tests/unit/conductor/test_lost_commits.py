"""Commits whose answers are lost: each step is done again, and nothing is done twice."""

import pytest

from roost import states
from roost.conductor.cell.reschedule import FailedAttempt
from roost.db.api import quota
from roost.db.cell import actions, builds
from tests.builders import CELL1
from tests.fakes.lost_commits import lost_answers
from tests.unit.conductor.test_boot import build_request, instance, mapping
from tests.unit.conductor.test_builds import waiting
from tests.unit.conductor.test_reschedule import ANY, get, under_way
from tests.unit.db.test_cell import an_event


@pytest.fixture(params=[True, False], ids=["committed", "not-committed"])
def forgetful(request):
    """Whether what is committed stays, while every other answer is lost."""

    def lose(*databases):
        return lost_answers(*databases, committed=request.param)

    return lose


def history(database, uuid):
    """Return the one action of an instance, and the names of its events."""
    with database.read() as session:
        (action,) = actions.list_actions(session, uuid)
        events = actions.get(session, uuid, action.request_id).events
    return action, [event.event for event in events]


def test_a_boot_places_each_instance_once(world, forgetful):
    _request, uuids = made = world.build_request(2)
    with forgetful(world.api_db, world.cell1) as lost:
        world.build(made)
    assert min(lost[world.api_db], lost[world.cell1]) >= 2
    assert len(world.casts()) == 2
    for uuid in uuids:
        assert (instance(world.cell1, uuid).host, mapping(world, uuid).cell_uuid) == ("h1", CELL1)
        assert build_request(world, uuid) is None
        _action, events = history(world.cell1, uuid)
        assert sorted(events) == sorted(set(events))
    assert set(world.scheduler.claims) == set(uuids)
    with world.api_db.read() as session:
        assert quota.counted(session)["project"] == quota.usage(session, "project")


def test_an_instance_ends_once(world, forgetful):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    with forgetful(world.cell1):
        assert world.cells.get(CELL1).end_instance(world.context, uuid)
    assert instance(world.cell1, uuid).task_state == states.DELETING
    with world.cell1.read() as session:
        assert [each.action for each in actions.list_actions(session, uuid)] == ["delete", "create"]


def test_a_host_whose_build_begins_hears_so(cell, forgetful):
    made = waiting(cell)
    with forgetful(cell.database):
        assert cell.progress.begin_build(made.uuid, "h1", 1)
        assert not cell.progress.begin_build(made.uuid, "h1", 1)
    assert history(cell.database, made.uuid)[1] == ["cell-conductor.begin_build"]


def test_an_instance_gets_its_ports_and_rests_once(cell, forgetful):
    made = waiting(cell, networks=[ANY])
    cell.progress.begin_build(made.uuid, "h1", 1)
    with forgetful(cell.database):
        info = cell.progress.allocate_networks(made.uuid, "h1", 1)
        changes = {"vm_state": states.ACTIVE, "task_state": None, "network_info": info}
        expected = {"host": "h1", "task_state": states.SPAWNING}
        cell.progress.update(made.uuid, changes, expected, [an_event("compute.spawn")])
    assert get(cell, made.uuid).vm_state == states.ACTIVE
    assert len(info.vifs) == 1
    events = history(cell.database, made.uuid)[1]
    assert sorted(events) == ["cell-conductor.begin_build", "compute.spawn"]
    with cell.database.read() as session:
        assert builds.find(session, made.uuid) is None


def test_a_failed_build_goes_on_to_one_host(cell, forgetful):
    made = under_way(cell)
    with forgetful(cell.database):
        _fail(cell, made)
    assert [server for server, _method, _ in cell.bus.sent] == ["h2"]
    found = get(cell, made.uuid)
    assert (found.host, found.attempt, cell.scheduler.claims[made.uuid]) == ("h2", 2, "h2")
    with cell.database.read() as session:
        assert [tried.host for tried in builds.find(session, made.uuid).tried] == ["h1"]
    events = history(cell.database, made.uuid)[1]
    assert sorted(events) == sorted(set(events))


def _failure(made):
    return FailedAttempt(made.uuid, "h1", 1, "disk on fire", [an_event(result="Error")])


def _fail(cell, made):
    cell.rescheduling.build_elsewhere(cell.context, _failure(made))
