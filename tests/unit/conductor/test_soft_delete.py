"""What is put away is reclaimed in time, once, and cells begin what they missed."""

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
from roost.db.cell import actions, instances, operations
from roost.db.cell import models as cell_models
from tests.builders import CELL1, a_context
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
        assert mappings.soft_delete(session, uuid).operation_uuid
        table = models.instance_mappings
        at = instance_mappings.get(session, uuid).put_away_at - datetime.timedelta(seconds=ago)
        mine = table.c.instance_uuid == uuid
        session.execute(sa.update(table).where(mine).values(put_away_at=at))


def take_back(world, uuid):
    as_read = mapping(world, uuid)
    with world.api_db.begin() as session:
        return mappings.restore(session, as_read, defaults=NO_LIMITS).put_away_at is None


def end(world, uuid, vm_state=states.SOFT_DELETED):
    """Let what is under way be over, and the row say so."""
    with world.cell1.begin() as session:
        row = sa.update(cell_models.instances).where(cell_models.instances.c.uuid == uuid)
        session.execute(row.values(vm_state=vm_state, task_state=None))
        operations.preempt(session, uuid, "it has ended")


def put_away_for(world, uuid, *, ago):
    """Let a server have been put away, by its host too."""
    put_away(world, uuid, ago=ago)
    sweeper(world, 0).settle(but_not=[])
    end(world, uuid)


def task(world, uuid):
    found = instance(world.cell1, uuid)
    return found.vm_state, found.task_state


def usage(world):
    with world.api_db.read() as session:
        return quota.usage(session, "project")


def unsettled(world):
    with world.api_db.read() as session:
        return [found.instance_uuid for _, found in mappings.list_unsettled(session)]


def sweeper(world, retained_for):
    return SoftDeletes(world.api_db, world.cells, retained_for=retained_for)


def test_a_cell_that_was_away_hears_of_it_later(world, running):
    uuid = running()
    put_away(world, uuid)
    assert unsettled(world) == [uuid]
    world.sweeper.sweep()
    assert task(world, uuid) == (states.ACTIVE, states.SOFT_DELETING)
    ((host, method, told),) = world.casts()
    operation = told["operation"]
    assert (host, method, operation.instance_uuid) == ("h1", "run", uuid)
    assert operation.kind == "soft_delete"
    assert unsettled(world) == []
    world.sweeper.sweep()
    assert len(world.casts()) == 1


def test_a_cell_hears_of_a_restore_later(world, running):
    uuid = running()
    put_away(world, uuid)
    world.sweeper.sweep()
    end(world, uuid)
    assert take_back(world, uuid)
    world.sweeper.sweep()
    assert task(world, uuid) == (states.SOFT_DELETED, states.RESTORING)
    assert unsettled(world) == []
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
        sweeper(world, 0).settle(but_not=[])
    assert sorted(unsettled(world)) == sorted([one, two])
    sweeper(world, 0).settle(but_not=[CELL1])
    assert sorted(unsettled(world)) == sorted([one, two])
    sweeper(world, 0).settle(but_not=[])
    assert unsettled(world) == []


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_message_of_an_earlier_request_changes_nothing_however_late(world, running, order):
    """It is put away, restored and put away; then all three come again."""
    uuid, cell, noted = running(), world.cells.get(CELL1), []

    def come(found):
        return cells_cell.settle_soft_delete(cell, world.api_db, a_context(), found)

    for ask in (put_away, take_back, put_away):
        ask(world, uuid)
        noted.append(mapping(world, uuid))
        assert come(noted[-1])
        if len(noted) == 1:
            end(world, uuid)
    assert all(come(noted[number]) for number in order)
    assert task(world, uuid) == (states.SOFT_DELETED, states.SOFT_DELETING)
    with world.cell1.read() as session:
        done = [action.action for action in actions.list_actions(session, uuid)]
    assert done[:3] == ["delete", "restore", "delete"]
    assert done.count("delete") == 2
    assert unsettled(world) == []


def test_a_restore_that_a_cell_refuses_is_noted_no_more(world, running):
    uuid = running()
    put_away_for(world, uuid, ago=0)
    end(world, uuid, states.ACTIVE)
    assert take_back(world, uuid)
    world.sweeper.sweep()
    assert unsettled(world) == []
    assert task(world, uuid) == (states.ACTIVE, None)
    assert usage(world)["instances"] == 1


def test_what_is_put_away_long_enough_is_deleted_as_any_other(world, running):
    old, new = running(), running()
    put_away_for(world, old, ago=HOUR + 1)
    put_away_for(world, new, ago=0)
    sweeper(world, HOUR).reclaim()
    assert mapping(world, old).queued_for_delete
    assert not mapping(world, new).queued_for_delete
    world.sweeper.finish_deletes()
    assert task(world, old)[1] == states.DELETING
    assert world.casts()[-1][:2] == ("h1", "run")
    assert usage(world) == NOTHING


@pytest.mark.parametrize("state", [states.ACTIVE, states.DELETED])
def test_what_its_cell_does_not_have_as_put_away_is_not_reclaimed(
    world, running, monkeypatch, state
):
    """One of both databases is an old copy. Others are reclaimed all the same."""
    kept, other = running(), running()
    for uuid in (kept, other):
        put_away_for(world, uuid, ago=HOUR + 1)
    if state == states.DELETED:
        with world.cell1.begin() as session:
            instances.mark_deleted(session, kept)
    else:
        end(world, kept, state)
    monkeypatch.setattr(mappings, "list_due", functools.partial(mappings.list_due, limit=1))
    sweeper(world, HOUR).reclaim()
    assert not mapping(world, kept).queued_for_delete
    assert mapping(world, other).queued_for_delete


def test_nothing_is_reclaimed_before_its_cell_has_begun_to_put_it_away(world, running):
    uuid = running()
    put_away(world, uuid, ago=HOUR + 1)
    sweeper(world, HOUR).reclaim()
    assert not mapping(world, uuid).queued_for_delete


@pytest.mark.parametrize("again", [False, True], ids=["restored", "put-away-again"])
def test_who_restores_first_wins(world, running, again):
    uuid = running()
    put_away_for(world, uuid, ago=HOUR + 1)
    with world.api_db.read() as session:
        ((_, due),) = mappings.list_due(session, retained_for=datetime.timedelta(seconds=HOUR))
    assert take_back(world, uuid)
    if again:
        sweeper(world, 0).settle(but_not=[])
        put_away_for(world, uuid, ago=0)
    with world.api_db.begin() as session:
        assert instance_mappings.queue_for_delete(session, uuid, as_it_was=due) is None
    assert not mapping(world, uuid).queued_for_delete
    assert usage(world)["instances"] == (not again)


def test_who_reclaims_first_wins(world, running):
    uuid = running()
    put_away_for(world, uuid, ago=HOUR + 1)
    sweeper(world, HOUR).reclaim()
    assert not take_back(world, uuid)
    assert usage(world) == NOTHING


def test_any_number_of_super_conductors_reclaim_each_server_once(world, running):
    uuids = [running() for _ in range(5)]
    for uuid in uuids:
        put_away_for(world, uuid, ago=HOUR + 1)
    threads = [threading.Thread(target=sweeper(world, HOUR).reclaim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mapping(world, uuid).queued_for_delete for uuid in uuids)
    assert usage(world) == NOTHING
