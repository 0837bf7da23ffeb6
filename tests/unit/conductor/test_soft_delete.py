"""What is put away is reclaimed in time, once, and cells hear what they missed."""

import datetime
import functools
import itertools
import threading

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.cells import cell as cells_cell
from roost.conductor.super.soft_delete import SoftDeletes
from roost.db.api import instance_mappings, models, quota
from roost.db.api import soft_delete as mappings
from roost.db.cell import instances, operations
from roost.db.cell import models as cell_models
from tests.builders import CELL1
from tests.unit.conductor.test_boot import instance, mapping

NO_LIMITS = {"instances": -1, "cores": -1, "ram": -1}
NOTHING = {"instances": 0, "cores": 0, "ram": 0, "server_groups": 0}
HOUR = 3600


@pytest.fixture
def running(world):
    """Make a server that runs on a host of cell1."""

    def running(**values):
        _request, (uuid,) = made = world.build_request()
        world.build(made)
        changes = {"vm_state": states.ACTIVE, "task_state": None, **values}
        with world.cell1.begin() as session:
            row = cell_models.instances
            session.execute(sa.update(row).where(row.c.uuid == uuid).values(changes))
        world.buses["fake://cell1/"].sent.clear()
        return uuid

    return running


def put_away(world, uuid, *, ago=0):
    """Do what the API does in its own database."""
    with world.api_db.begin() as session:
        assert mappings.soft_delete(session, uuid)
        table = models.instance_mappings
        at = instance_mappings.get(session, uuid).put_away_at - datetime.timedelta(seconds=ago)
        mine = table.c.instance_uuid == uuid
        session.execute(sa.update(table).where(mine).values(put_away_at=at))


def take_back(world, uuid):
    turn = mapping(world, uuid).turns
    with world.api_db.begin() as session:
        return mappings.take_back(session, uuid, turn=turn, defaults=NO_LIMITS)


def settle(world, uuid, vm_state=states.SOFT_DELETED):
    with world.cell1.begin() as session:
        instances.update(session, uuid, {"vm_state": vm_state, "task_state": None}, expected={})
        operations.preempt(session, uuid, "it has ended")


def task(world, uuid):
    found = instance(world.cell1, uuid)
    return found.vm_state, found.task_state


def usage(world):
    with world.api_db.read() as session:
        return quota.usage(session, "project")


def unheard(world):
    with world.api_db.read() as session:
        return [found.instance_uuid for _, found in mappings.list_unsynced(session)]


def sweeper(world, retained_for):
    return SoftDeletes(world.api_db, world.cells, retained_for=retained_for)


def test_a_cell_that_was_away_hears_of_it_later(world, running):
    uuid = running()
    put_away(world, uuid)
    assert unheard(world) == [uuid]
    world.sweeper.sweep()
    assert task(world, uuid) == (states.ACTIVE, states.SOFT_DELETING)
    ((host, method, told),) = world.casts()
    operation = told["operation"]
    assert (host, method, operation.instance_uuid) == ("h1", "run", uuid)
    assert operation.kind == "soft_delete"
    assert unheard(world) == []
    world.sweeper.sweep()
    assert len(world.casts()) == 1


def test_a_cell_hears_of_a_restore_later(world, running):
    uuid = running()
    put_away(world, uuid)
    world.sweeper.sweep()
    settle(world, uuid)
    assert take_back(world, uuid)
    world.sweeper.sweep()
    assert task(world, uuid) == (states.SOFT_DELETED, states.RESTORING)
    assert unheard(world) == []
    assert usage(world)["instances"] == 1


def test_what_cannot_be_put_away_is_deleted_instead(world, running):
    uuid = running(vm_state=states.ERROR)
    put_away(world, uuid)
    world.sweeper.sweep()
    assert task(world, uuid) == (states.ERROR, states.DELETING)
    assert mapping(world, uuid).queued_for_delete
    assert usage(world) == NOTHING


def test_a_cell_that_is_away_keeps_others_waiting_for_nothing(world, running, monkeypatch):
    one, two = running(), running()
    for uuid in (one, two):
        put_away(world, uuid)

    def away():
        raise exception.Unavailable("no answer")

    with monkeypatch.context() as context:
        context.setattr(world.cells.get(CELL1).database, "begin", away)
        sweeper(world, 0).sync_cells(but_not=[])
    assert sorted(unheard(world)) == sorted([one, two])
    sweeper(world, 0).sync_cells(but_not=[CELL1])
    assert sorted(unheard(world)) == sorted([one, two])
    sweeper(world, 0).sync_cells(but_not=[])
    assert unheard(world) == []


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3))))
def test_turns_may_come_in_any_order_and_twice_the_latest_counts(world, running, order):
    """Put away, restored, put away: and the row ends as the last one says."""
    uuid, cell = running(vm_state=states.SOFT_DELETED), world.cells.get(CELL1)
    tell = {1: cells_cell.soft_delete, 2: cells_cell.restore, 3: cells_cell.soft_delete}
    for turn in (*order, *order):
        tell[turn](cell, world.context, uuid, turn=turn)
    assert task(world, uuid) == (states.SOFT_DELETED, states.SOFT_DELETING)


def test_what_is_put_away_long_enough_is_deleted_as_any_other(world, running):
    old, new = running(), running()
    put_away(world, old, ago=HOUR + 1)
    put_away(world, new)
    sweeper(world, HOUR).reclaim()
    assert mapping(world, old).queued_for_delete
    assert not mapping(world, new).queued_for_delete
    world.sweeper.finish_deletes()
    assert task(world, old)[1] == states.DELETING
    assert world.casts()[-1][:2] == ("h1", "terminate_instance")
    assert usage(world) == NOTHING


def test_those_that_must_wait_do_not_keep_others_from_being_deleted(world, running, monkeypatch):
    waits, other = running(), running()
    for uuid in (waits, other):
        put_away(world, uuid, ago=HOUR + 1)
    with world.cell1.begin() as session:  # its mapping is an old copy, by this
        rows = cell_models.instances
        session.execute(sa.update(rows).where(rows.c.uuid == waits).values(turns=9))
    monkeypatch.setattr(mappings, "list_due", functools.partial(mappings.list_due, limit=1))
    sweeper(world, HOUR).reclaim()
    assert not mapping(world, waits).queued_for_delete
    assert mapping(world, other).queued_for_delete


def test_who_restores_first_wins(world, running):
    uuid = running()
    put_away(world, uuid, ago=HOUR + 1)
    with world.api_db.read() as session:
        ((_, due),) = mappings.list_due(session, retained_for=datetime.timedelta(seconds=HOUR))
    assert take_back(world, uuid)
    with world.api_db.begin() as session:
        assert instance_mappings.queue_for_delete(session, uuid, turn=due.turns) is None
    assert not mapping(world, uuid).queued_for_delete
    assert usage(world)["instances"] == 1


def test_who_reclaims_first_wins(world, running):
    uuid = running()
    put_away(world, uuid, ago=HOUR + 1)
    sweeper(world, HOUR).reclaim()
    assert not take_back(world, uuid)
    assert usage(world) == NOTHING


def test_any_number_of_super_conductors_reclaim_each_server_once(world, running):
    uuids = [running() for _ in range(5)]
    for uuid in uuids:
        put_away(world, uuid, ago=HOUR + 1)
    threads = [threading.Thread(target=sweeper(world, HOUR).reclaim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mapping(world, uuid).queued_for_delete for uuid in uuids)
    assert usage(world) == NOTHING
