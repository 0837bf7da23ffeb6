"""Placements that more than one worker did, or that nobody knows whether they were done."""

import pytest

from roost import exception, states
from roost.conductor.super import boot
from roost.db.api import build_requests
from roost.db.cell import instances
from tests.builders import CELL1, CELL2, an_instance
from tests.unit.conductor.placements import (
    assert_placed,
    build_request,
    end_leases,
    instance,
    mapping,
    run_with,
)


def test_a_worker_that_outlives_its_lease_takes_nothing_from_the_next_one(world):
    _request, (uuid,) = made = world.build_request()
    workers = []

    def slow(work):
        boot.find_cell(work)
        workers.append(work)
        if len(workers) == 1:
            end_leases(world)
            world.build(made)

    run_with(world, {"find_cell": slow}, made)
    assert len(workers) == 2
    assert_placed(world, uuid)
    assert len(world.casts()) == 1


def test_a_placement_whose_commit_was_not_heard_of_stands(world):
    _request, (uuid,) = made = world.build_request()

    def unheard(work):
        boot.point_mappings_to_cell(work)
        raise exception.Unavailable("the connection broke")

    run_with(world, {"point_mappings_to_cell": unheard}, made)
    assert_placed(world, uuid)


def test_an_instance_that_may_be_in_its_cell_keeps_its_claim_for_the_next_try(world):
    _request, (uuid,) = made = world.build_request()

    def unheard(work):
        boot.create_in_cell(work)
        raise exception.Unavailable("the connection broke")

    def away(_work):
        raise exception.Unavailable("the cell is away")

    run_with(world, {"create_in_cell": unheard, "remove_from_cell": away}, made)
    assert world.scheduler.claims == {uuid: "h1"}
    end_leases(world)
    world.scheduler.room = {"h2": 10, "h1": 10}
    world.build(made)
    assert_placed(world, uuid)
    assert instance(world.cell1, uuid).host == "h1"


def in_doubt(world, *, created):
    """A wish whose cell went away while it was created there, and whose claim ran out since."""
    _request, (uuid,) = made = world.build_request()

    def break_off(work):
        if created:
            boot.create_in_cell(work)
        work.tasks[0].created = True
        raise exception.Unavailable("the connection broke")

    def away(_work):
        raise exception.Unavailable("the cell is away")

    run_with(world, {"create_in_cell": break_off, "remove_from_cell": away}, made)
    world.scheduler.expire(uuid)
    world.scheduler.room, world.scheduler.cells = {"new-cell2": 1}, {"new-cell2": CELL2}
    end_leases(world)
    return made


@pytest.mark.parametrize("created", [True, False])
def test_a_wish_that_a_cell_may_have_waits_while_that_cell_is_away(world, monkeypatch, created):
    _request, (uuid,) = made = in_doubt(world, created=created)

    def away(*_args, **_kwargs):
        raise exception.Unavailable("the database is away")

    with monkeypatch.context() as trouble:
        trouble.setattr(world.cell1, "read", away)
        world.build(made)
    assert len(world.scheduler.asked) == 1
    assert world.scheduler.claims == {}
    assert build_request(world, uuid) is not None


def test_a_wish_that_its_cell_has_after_all_stays_there_though_its_claim_ran_out(world):
    _request, (uuid,) = made = in_doubt(world, created=True)
    world.build(made)
    assert mapping(world, uuid).cell_uuid == CELL1
    assert build_request(world, uuid) is None
    assert instance(world.databases[CELL2], uuid) is None
    assert len(world.scheduler.asked) == 1


def test_a_wish_that_its_cell_has_not_goes_wherever_there_is_room(world):
    _request, (uuid,) = made = in_doubt(world, created=False)
    world.build(made)
    assert mapping(world, uuid).cell_uuid == CELL2
    assert instance(world.databases[CELL2], uuid).host == "new-cell2"


def test_a_wish_that_another_worker_holds_is_created_nowhere(world):
    _request, (uuid,) = made = world.build_request()
    choose = world.scheduler.select_destinations

    def slow(*args, **kwargs):
        with world.api_db.begin() as session:
            session.execute(build_requests._requests.update().values(lease_owner="another"))
        return choose(*args, **kwargs)

    world.scheduler.select_destinations = slow
    world.build(made)
    assert instance(world.cell1, uuid) is None
    assert world.scheduler.claims == {uuid: "h1"}
    assert build_request(world, uuid).cell_uuid is None


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("cell_uuid", [CELL1, CELL2])
def test_a_request_that_came_back_with_an_old_copy_builds_nothing_again(world, deleted, cell_uuid):
    """Neither of a server that is there, wherever that is, nor of one that is deleted."""
    _request, (uuid,) = world.build_request()
    with world.databases[cell_uuid].begin() as session:
        instances.create(session, an_instance(uuid=uuid, vm_state=states.ACTIVE, task_state=None))
        if deleted:
            instances.mark_deleted(session, uuid)
    world.sweeper.sweep()
    assert world.scheduler.asked == []
    assert mapping(world, uuid).cell_uuid == cell_uuid
