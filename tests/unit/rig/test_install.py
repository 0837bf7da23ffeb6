"""What a rig stands on."""

import pytest

from roost.context import admin_context
from roost.db.api import cells, flavors
from roost.db.engine import Database
from roost.image.local import LocalImageStore
from roost.rig.install import install, map_hosts
from roost.rig.plan import new_plan


@pytest.fixture
def plan(tmp_path):
    plan = new_plan(tmp_path, cells=2, hosts=1)
    plan.save()
    install(plan)
    return plan


@pytest.fixture
def api(plan):
    database = Database(plan.database_url("api"))
    yield database
    database.close()


def test_installing_again_changes_nothing(plan, api):
    install(plan)
    with api.read() as session:
        assert len(cells.list_cells(session)) == 3
        assert len(flavors.list_flavors(session)) == 5
    assert len(LocalImageStore(plan.images).list_images(admin_context())) == 1


def test_every_host_is_mapped_to_its_cell(plan, api):
    map_hosts(plan)
    with api.read() as session:
        assert [host.host for host in cells.list_hosts(session)] == ["cell1-host1", "cell2-host1"]
