"""Passwords and files of servers that rest in ERROR are kept nowhere."""

import pytest

from roost import states
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.db.cell import guest_config, instances, operations
from roost.objects import BlockDevice, GuestConfig, InjectedFile
from tests.builders import a_wish, an_instance
from tests.operation_rows import a_report, put_under
from tests.unit.conductor import conftest
from tests.unit.conductor.test_operation_outcomes import _overdue
from tests.unit.conductor.test_reschedule import fail, give_up, under_way

DISK = BlockDevice.of(source_type="image", boot_index=0, size_mb=0)


def given():
    files = [InjectedFile.of(path="/a", contents="c2VjcmV0")]
    return GuestConfig.of(files=files, admin_password="secret", block_devices=[DISK])


def kept(database, uuid):
    with database.read() as session:
        return guest_config.find(session, uuid)


def assert_forgotten(database, uuid):
    found = kept(database, uuid)
    assert (found.admin_password, found.files) == (None, [])
    assert found.block_devices == [DISK]


def test_by_a_build_that_used_all_its_attempts_up(cell):
    made = under_way(cell, provisions=given())
    for attempt, host in ((1, "h1"), (2, "h2")):
        fail(cell, made.uuid, host, attempt)
        assert kept(cell.database, made.uuid).files != []  # the next host needs them
    fail(cell, made.uuid, "h3", 3)
    assert_forgotten(cell.database, made.uuid)


def test_by_a_build_that_its_host_ended(cell):
    made = under_way(cell, provisions=given())
    give_up(cell, made.uuid, "the image is corrupt")
    assert_forgotten(cell.database, made.uuid)


@pytest.fixture
def power(cell):
    return cell.outcomes


def rebuilding(cell):
    made = an_instance(
        host="h1", vm_state=states.ACTIVE, task_state=states.REBUILD_SPAWNING, provisions=given()
    )
    with cell.database.begin() as session:
        instances.create(session, made)
        put_under(session, made)
    return made.uuid


def test_by_a_rebuild_that_failed(cell, power):
    uuid = rebuilding(cell)
    with cell.database.read() as session:
        operation = operations.find(session, uuid)
    power.end(cell.context, operation, a_report(ObservedGuest("h1", None, None, [], "no disk")))
    assert_forgotten(cell.database, uuid)


def test_by_a_rebuild_whose_host_went_down(cell, power):
    uuid = rebuilding(cell)
    power.overdue(cell.context, _overdue(cell), is_down=True)
    assert_forgotten(cell.database, uuid)


def test_by_what_rests_in_cell0(world, monkeypatch):
    def a_wish_with_secrets(spec):
        instance = an_instance(flavor=spec.flavor, image=spec.image, provisions=given())
        return a_wish(spec, instance=instance)

    monkeypatch.setattr(conftest, "a_wish", a_wish_with_secrets)
    world.scheduler.room = {"h1": 0}
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    assert_forgotten(world.cell0, uuid)
