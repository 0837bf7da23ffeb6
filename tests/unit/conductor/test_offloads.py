"""Shelved servers are offloaded by a cell-conductor when their time has come."""

import datetime

import pytest
import sqlalchemy as sa

from roost import states
from roost.db.cell import actions, instances, models
from roost.db.cell.left_behind import OLD_COPY
from tests.builders import an_instance

SHELVED_SINCE = 60.0  # seconds


@pytest.fixture
def shelved(cell):
    """Make a server that was shelved so many seconds ago; return its uuid."""

    def shelved(seconds=SHELVED_SINCE, **values):
        usual = {"host": "h1", "vm_state": states.SHELVED, "task_state": None}
        instance = an_instance(**usual | values)
        at = cell.database.now() - datetime.timedelta(seconds=seconds)
        with cell.database.begin() as session:
            instances.create(session, instance)
            mine = sa.update(models.instances).where(models.instances.c.uuid == instance.uuid)
            session.execute(mine.values(shelved_at=at))
        return str(instance.uuid)

    return shelved


def sent(cell):
    return [(host, told["operation"].kind) for host, _method, told in cell.bus.sent]


@pytest.mark.parametrize(("seconds", "begins"), [(0, True), (50, True), (70, False), (-1, False)])
def test_one_is_offloaded_once_when_its_time_has_come(cell, shelved, seconds, begins):
    uuid = shelved()
    cell.offload_seconds = seconds
    for _ in range(2):
        cell.sweeper(lease_seconds=600).sweep()
    assert sent(cell) == ([("h1", "shelve_offload")] if begins else [])
    if begins:
        (action,) = cell.database.query(actions.list_actions, uuid)
        assert (action.action, action.user_id) == ("shelveOffload", None)


@pytest.mark.parametrize(
    "values",
    [
        {"seconds": 50 + OLD_COPY.total_seconds() + 5},
        {"task_state": states.UNSHELVING},
        {"vm_state": states.ACTIVE},
    ],
    ids=["its row may be an old copy", "it is being unshelved", "it runs by now"],
)
def test_what_may_be_in_use_is_left_alone(cell, shelved, values):
    shelved(**values)
    cell.offload_seconds = 50
    cell.sweeper(lease_seconds=600).sweep()
    assert [kind for _host, kind in sent(cell) if kind == "shelve_offload"] == []
