"""What was deleted long ago is removed with all that hangs on it, and nothing else is."""

import datetime
import json
from concurrent import futures

import pytest
import sqlalchemy as sa

import roost.conf
from roost import exception
from roost.cmd import super_conductor
from roost.conductor.cell.guest_reports import GuestReports
from roost.conductor.super.purge import Archive, Purge
from roost.db.api import instance_mappings
from roost.db.api import models as api_models
from roost.db.cell import faults, instances, left_behind, services
from roost.db.cell import models as cell_models
from roost.objects import InstanceFault
from roost.objects.host import DELETED
from tests.builders import CELL1, NOW

DAY = datetime.timedelta(days=1)
MONTH = datetime.timedelta(days=30)


@pytest.fixture
def deleted(world):
    """Build a server and delete it, so long ago."""

    def deleted(*, ago):
        _request, (uuid,) = made = world.build_request()
        world.build(made)
        with world.api_db.begin() as session:
            instance_mappings.queue_for_delete(session, uuid)
        with world.cell1.begin() as session:
            faults.add(session, _fault(uuid))
            instances.mark_deleted(session, uuid)
            _age(session, cell_models.instances, uuid, ago)
        with world.api_db.begin() as session:
            instance_mappings.forget(session, uuid)
            _age(session, api_models.deleted_mappings, uuid, ago)
        return uuid

    return deleted


def _age(session, table, uuid, ago):
    mine = table.c.get("uuid", table.c.get("instance_uuid")) == uuid
    at = session.execute(sa.select(table.c.deleted_at).where(mine)).scalar_one() - ago
    session.execute(sa.update(table).where(mine).values(deleted_at=at))


def _fault(uuid):
    values = {"code": 500, "message": "it failed", "details": None, "host": "h1"}
    return InstanceFault.of(instance_uuid=uuid, created_at=NOW, **values)


def _purge(world, age=MONTH, **more):
    return {cell.uuid: done for cell, done in Purge(world.api_db, world.cells, age, **more).run()}


def _rows(world):
    """Count the rows of each table of the cell that can be of servers."""
    with world.cell1.read() as session:
        return {
            table.name: session.scalar(sa.select(sa.func.count()).select_from(table))
            for table in cell_models.metadata.sorted_tables
            if table.name not in ("identity", "services")
        }


def _is_known(world, uuid):
    with world.api_db.read() as session:
        return instance_mappings.find_deleted(session, uuid) is not None


def test_nothing_is_left_of_what_was_deleted_long_ago(world, deleted):
    before, old = _rows(world), deleted(ago=MONTH)
    assert _purge(world)[CELL1] == 1
    assert _rows(world) == before
    assert not _is_known(world, old)


def test_what_lives_or_was_deleted_lately_stays(world, deleted):
    world.build(world.build_request())
    young = deleted(ago=MONTH - DAY)
    before = _rows(world)
    assert _purge(world)[CELL1] == 0
    assert _rows(world) == before
    assert _is_known(world, young)


def test_two_at_once_remove_each_server_once(world, deleted):
    old = [deleted(ago=MONTH) for _ in range(6)]
    with futures.ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: _purge(world, batch=1)[CELL1], range(2)))
    assert sum(both) == len(old)


def test_a_host_that_was_away_finds_that_its_guests_are_over_however_late_it_is_back(
    world, deleted
):
    old, power = deleted(ago=MONTH), GuestReports(world.cell1, None)
    with world.cell1.begin() as session:
        services.report(session, host="h1", binary="roost-compute")
        left_behind.note(session, old, "h1")
    for _ in range(2):  # it is back, and has not destroyed it yet
        assert _purge(world, dry_run=True)[CELL1] == _purge(world)[CELL1] == 0
        (found,) = power.locate("h1", [old], and_others_here=True)
        assert found.presence == DELETED
    power.locate("h1", [], and_others_here=True)
    assert _purge(world)[CELL1] == 1


def test_a_dry_run_counts_and_removes_nothing(world, deleted):
    deleted(ago=MONTH)
    before = _rows(world)
    assert _purge(world, dry_run=True)[CELL1] == 1
    assert _rows(world) == before


def test_a_cell_that_is_away_keeps_its_servers_and_what_leads_there(world, deleted):
    old = deleted(ago=MONTH)

    def away():
        raise exception.Unavailable("cell1 is away")

    world.cell1.begin = away
    assert isinstance(_purge(world)[CELL1], exception.Unavailable)
    assert _is_known(world, old)


def test_a_cell_that_cannot_be_purged_keeps_no_other_from_it(world, deleted):
    deleted(ago=MONTH)

    def broken():
        raise LookupError("a defect")

    world.cell0.read = broken  # the first one
    done = _purge(world)
    assert done.pop(CELL1) == 1
    (failed, untouched) = sorted(done.values(), key=str, reverse=True)
    assert (type(failed), untouched) == (exception.Unavailable, 0)


def test_super_conductors_purge_what_their_options_say(world, deleted, tmp_path):
    old, young = deleted(ago=MONTH), deleted(ago=DAY)
    group = {"purge_after": 2 * 86400, "purge_archive": str(tmp_path / "archive")}
    conf = roost.conf.of({"conductor": group})
    (periodic,) = super_conductor.purge(conf, world.api_db, world.cells)
    periodic._call()
    assert (_is_known(world, old), _is_known(world, young)) == (False, True)
    assert list((tmp_path / "archive").iterdir())
    assert super_conductor.purge(roost.conf.of({}), world.api_db, world.cells) == []


def test_the_archive_has_all_rows_before_they_are_removed(world, deleted, tmp_path):
    old = deleted(ago=MONTH)
    _purge(world, archive=Archive(tmp_path / "archive"))
    (path,) = (tmp_path / "archive").iterdir()
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["table"] for row in kept} >= {"instances", "instance_faults", "instance_actions"}
    assert {row.get("uuid", row.get("instance_uuid", old)) for row in kept} == {old}
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_archived_is_not_removed(world, deleted, tmp_path):
    deleted(ago=MONTH)
    before = _rows(world)
    (tmp_path / "archive").write_text("no folder")
    done = _purge(world, archive=Archive(tmp_path / "archive"))[CELL1]
    assert "archive" in done.message
    assert _rows(world) == before


def test_a_server_keeps_its_latest_faults_only(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    for _ in range(faults.KEPT + 5):
        with world.cell1.begin() as session:
            faults.add(session, _fault(uuid))
    assert _rows(world)["instance_faults"] == faults.KEPT
