"""An old copy of a cell's database is put back under a running deployment: no guest is lost."""

import contextlib
import json

import pytest
import sqlalchemy as sa

from roost import states
from roost.db.cell import models
from roost.db.engine import Database
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file

SOON = {
    "conductor": {"sweep_interval": 0.5, "task_lease_seconds": 3.0},
    "compute": {"reconcile_interval": 1.0},
}
TABLES = (models.instances, models.builds, models.ports)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), cells=1, hosts=2, overrides=SOON) as cloud:
        yield cloud


@pytest.fixture
def cell(cloud):
    database = Database(cloud.plan.database_url("cell1"), connections=2)
    yield database
    database.close()


def rows(database):
    """Return all rows of what is backed up."""
    with database.read() as session:
        return {
            table: [dict(row._mapping) for row in session.execute(sa.select(table))]
            for table in TABLES
        }


def put_back(database, copy):
    with database.begin() as session:
        for table, old in copy.items():
            session.execute(sa.delete(table))
            if old:
                session.execute(sa.insert(table), old)


@contextlib.contextmanager
def backed_up(cloud, cell, task):
    """Yield a copy of the rows in which a server that is ACTIVE by then is under that task."""
    found = {}
    step = {states.SCHEDULING: "begin", states.SPAWNING: "spawn"}[task]
    with cloud.faults({"step": step, "delay": 1.5}):
        (uuid,) = cloud.boot()

        def look():
            copy = rows(cell)
            here = [row for row in copy[models.instances] if row["uuid"] == uuid]
            found.update(copy)
            return any(row["task_state"] == task for row in here)

        wait_until(look, task)
    cloud.wait([uuid], "ACTIVE")
    yield uuid, found


@pytest.mark.parametrize("task", [states.SCHEDULING, states.SPAWNING])
def test_rows_of_a_build_that_are_put_back_cost_nobody_a_guest(cloud, cell, task):
    with backed_up(cloud, cell, task) as (uuid, copy):
        host = cloud.show(uuid)["OS-EXT-SRV-ATTR:host"]
        guest = guest_file(cloud, host, uuid)
        diary = json.loads(guest.read_text()) | {"diary": "mine"}
        guest.write_text(json.dumps(diary))
        put_back(cell, copy)
        wait_until(lambda: cloud.show(uuid)["status"] == "ACTIVE", "the server")
        assert json.loads(guest.read_text())["diary"] == "mine"
        assert cloud.audit() == {}
    cloud.delete_all()
