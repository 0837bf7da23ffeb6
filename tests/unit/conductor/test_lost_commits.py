"""Commits whose answers are lost: each step is done again, and nothing is done twice."""

import pytest

from roost import states
from roost.db.api import quota
from roost.db.cell import actions
from tests.builders import CELL1
from tests.fakes.lost_commits import lost_answers
from tests.unit.conductor.test_boot import build_request, instance, mapping
from tests.unit.conductor.test_builds import activate, begin, waiting
from tests.unit.conductor.test_reschedule import ANY, end_leases, fail, get, row, under_way
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
    assert lost[world.api_db] >= 2
    assert lost[world.cell1] >= 1
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
        assert begin(cell, made.uuid)
    assert history(cell.database, made.uuid)[1] == ["cell-conductor.begin_build"]


def test_an_instance_gets_its_ports_and_rests_once(cell, forgetful):
    made = waiting(cell, networks=[ANY])
    assert begin(cell, made.uuid)
    with forgetful(cell.database):
        info = cell.interfaces.allocate(made.uuid, "h1", 1)
        activate(cell, made.uuid, info=info, events=[an_event("compute.spawn")])
    assert get(cell, made.uuid).vm_state == states.ACTIVE
    assert len(info.vifs) == 1
    events = history(cell.database, made.uuid)[1]
    assert sorted(events) == ["cell-conductor.begin_build", "compute.spawn"]
    assert row(cell, made.uuid) is None


def test_a_failed_build_goes_on_to_one_host(cell, forgetful):
    made = under_way(cell)
    with forgetful(cell.database):
        fail(cell, made.uuid)
    if cell.bus.sent == []:  # it was noted, and who noted it does not know that
        end_leases(cell)
        cell.sweep()
    assert [server for server, _method, _ in cell.bus.sent] == ["h2"]
    found = get(cell, made.uuid)
    assert (found.host, found.attempt, cell.scheduler.claims[made.uuid]) == ("h2", 2, "h2")
    assert [tried.host for tried in row(cell, made.uuid).params.tried] == ["h1"]
    events = history(cell.database, made.uuid)[1]
    assert sorted(events) == sorted(set(events))
