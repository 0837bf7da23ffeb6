"""Leases on the tasks of instances, as one cell's database keeps them; ``cell_db`` is that."""

import datetime

import pytest

from roost import exception, states
from roost.db.cell import actions, instances, leases, operations
from roost.db.cell.migrations import OLD_COPY
from roost.db.types import utcnow
from roost.objects import InstanceAction, Operation
from roost.operations.kinds import DESTROYING, OF_TASK, REBOOT
from tests.builders import a_uuid, an_instance
from tests.operation_rows import put_under

BEGUN = (states.NETWORKING, states.SPAWNING)
OVER, LONG = -1, 600


def under(database, task=states.SPAWNING, **values):
    """An instance under a task, without a lease as yet."""
    made = an_instance(**{"host": "h1", "attempt": 1, "task_state": task} | values)
    with database.begin() as session:
        instances.create(session, made)
        if task in OF_TASK:
            put_under(session, made, created_at=made.created_at)
    return made


def take(database, first=OVER, seconds=LONG):
    with database.begin() as session:
        return leases.take_overdue(session, begun_seconds=first, seconds=seconds)


def renew(database, *held, seconds=LONG):
    with database.begin() as session:
        return leases.renew(session, held, host="h1", seconds=seconds)


def held(instance, attempt=1, tasks=BEGUN):
    return leases.HeldLease(instance.uuid, attempt, tasks)


def uuids(found):
    return {each.instance_uuid for each in found}


def change(database, uuid, changes, **expected):
    with database.begin() as session:
        instances.update(session, uuid, changes, expected=expected)


def test_a_task_is_given_a_first_lease_and_taken_when_that_has_ended(cell_db):
    made = under(cell_db)
    assert take(cell_db) == []
    (found,) = take(cell_db)
    assert (found.instance_uuid, found.host, found.attempt) == (made.uuid, "h1", 1)
    assert (found.vm_state, found.task_state) == (states.BUILDING, states.SPAWNING)
    assert take(cell_db) == []


def test_what_no_host_has_begun_may_have_another_first_lease(cell_db):
    waiting = under(cell_db, states.SCHEDULING)
    begun = under(cell_db)
    take(cell_db, first=LONG, seconds=OVER)
    assert uuids(take(cell_db, seconds=LONG)) == {waiting.uuid}
    assert begun.uuid not in uuids(take(cell_db, seconds=LONG))


def test_an_instance_at_rest_is_nobodys_task(cell_db):
    under(cell_db, task=None, vm_state=states.ACTIVE)
    for _ in range(2):
        assert take(cell_db) == []


def test_a_lease_that_is_renewed_is_not_taken(cell_db):
    made = under(cell_db)
    take(cell_db)
    assert renew(cell_db, held(made)) == set()
    assert take(cell_db) == []


def test_renewing_tells_what_is_not_the_hosts_any_more(cell_db):
    mine, other = under(cell_db), under(cell_db, attempt=2)
    moved, ending = under(cell_db, host="h2"), under(cell_db, states.DELETING)
    gone, waiting = an_instance(), under(cell_db, states.SCHEDULING)
    asked = [held(each) for each in (mine, other, moved, ending, gone, waiting)]
    assert renew(cell_db, *asked) == {1, 2, 3, 4, 5}
    assert mine.uuid not in uuids(take(cell_db)) | uuids(take(cell_db))


def test_work_that_has_come_to_rest_is_not_lost(cell_db):
    made = under(cell_db)
    change(cell_db, made.uuid, {"vm_state": states.ACTIVE, "task_state": None})
    assert renew(cell_db, held(made)) == set()
    assert renew(cell_db, held(made, attempt=2)) == {0}


def test_a_build_that_has_become_a_server_is_not_lost_whatever_its_user_does(cell_db):
    made = under(cell_db, states.POWERING_OFF, vm_state=states.ACTIVE)
    assert renew(cell_db, held(made)) == set()
    assert renew(cell_db, held(made, attempt=2)) == {0}
    change(cell_db, made.uuid, {"task_state": states.DELETING})
    assert renew(cell_db, held(made)) == {0}


def test_another_task_has_no_lease_yet_and_the_same_one_keeps_its_own(cell_db):
    made = under(cell_db, states.NETWORKING)
    renew(cell_db, held(made), seconds=OVER)
    change(cell_db, made.uuid, {"task_state": states.SPAWNING})
    assert take(cell_db) == []
    change(cell_db, made.uuid, {"task_state": states.SPAWNING})
    assert uuids(take(cell_db)) == {made.uuid}


