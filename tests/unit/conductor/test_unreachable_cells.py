"""Boots and deletes while cells are away: elsewhere, later, never twice."""

import datetime
import time

import pytest

from roost import exception, states
from roost.conductor.super import boot
from roost.conductor.super.boot_service import BootService
from roost.db.api import build_requests, cells, instance_mappings
from roost.db.cell import instances
from roost.objects.mapping import CELL0_UUID
from tests.builders import CELL1, CELL2, NOW
from tests.unit.conductor.placements import build_request, end_leases, instance, mapping, run_with


@pytest.fixture
def world(world):
    """The first choice of the scheduler is in the first cell, the second in the other."""
    with world.api_db.begin() as session:
        cells.map_host(session, "west", CELL2)
    world.scheduler.room = {"h1": 10, "west": 10}
    world.scheduler.cells = {"west": CELL2}
    respects_cells(world.scheduler)
    return world


def respects_cells(scheduler):
    """Let the fake refuse hosts of cells that are to be ignored."""
    choose = scheduler._choose

    def choose_elsewhere(spec, uuid, alternates):
        closed = [h for h in scheduler.room if scheduler.cells.get(h, CELL1) in spec.ignore_cells]
        kept, spec.ignore_hosts = spec.ignore_hosts, [*spec.ignore_hosts, *closed]
        try:
            return choose(spec, uuid, alternates)
        finally:
            spec.ignore_hosts = kept

    scheduler._choose = choose_elsewhere


class Away:
    """A cell whose database is away, until it is brought back."""

    def __init__(self, world, cell_uuid=CELL1):
        self.cell = world.cells.get(cell_uuid)
        self._database = world.databases[cell_uuid]
        self._real = self._database.read, self._database.begin
        self._database.read = self._database.begin = self._fail

    def _fail(self):
        raise exception.Unavailable("no route")

    def notice(self):
        """Let everybody in this process know."""
        with pytest.raises(exception.Unavailable), self.cell.database.read():
            pass
        return self

    def back(self):
        self._database.read, self._database.begin = self._real
        while not self.cell.is_readable:
            time.sleep(0.01)


@pytest.fixture
def away(world):
    gone = []

    def take(cell_uuid=CELL1):
        gone.append(Away(world, cell_uuid))
        return gone[-1]

    yield take
    for one in gone:
        one.back()


def test_a_cell_that_is_known_to_be_away_is_not_chosen(world, away):
    away().notice()
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    assert instance(world.databases[CELL2], uuid).host == "west"
    assert world.scheduler.asked[0][0].ignore_cells == [CELL1]


def test_wishes_for_a_cell_that_turns_out_to_be_away_go_elsewhere_at_once(world, away):
    away()
    _request, uuids = made = world.build_request(3)
    world.build(made)
    assert {mapping(world, uuid).cell_uuid for uuid in uuids} == {CELL2}
    assert set(world.scheduler.claims.values()) == {"west"}
    assert len(world.scheduler.asked) == 2


def test_a_commit_that_nobody_heard_of_keeps_its_wish_in_that_cell(world, away):
    _request, (uuid,) = made = world.build_request()

    def unheard(work):
        boot.create_in_cell(work)
        away().notice()
        raise exception.Lost("the connection broke")

    run_with(world, {"create_in_cell": unheard}, made)
    assert build_request(world, uuid).cell_uuid == CELL1
    assert world.scheduler.claims[uuid] == "h1"
    end_leases(world)
    world.build(made)
    assert build_request(world, uuid).cell_uuid == CELL1
    assert len(world.scheduler.asked) == 1


def test_the_sweeper_leaves_wishes_alone_that_a_cell_may_have_which_is_away(
    world, away, monkeypatch
):
    _request, (uuid,) = world.build_request()
    with world.api_db.begin() as session:
        build_requests.lease(session, owner="dead", seconds=-1, instance_uuids=[uuid])
        build_requests.target_cell(session, {uuid: CELL1}, owner="dead")
    away().notice()
    monkeypatch.setattr(BootService, "build", None)  # which would be called
    world.sweeper.sweep()
    assert build_request(world, uuid) is not None


def test_what_fits_nowhere_else_waits_for_the_cell(world, away):
    gone = away().notice()
    world.scheduler.room["west"] = 0
    _request, (uuid,) = made = young(world)
    world.build(made)
    assert build_request(world, uuid) is not None
    gone.back()
    world.sweeper.sweep()
    assert mapping(world, uuid).cell_uuid == CELL1


def test_but_not_for_ever(world, away):
    away().notice()
    world.scheduler.room["west"] = 0
    _request, (uuid,) = made = world.build_request()  # of long ago
    assert datetime.datetime.now(datetime.UTC) - NOW > datetime.timedelta(minutes=5)
    world.build(made)
    assert instance(world.cell0, uuid).vm_state == states.ERROR
    assert mapping(world, uuid).cell_uuid == CELL0_UUID


def young(world):
    """Wish for something just now."""
    made = world.build_request()
    table = build_requests._requests
    with world.api_db.begin() as session:
        session.execute(table.update().values(created_at=datetime.datetime.now(datetime.UTC)))
    return made


def queue(world, uuid):
    with world.api_db.begin() as session:
        instance_mappings.queue_for_delete(session, uuid)


def test_a_delete_is_carried_out_when_its_cell_is_back(world, away):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    gone = away().notice()
    queue(world, uuid)
    world.sweeper.sweep()
    assert mapping(world, uuid).queued_for_delete
    gone.back()
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).task_state == states.DELETING
    assert world.casts()[-1][:2] == ("h1", "run")


def test_a_wish_that_was_deleted_while_nobody_can_tell_who_has_it_ends_later(world, away):
    """A worker died between creating its row and pointing to it."""
    _request, (uuid,) = made = world.build_request()
    gone = []

    def die(work):
        boot.create_in_cell(work)
        gone.append(away().notice())
        raise exception.Lost("the connection broke")

    run_with(world, {"create_in_cell": die}, made)
    with world.api_db.begin() as session:
        assert instance_mappings.withdraw(session, uuid)
    assert build_request(world, uuid) is None
    assert mapping(world, uuid).queued_for_delete
    gone[0].back()
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).task_state == states.DELETING
    with world.cell1.begin() as session:
        instances.mark_deleted(session, uuid)
    world.sweeper.sweep()
    assert mapping(world, uuid) is None


def test_a_wish_deleted_before_its_cell_had_it_is_remembered_while_a_worker_may_create_it(world):
    _request, (uuid,) = world.build_request()
    with world.api_db.begin() as session:
        build_requests.lease(session, owner="slow", seconds=30, instance_uuids=[uuid])
        build_requests.target_cell(session, {uuid: CELL1}, owner="slow")
        assert instance_mappings.withdraw(session, uuid)
    world.sweeper.sweep()
    assert mapping(world, uuid).queued_for_delete
    world.sweeper.missed[uuid] -= 61
    world.sweeper.sweep()
    assert mapping(world, uuid) is None
    world.sweeper.sweep()
    assert world.sweeper.missed == {}
