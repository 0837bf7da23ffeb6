"""Leases on operations, as one cell's database keeps them; ``cell_db`` is that."""

import datetime

import pytest

from roost import exception, states
from roost.db.cell import actions, instances, operations
from roost.db.cell.migrations import OLD_COPY
from roost.db.types import utcnow
from roost.objects import InstanceAction, Operation
from roost.operations.kinds import DESTROYING, REBOOT
from tests.builders import a_uuid, an_instance
from tests.operation_rows import put_under

OVER, LONG = -1, 600


def under(database, task, **values):
    """An instance in an operation, without a lease as yet."""
    made = an_instance(**{"host": "h1", "attempt": 1, "task_state": task} | values)
    with database.begin() as session:
        instances.create(session, made)
        put_under(session, made, created_at=made.created_at)
    return made


def take(database, seconds=OVER):
    with database.begin() as session:
        return operations.take_overdue(session, seconds=seconds)


def operation(database, **values):
    made = under(database, states.POWERING_OFF, vm_state=states.ACTIVE, **values)
    with database.read() as session:
        return operations.find(session, made.uuid)


def renew(database, *uuids, host="h1", seconds=LONG):
    with database.begin() as session:
        return operations.renew(session, uuids, host=host, seconds=seconds)


def test_an_operation_that_no_host_begins_in_time_is_taken_once(cell_db):
    made = operation(cell_db, created_at=utcnow())
    assert take(cell_db, seconds=LONG) == []
    (found,) = take(cell_db)
    assert (found.uuid, found.kind, found.host, found.tries) == (made.uuid, "stop", "h1", 0)
    assert (found.project_id, found.request_id) == ("project", "req-1")
    renew(cell_db, made.uuid, seconds=OVER)
    assert len(take(cell_db, seconds=LONG)) == 1 == len(take(cell_db)) + 1


def test_an_operation_that_its_host_has_begun_or_renewed_is_not_taken(cell_db):
    begun, renewed = operation(cell_db), operation(cell_db)
    with cell_db.begin() as session:
        until = utcnow() + datetime.timedelta(seconds=LONG)
        assert operations.take_up(session, begun, until=until)
        assert operations.take_up(session, begun, until=utcnow())  # it comes late
        for wrong in ({"host": "h2"}, {"instance_uuid": renewed.instance_uuid}, {"kind": "start"}):
            values = {name: getattr(begun, name) for name in operations.NAMES} | wrong
            assert not operations.take_up(session, Operation.of(**values), until=until)
    assert renew(cell_db, renewed.uuid) == set()
    assert renew(cell_db, renewed.uuid, host="h2") == {renewed.uuid}
    assert take(cell_db) == []


def test_a_host_that_works_on_no_other_operation_gives_up_its_leases(cell_db):
    kept, left, other = operation(cell_db), operation(cell_db), operation(cell_db, host="h2")
    for each in (kept, left, other):
        renew(cell_db, each.uuid, host=each.host)
    with cell_db.begin() as session:
        operations.end_others(session, [kept.uuid], host="h1")
    assert {each.uuid for each in take(cell_db)} == {left.uuid}


@pytest.mark.parametrize("since", ["created_at", "lease_until"])
@pytest.mark.parametrize("step", ["send", "stay", *DESTROYING])
def test_an_old_step_that_destroys_a_guest_waits_until_its_host_starts(cell_db, step, since):
    made = an_instance(host="h1", vm_state=states.RESIZED, task_state=states.RESIZE_REVERTING)
    long_ago = utcnow() - OLD_COPY - datetime.timedelta(minutes=1)
    with cell_db.begin() as session:
        instances.create(session, made)
        put_under(session, made, step=step, **{since: long_ago})
    assert len(take(cell_db)) == (step not in DESTROYING)
    with cell_db.begin() as session:
        operations.end_others(session, [], host="h1")
    assert len(take(cell_db)) == 1


def test_an_operation_ends_once_and_only_as_it_is_expected(cell_db):
    made = operation(cell_db)
    for wrong in ({"host": "h2"}, {"lease_until": utcnow()}, {"kind": "start"}):
        with pytest.raises(exception.Conflict), cell_db.begin() as session:
            operations.end(session, made.uuid, [], expected=wrong, message=None)
    with cell_db.begin() as session:
        operations.end(session, made.uuid, [], expected={"host": "h1"}, message="it failed")
        (action,) = actions.list_actions(session, made.instance_uuid)
    assert (action.action, action.message) == ("stop", "it failed")
    assert action.finish_time is not None
    with pytest.raises(exception.Conflict), cell_db.begin() as session:
        operations.end(session, made.uuid, [], expected={"host": "h1"}, message=None)


def test_an_operation_that_was_begun_is_not_begun_again_by_a_commit_whose_answer_was_lost(cell_db):
    made = an_instance(host="h1", vm_state=states.ACTIVE, task_state=None)
    record = InstanceAction(
        instance_uuid=made.uuid,
        action="reboot",
        request_id="req-1",
        user_id="user",
        project_id="project",
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )
    uuid = a_uuid()
    with cell_db.begin() as session:
        instances.create(session, made)
    for ended in (False, True, True):
        with cell_db.begin() as session:
            assert operations.start(session, REBOOT, record, uuid=uuid).uuid == uuid
            if not ended:
                rest = {"vm_state": states.ACTIVE, "task_state": None}
                instances.update(session, made.uuid, rest, expected={})
                operations.end(session, uuid, [], expected={}, message=None)
    with cell_db.read() as session:
        assert operations.find(session, made.uuid) is None
        assert instances.get(session, made.uuid).task_state is None
