"""Instances, builds, actions, services and identity in a cell's database."""

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.db.cell import actions, deletion, identity, instances, models, operations
from roost.objects import InstanceAction, InstanceActionEvent
from tests.builders import (
    CELL1,
    CELL2,
    NOW,
    a_pci_allocation,
    a_pinned_topology,
    a_uuid,
    an_instance,
)
from tests.operation_rows import a_build


def an_event(name="compute.spawn", at=NOW, **values):
    return InstanceActionEvent(
        **{
            "event": name,
            "host": "h1",
            "start_time": at,
            "finish_time": at,
            "result": "Success",
            "details": None,
        }
        | values
    )


def an_action(uuid, request_id="req-1", events=(), *, finish_time=None, action="create"):
    return InstanceAction(
        instance_uuid=uuid,
        action=action,
        request_id=request_id,
        user_id="user",
        project_id="project",
        start_time=NOW,
        finish_time=finish_time,
        message=None,
        events=list(events),
    )


def test_an_instance_comes_back_as_it_was_created(cell_db):
    made = an_instance(metadata={"a": "é"}, tags=["t"], host="h1", attempt=1)
    with cell_db.begin() as session:
        assert instances.create(session, made)
        assert instances.get(session, made.uuid) == made


def test_an_instance_keeps_the_resources_that_it_has_on_its_host(cell_db):
    made = an_instance(numa_topology=a_pinned_topology(2, 3), pci=[a_pci_allocation()])
    moved = {"numa_topology": a_pinned_topology(5), "pci": [a_pci_allocation(count=2)]}
    with cell_db.begin() as session:
        instances.create(session, made)
        assert instances.get(session, made.uuid) == made
        instances.update(session, made.uuid, moved, expected={})
        found = instances.get(session, made.uuid)
        assert {"numa_topology": found.numa_topology, "pci": found.pci} == moved
        instances.update(session, made.uuid, {"numa_topology": None, "pci": []}, expected={})
        found = instances.get(session, made.uuid)
        assert (found.numa_topology, found.pci) == (None, [])


def test_an_instance_is_changed_when_it_is_as_expected(cell_db):
    made = an_instance(host="h1", attempt=1)
    with cell_db.begin() as session:
        instances.create(session, made)
        instances.update(
            session,
            made.uuid,
            {"task_state": states.SPAWNING},
            expected={"host": "h1", "attempt": 1, "task_state": states.BUILD_TASKS},
        )
        assert instances.get(session, made.uuid).task_state == states.SPAWNING


def test_when_an_instance_was_launched_is_written_once(cell_db):
    """Whatever is made of it later, its bill goes on."""
    fresh, older = an_instance(launched_at=None), an_instance(launched_at=NOW)
    with cell_db.begin() as session:
        for made in (fresh, older):
            instances.create(session, made)
            instances.update(session, made.uuid, {"launched_at": NOW.isoformat()}, expected={})
        assert instances.get(session, fresh.uuid).launched_at > NOW  # by the database's clock
        assert instances.get(session, older.uuid).launched_at == NOW


@pytest.mark.parametrize(
    "expected", [{"host": "h2"}, {"attempt": 2}, {"task_state": None}, {"vm_state": ["active"]}]
)
def test_an_instance_that_is_not_as_expected_is_left_alone(cell_db, expected):
    made = an_instance(host="h1", attempt=1)
    with cell_db.begin() as session:
        instances.create(session, made)
        with pytest.raises(exception.Conflict, match="building/scheduling"):
            instances.update(session, made.uuid, {"power_state": 1}, expected=expected)
        assert instances.get(session, made.uuid).power_state == 0


def test_a_move_that_the_table_forbids_is_refused(cell_db):
    made = an_instance()
    with cell_db.begin() as session:
        instances.create(session, made)
        with pytest.raises(exception.Conflict):
            instances.update(
                session, made.uuid, {"vm_state": states.STOPPED, "task_state": None}, expected={}
            )