def test_a_host_that_works_on_nothing_else_gives_up_its_other_leases(cell_db):
    kept, left = under(cell_db), under(cell_db)
    elsewhere, resting = under(cell_db, host="h2"), under(cell_db, None, vm_state=states.ACTIVE)
    for each, host in ((kept, "h1"), (left, "h1"), (elsewhere, "h2")):
        with cell_db.begin() as session:
            leases.renew(session, [held(each)], host=host, seconds=LONG)
    with cell_db.begin() as session:
        leases.end_others(session, [held(kept)], host="h1")
    assert uuids(take(cell_db)) == {left.uuid}
    change(cell_db, resting.uuid, {}, vm_state=states.ACTIVE)


def test_a_host_that_works_on_nothing_gives_up_all_its_leases(cell_db):
    made = under(cell_db)
    renew(cell_db, held(made))
    with cell_db.begin() as session:
        leases.end_others(session, [], host="h1")
    assert uuids(take(cell_db)) == {made.uuid}


def test_who_takes_a_task_over_loses_against_its_host_that_has_renewed_meanwhile(cell_db):
    made = under(cell_db)
    take(cell_db)
    (found,) = take(cell_db)
    renew(cell_db, held(made))
    with pytest.raises(exception.Conflict):
        change(cell_db, made.uuid, {"task_state": states.SCHEDULING}, **found.expected)


def test_who_takes_a_task_over_wins_while_it_is_as_it_was_found(cell_db):
    made = under(cell_db)
    take(cell_db)
    (found,) = take(cell_db)
    change(cell_db, made.uuid, {"task_state": states.SCHEDULING}, **found.expected)
    assert renew(cell_db, held(made)) == {0}


# of operations


def take_operations(database, seconds=OVER):
    with database.begin() as session:
        return operations.take_overdue(session, seconds=seconds)


def operation(database, **values):
    made = under(database, states.POWERING_OFF, vm_state=states.ACTIVE, **values)
    with database.read() as session:
        return operations.find(session, made.uuid)


def renew_operations(database, *uuids, host="h1", seconds=LONG):
    with database.begin() as session:
        return operations.renew(session, uuids, host=host, seconds=seconds)


def test_an_operation_that_no_host_begins_in_time_is_taken_once(cell_db):
    made = operation(cell_db, created_at=utcnow())
    assert take_operations(cell_db, seconds=LONG) == []
    (found,) = take_operations(cell_db)
    assert (found.uuid, found.kind, found.host, found.tries) == (made.uuid, "stop", "h1", 0)
    assert (found.project_id, found.request_id) == ("project", "req-1")
    renew_operations(cell_db, made.uuid, seconds=OVER)
    assert len(take_operations(cell_db, seconds=LONG)) == 1 == len(take_operations(cell_db)) + 1


def test_an_operation_that_its_host_has_begun_or_renewed_is_not_taken(cell_db):
    begun, renewed = operation(cell_db), operation(cell_db)
    with cell_db.begin() as session:
        until = utcnow() + datetime.timedelta(seconds=LONG)
        assert operations.take_up(session, begun, until=until)
        assert operations.take_up(session, begun, until=utcnow())  # it comes late
        for wrong in ({"host": "h2"}, {"instance_uuid": renewed.instance_uuid}, {"kind": "start"}):
            values = {name: getattr(begun, name) for name in operations.NAMES} | wrong
            assert not operations.take_up(session, Operation.of(**values), until=until)
    assert renew_operations(cell_db, renewed.uuid) == set()
    assert renew_operations(cell_db, renewed.uuid, host="h2") == {renewed.uuid}
    assert take_operations(cell_db) == []


def test_a_host_that_works_on_no_other_operation_gives_up_its_leases(cell_db):
    kept, left, other = operation(cell_db), operation(cell_db), operation(cell_db, host="h2")
    for each in (kept, left, other):
        renew_operations(cell_db, each.uuid, host=each.host)
    with cell_db.begin() as session:
        operations.end_others(session, [kept.uuid], host="h1")
    assert {each.uuid for each in take_operations(cell_db)} == {left.uuid}


@pytest.mark.parametrize("since", ["created_at", "lease_until"])
@pytest.mark.parametrize("step", ["send", "stay", *DESTROYING])
def test_an_old_step_that_destroys_a_guest_waits_until_its_host_starts(cell_db, step, since):
    made = an_instance(host="h1", vm_state=states.RESIZED, task_state=states.RESIZE_REVERTING)
    long_ago = utcnow() - OLD_COPY - datetime.timedelta(minutes=1)
    with cell_db.begin() as session:
        instances.create(session, made)
        put_under(session, made, step=step, **{since: long_ago})
    assert len(take_operations(cell_db)) == (step not in DESTROYING)
    with cell_db.begin() as session:
        operations.end_others(session, [], host="h1")
    assert len(take_operations(cell_db)) == 1


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
