"""The quota of resizes is settled once they are over, by the flavor that the server has then."""

import time

import pytest

from roost import exception
from roost.db.api import instance_mappings, quota, resizes, soft_delete
from roost.db.cell import instances, migrations
from tests.builders import CELL1, a_flavor, a_migration

NO_LIMITS = {"cores": -1, "ram": -1}
SMALL, LARGE = a_flavor(), a_flavor(flavorid="2", vcpus=3, memory_mb=1024)


@pytest.fixture
def server(world):
    """A server of cell1, of one CPU and 512 MiB."""
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    return uuid


@pytest.fixture
def charged(world, server):
    """Do what the API does in its own database; return the uuid of the migration to come."""
    uuid = a_migration().uuid
    with world.api_db.begin() as session:
        resizes.charge(session, server, LARGE, migration_uuid=uuid, defaults=NO_LIMITS)
    assert usage(world) == (3, 1024)
    return uuid


def usage(world):
    with world.api_db.read() as session:
        assert quota.differences(session) == {}
        used = quota.usage(session, "project")
    return used["cores"], used["ram"]


def begin(world, server, migration_uuid, status="migrating"):
    migration = a_migration(uuid=migration_uuid, instance_uuid=server, status=status)
    with world.cell1.begin() as session:
        migrations.create(session, migration)


def end(world, server, migration_uuid, flavor, status):
    with world.cell1.begin() as session:
        instances.update(session, server, {"flavor": flavor}, expected={})
        migrations.update(session, migration_uuid, {"status": status}, expected=["migrating"])


@pytest.mark.parametrize(
    ("status", "flavor", "used"),
    [("confirmed", LARGE, (3, 1024)), ("reverted", SMALL, (1, 512)), ("error", SMALL, (1, 512))],
)
def test_a_resize_that_is_over_is_settled_once(world, server, charged, status, flavor, used):
    begin(world, server, charged)
    world.sweeper.sweep()
    assert usage(world) == (3, 1024)
    end(world, server, charged, flavor, status)
    for _ in range(2):
        world.sweeper.sweep()
        assert usage(world) == used
    with world.cell1.read() as session:
        assert instances.get(session, server).flavor.flavorid == flavor.flavorid


def test_one_whose_request_died_is_settled_after_a_minute(world, server, charged, monkeypatch):
    world.sweeper.sweep()
    assert usage(world) == (3, 1024)
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    world.sweeper.sweep()
    assert usage(world) == (1, 512)
    world.sweeper.sweep()
    assert world.sweeper.resizes.missed == {}


def test_a_delete_gives_back_everything_and_leaves_nothing_to_settle(world, server, charged):
    begin(world, server, charged)
    with world.api_db.begin() as session:
        instance_mappings.queue_for_delete(session, server)
    assert usage(world) == (0, 0)
    end(world, server, charged, SMALL, "error")
    world.sweeper.resizes.settle(but_not=[])
    assert usage(world) == (0, 0)


def test_resizes_of_an_unavailable_cell_wait(world, server, charged):
    begin(world, server, charged)
    end(world, server, charged, SMALL, "error")
    world.sweeper.resizes.settle(but_not=[CELL1])
    assert usage(world) == (3, 1024)
    world.sweeper.resizes.settle(but_not=[])
    assert usage(world) == (1, 512)


def test_a_charge_that_is_repeated_is_made_once(world, server, charged):
    with world.api_db.begin() as session:
        resizes.charge(session, server, LARGE, migration_uuid=charged, defaults=NO_LIMITS)
    assert usage(world) == (3, 1024)


def test_a_server_that_is_soft_deleted_meanwhile_is_not_charged(world, server):
    with world.api_db.begin() as session:
        soft_delete.soft_delete(session, server)
    uuid = a_migration().uuid
    with pytest.raises(exception.NotFound), world.api_db.begin() as session:
        resizes.charge(session, server, LARGE, migration_uuid=uuid, defaults=NO_LIMITS)
    assert usage(world) == (0, 0)


def test_a_server_that_its_cell_does_not_have_keeps_no_other_resize_waiting(
    world, server, charged, monkeypatch
):
    _request, (other,) = made = world.build_request()
    world.build(made)
    over = a_migration().uuid
    with world.api_db.begin() as session:
        resizes.charge(session, other, LARGE, migration_uuid=over, defaults=NO_LIMITS)
    with world.cell1.begin() as session:
        instances.mark_deleted(session, server)
    world.sweeper.resizes.settle(but_not=[])
    begin(world, other, over)
    end(world, other, over, SMALL, "error")
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    world.sweeper.resizes.settle(but_not=[])
    assert usage(world) == (4, 1536)
