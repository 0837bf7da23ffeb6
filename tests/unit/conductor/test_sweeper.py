"""Rows are the truth: what messages lost is found again."""

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.db.api import instance_mappings, models
from roost.db.cell import instances
from tests.builders import CELL1
from tests.unit.conductor.placements import end_host_leases
from tests.unit.conductor.test_boot import instance, mapping
from tests.unit.conductor.test_reschedule import end_leases, fail


def test_a_wish_whose_hint_was_lost_is_built_all_the_same(world):
    _request, (uuid,) = world.build_request()
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).host == "h1"


def test_wishes_of_one_request_are_taken_up_together(world):
    world.build_request(3)
    world.build_request(2)
    world.sweeper.sweep()
    assert sorted(len(uuids) for _spec, uuids in world.scheduler.asked) == [2, 3]


def queue(world, uuid):
    with world.api_db.begin() as session:
        instance_mappings.queue_for_delete(session, uuid)


def test_a_delete_that_did_not_reach_the_cell_is_carried_there(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    queue(world, uuid)
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).task_state == states.DELETING
    assert world.casts()[-1][:2] == ("h1", "run")
    who = world.buses["fake://cell1/"].contexts[-1]
    assert (who.project_id, who.is_admin) == ("project", False)


def test_the_mapping_of_a_buried_instance_is_forgotten(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    queue(world, uuid)
    with world.cell1.begin() as session:
        instances.mark_deleted(session, uuid)
    world.sweeper.sweep()
    assert mapping(world, uuid) is None


@pytest.fixture
def buried(world):
    """The mappings of many instances that their cell has deleted."""
    _request, uuids = made = world.build_request(14)
    world.build(made)
    for uuid in uuids:
        queue(world, uuid)
    with world.cell1.begin() as session:
        for uuid in uuids:
            instances.mark_deleted(session, uuid)
    return [mapping(world, uuid) for uuid in uuids]


def left(world):
    """Return how many mappings, request specs and records of deleted instances there are."""
    counted = [models.instance_mappings, models.request_specs, models.deleted_mappings]
    with world.api_db.read() as session:
        return [session.scalar(sa.select(sa.func.count()).select_from(table)) for table in counted]


def test_the_mappings_of_many_buried_instances_are_forgotten_together(world, buried):
    sent = []

    @sa.event.listens_for(world.api_db.engine, "before_cursor_execute")
    def note(_connection, _cursor, statement, *_):
        sent.append(statement)

    world.sweeper.finish_deletes()
    assert sum(one.startswith("DELETE FROM instance_mappings") for one in sent) == 1
    assert left(world) == [0, 0, len(buried)]


def test_a_sweep_that_finds_some_mappings_forgotten_forgets_the_others(world, buried):
    with world.api_db.begin() as session:
        instance_mappings.forget(session, buried[3].instance_uuid)
    with pytest.raises(exception.Conflict):
        world.api_db.write(instance_mappings.forget_queued, buried)
    assert left(world) == [len(buried) - 1, 1, 1]
    world.sweeper._forget(buried)
    assert left(world) == [0, 0, len(buried)]


def test_the_mapping_of_an_instance_that_still_ends_is_kept(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    queue(world, uuid)
    for _ in range(2):
        world.sweeper.sweep()
    assert mapping(world, uuid) is not None
    assert [method for _, method, _ in world.casts()].count("run") == 1


@pytest.fixture
def cell1(world, make_cell):
    """The first cell's own conductor."""
    return make_cell(
        world.cell1,
        scheduler=world.scheduler,
        bus=world.buses["fake://cell1/"],
        notifier=world.notifier,
    )


def test_a_host_that_did_not_begin_is_told_again(world, cell1):
    world.build(world.build_request())
    assert len(cell1.bus.sent) == 1
    end_host_leases(world.cell1)
    cell1.sweep()
    assert cell1.bus.methods() == ["build_and_run_instance"] * 2
    assert [sent[2]["operation"].given for sent in cell1.bus.sent][1:] == [None]


def on_two_hosts(world):
    """Instances whose hosts have not heard of them; nobody listens on the first host."""
    world.scheduler.room = {"h1": 1, "h2": 1}
    bus = world.buses["fake://cell1/"]
    bus.deaf = {"h1"}
    _request, uuids = made = world.build_request(2)
    world.build(made)
    bus.sent.clear()
    return bus, uuids


def test_a_dead_host_does_not_keep_the_builds_of_others_waiting(world, cell1):
    bus, _uuids = on_two_hosts(world)
    end_host_leases(world.cell1)
    cell1.sweep()
    assert [sent[:2] for sent in bus.sent] == [("h2", "build_and_run_instance")]


def test_a_host_keeps_the_lease_that_it_got_with_its_build(world, cell1):
    world.build(world.build_request())
    cell1.sweep()
    assert cell1.bus.methods() == ["build_and_run_instance"]
    (_host, _method, sent) = cell1.bus.sent[0]
    with world.cell1.read() as session:
        row = session.execute(sa.text("SELECT created_at, lease_until FROM operations")).one()
    given = sent["operation"].given
    assert (given.until - given.since).total_seconds() == 30
    assert row.lease_until != row.created_at


def test_a_dead_host_does_not_keep_the_deletes_of_others_waiting(world, cell1):
    bus, uuids = on_two_hosts(world)
    bus.deaf = {"h1", "h2"}
    for uuid in uuids:
        world.cells.get(CELL1).end_instance(world.context, uuid)
    bus.deaf = {"h1"}
    for _ in range(2):
        cell1.sweep()
    assert [sent[:2] for sent in bus.sent] == [("h2", "run")] * 2


def test_a_build_whose_reschedule_was_cut_short_goes_on_to_the_next_host(world, cell1):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    world.scheduler.away = True
    fail(cell1, uuid)
    world.scheduler.away = False
    end_leases(cell1)
    cell1.sweep()
    found = instance(world.cell1, uuid)
    assert (found.host, found.attempt, world.scheduler.claims[uuid]) == ("h2", 2, "h2")
    assert [server for server, _, _ in world.casts()] == ["h1", "h2"]


def test_an_accident_with_one_request_does_not_keep_the_others_waiting(world):
    requests = dict([world.build_request(), world.build_request()])
    choose = world.scheduler.select_destinations

    def stumble(context, **asked):
        if asked["request_spec"].request_uuid == min(requests):
            raise ValueError("on purpose")
        return choose(context, **asked)

    world.scheduler.select_destinations = stumble
    world.sweeper.sweep()
    assert instance(world.cell1, requests[max(requests)][0]).host == "h1"


def test_an_instance_that_lost_its_host_while_it_was_deleted_is_buried(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    world.cells.get(CELL1).end_instance(world.context, uuid)
    with world.cell1.begin() as session:
        instances.update(session, uuid, {"host": None}, expected={})
    queue(world, uuid)
    for _ in range(2):
        world.sweeper.sweep()
    assert instance(world.cell1, uuid) is None
    assert mapping(world, uuid) is None