def test_a_buried_instance_is_found_only_by_those_who_ask_for_it(cell_db):
    made = an_instance()
    with cell_db.begin() as session:
        instances.create(session, made)
        assert instances.mark_deleted(session, made.uuid)
        assert not instances.mark_deleted(session, made.uuid)
        assert instances.find(session, made.uuid) is None
        assert instances.get(session, made.uuid, deleted=True).vm_state == states.DELETED


def test_a_removed_instance_leaves_no_row(cell_db):
    made = an_instance()
    with cell_db.begin() as session:
        instances.create(session, made)
        operations.start_builds(session, [(a_build(made), "req-1")], now=cell_db.now())
        actions.start(session, an_action(made.uuid, events=[an_event()]))
        instances.remove(session, [made.uuid])
        assert instances.find(session, made.uuid, deleted=True) is None
        assert operations.list_under_way(session, made.uuid) == []
        assert actions.list_actions(session, made.uuid) == []


def test_an_action_begun_twice_is_begun_once(cell_db):
    uuid = a_uuid()
    with cell_db.begin() as session:
        for _ in range(2):
            actions.start(session, an_action(uuid, events=[an_event()]))
        assert len(actions.list_actions(session, uuid)) == 1
        assert len(actions.get(session, uuid, "req-1").events) == 1


def test_what_is_over_at_once_takes_no_steps_from_what_is_under_way(cell_db):
    """A server is locked while it is stopped: the stop's steps are the stop's."""
    uuid, event = a_uuid(), an_event("compute.power_off")
    lock = an_action(uuid, "req-2", [an_event("lock")], finish_time=NOW, action="lock")
    with cell_db.begin() as session:
        actions.start(session, an_action(uuid, "req-1", action="stop"), operation_uuid=uuid)
        actions.start(session, lock)
        actions.add_to_operation(session, uuid, [event], finish=True, message="done")
        stopped, locked = (actions.get(session, uuid, f"req-{at}") for at in (1, 2))
    assert [each.event for each in stopped.events] == ["compute.power_off"]
    assert (stopped.message, stopped.finish_time is None) == ("done", False)
    assert [each.event for each in locked.events] == ["lock"]
    assert locked.message is None


def test_of_the_history_of_a_server_its_making_and_the_latest_are_kept(cell_db, monkeypatch):
    monkeypatch.setattr(actions, "KEPT", 3)
    monkeypatch.setattr(actions, "_PRUNED", 1)
    uuid, other = a_uuid(), a_uuid()
    with cell_db.begin() as session:
        actions.start(session, an_action(other, "req-0"))
        actions.start(session, an_action(uuid, "req-0"))
        actions.start(session, an_action(uuid, "req-1", action="rebuild"))  # goes on
        for number in range(2, 9):
            known = {"action": "lock", "events": [an_event()], "finish_time": NOW}
            actions.start(session, an_action(uuid, f"req-{number}", **known))
        kept = [one.request_id for one in actions.list_actions(session, uuid)]
        assert kept == ["req-8", "req-7", "req-6", "req-1", "req-0"]
        assert len(actions.list_actions(session, other)) == 1
        events = sa.select(sa.func.count()).select_from(models.instance_action_events)
        assert session.scalar(events) == 3


def test_a_cell_database_belongs_to_one_cell(cell_db):
    with cell_db.begin() as session:
        assert identity.get(session) == (CELL1, "cell1")
        identity.set_identity(session, cell_uuid=CELL1, cell_name="renamed")
        assert identity.get(session) == (CELL1, "renamed")
        with pytest.raises(exception.Conflict, match="renamed"):
            identity.set_identity(session, cell_uuid=CELL2, cell_name="other")


def test_burial_leaves_nothing_but_the_marked_row(cell_db):
    made = an_instance(host="h1")
    with cell_db.begin() as session:
        instances.create(session, made)
        operations.start_builds(session, [(a_build(made), "req-1")], now=cell_db.now())
        (operation,) = deletion.begin(session, an_action(made.uuid, action="delete"), uuid=a_uuid())
        deletion.finish(session, operation, [an_event("compute.destroy")], expected={})
        with pytest.raises(exception.Conflict):
            deletion.finish(session, operation, [], expected={})
        assert operations.list_under_way(session, made.uuid) == []
        assert actions.get(session, made.uuid, "req-1").finish_time is not None
