"""Rows are the truth: what messages lost is found again."""

from roost import states
from roost.conductor.sweeper import CellSweeper
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.rpc.compute import Compute
from tests.builders import CELL1
from tests.unit.conductor.test_boot import instance, mapping


def test_a_wish_whose_hint_was_lost_is_built_all_the_same(world):
    _request, (uuid,) = world.wish()
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).host == "h1"


def test_wishes_of_one_request_are_taken_up_together(world):
    world.wish(3)
    world.wish(2)
    world.sweeper.sweep()
    assert sorted(len(uuids) for _spec, uuids in world.scheduler.asked) == [2, 3]


def queue(world, uuid):
    with world.api_db.begin() as session:
        instance_mappings.queue_for_delete(session, uuid)


def test_a_delete_that_did_not_reach_the_cell_is_carried_there(world):
    _request, (uuid,) = made = world.wish()
    world.build(made)
    queue(world, uuid)
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).task_state == states.DELETING
    assert world.casts()[-1][:2] == ("h1", "terminate_instance")


def test_the_mapping_of_a_buried_instance_is_forgotten(world):
    _request, (uuid,) = made = world.wish()
    world.build(made)
    queue(world, uuid)
    with world.cell1.begin() as session:
        instances.bury(session, uuid)
    world.sweeper.sweep()
    assert mapping(world, uuid) is None


def test_the_mapping_of_an_instance_that_still_ends_is_kept(world):
    _request, (uuid,) = made = world.wish()
    world.build(made)
    queue(world, uuid)
    for _ in range(2):
        world.sweeper.sweep()
    assert mapping(world, uuid) is not None
    assert [method for _, method, _ in world.casts()].count("terminate_instance") == 1


def test_a_host_that_did_not_begin_is_told_again(world):
    world.build(world.wish())
    bus = world.buses["fake://cell1/"]
    sweeper = CellSweeper(world.cell1, Compute(bus), lease_seconds=-1)
    sweeper.sweep()
    assert len(bus.sent) == 1
    sweeper.sweep()
    assert bus.methods() == ["build_and_run_instance"] * 2


def test_a_host_that_did_not_end_an_instance_is_told_again(world):
    _request, (uuid,) = made = world.wish()
    world.build(made)
    world.cells.get(CELL1).end_instance(world.context, uuid)
    bus = world.buses["fake://cell1/"]
    CellSweeper(world.cell1, Compute(bus), lease_seconds=60).sweep()
    assert bus.methods().count("terminate_instance") == 1
    CellSweeper(world.cell1, Compute(bus), lease_seconds=-1).sweep()
    assert bus.methods().count("terminate_instance") == 2
