"""Tasks that wait for an operator's word, after a restore or a long outage."""

import datetime

import pytest

from roost import states
from roost.db.cell import instances, operations
from roost.db.types import utcnow
from tests.builders import a_uuid, an_instance
from tests.operation_rows import put_under

LONG_AGO = datetime.timedelta(hours=30)


@pytest.fixture
def held(databases, cell1):
    """Two servers whose tasks nobody has seen to since yesterday, and one of now."""
    made = []
    for age in (LONG_AGO, LONG_AGO, datetime.timedelta()):
        since = utcnow() - age
        instance = an_instance(
            host="h1", vm_state=states.ACTIVE, task_state=states.REBUILDING, updated_at=since
        )
        with databases.cell1.begin() as session:
            instances.create(session, instance)
            put_under(session, instance, created_at=since)
        made.append(instance.uuid)
    return made[:2]


def shown(manage, *options, **more):
    return manage("cell", "held-tasks", "--json", *options, **more).json


def taken(database):
    with database.begin() as session:
        found = operations.take_overdue(session, seconds=-1, stale_seconds=3600)
    return {task.instance_uuid for task in found}


def test_held_tasks_are_shown_and_released_at_a_word(manage, databases, held):
    found = shown(manage, "cell1")
    assert [(row["server"], row["task_state"], row["released"]) for row in found] == [
        (uuid, states.REBUILDING, False) for uuid in held
    ]
    taken(databases.cell1)
    assert not taken(databases.cell1) & {*held}
    one = shown(manage, "--release", "--server", held[0])
    assert [row["released"] for row in one] == [True, False]
    assert held[0] in taken(databases.cell1)
    shown(manage, "--release")
    assert shown(manage) == []


def test_what_does_not_wait_cannot_be_released(manage, held):
    refused = manage("cell", "held-tasks", "--release", "--server", a_uuid(), code=1)
    assert "waits for an operator" in refused.err
    manage("cell", "held-tasks", "--server", held[0], code=2)


def test_held_tasks_are_told_wherever_an_operator_looks(manage, held):
    assert "cell1: 2 tasks wait" in manage("service", "list").err
    found = manage("audit", "--settle", "0", "--json", code=1).json
    assert found["counts"]["tasks held"] == len(held)
    assert {one["subject"] for one in found["findings"]} >= {*held}
