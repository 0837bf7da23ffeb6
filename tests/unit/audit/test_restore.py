"""Rows of an old copy of a cell, beside the guests that its hosts have by now."""

import pytest

from roost import states
from roost.audit import restore
from roost.audit.lost_rows import Asked
from roost.db.cell import builds, instances
from roost.objects import InstanceMapping, InstanceNUMATopology
from tests.builders import CELL1, NOW, a_selection, a_spec, a_uuid, an_instance


class Cell:
    """A cell as far as repairs go."""

    def __init__(self, database):
        self.database = database


@pytest.fixture
def put_back(cell_db):
    """Create the row of an old copy, with its build if it is being built."""

    def put_back(**values):
        row = an_instance(**{"host": "h1", "node": "h1", "attempt": 1} | values)
        with cell_db.begin() as session:
            instances.create(session, row)
            if row.vm_state == states.BUILDING:
                build = builds.BuildRow(
                    row.uuid, 1, "h1", a_spec(), a_selection(host="h1"), alternates=[], tried=[]
                )
                builds.create(session, build)
        return row

    return put_back


def guest(uuid, **values):
    found = {"uuid": uuid, "attempt": 3, "announced": True, "power_state": states.RUNNING}
    return found | {"rescued": False} | values


def compare(rows, guests, *, mapped=(), whole=True, **more):
    return list(restore.compare(rows, guests, mapped=mapped, whole=whole, **more))


def actions(*arguments, **more):
    return [each.action for each in compare(*arguments, **more)]


def mend(cell_db, rows, guests, **more):
    """Repair all of it, and once more; return the row of the first instance."""
    found = compare(rows, guests, **more)
    done = [restore.repair(Cell(cell_db), each) for each in found]
    for each in found:
        restore.repair(Cell(cell_db), each)
    with cell_db.begin() as session:
        return done, instances.find(session, rows[0].uuid), builds.find(session, rows[0].uuid)


@pytest.mark.parametrize("task", states.BUILD_TASKS)
@pytest.mark.parametrize("host", ["h1", "h2"])
def test_a_row_that_is_being_built_follows_its_guest_wherever_that_is(
    cell_db, put_back, task, host
):
    row = put_back(task_state=task)
    done, found, build = mend(cell_db, [row], {"h1": [], host: [guest(row.uuid)]})
    assert done == [True]
    assert (found.host, found.node, found.attempt) == (host, host, 3)
    assert (found.vm_state, found.task_state, build) == (states.ACTIVE, None, None)


def test_a_server_that_has_moved_since_is_where_its_guest_is(cell_db, put_back):
    row = put_back(vm_state=states.STOPPED, task_state=None)
    _done, found, _build = mend(cell_db, [row], {"h2": [guest(row.uuid)]}, mapped=[row.uuid])
    assert (found.host, found.vm_state) == ("h2", states.STOPPED)


@pytest.mark.parametrize(
    ("vm_state", "task_state", "host"),
    [
        (states.ACTIVE, None, "h1"),
        (states.BUILDING, states.SPAWNING, "h1"),
        (states.ERROR, None, "h1"),
        (states.ERROR, None, None),
    ],
)
def test_a_server_that_was_deleted_since_is_buried(cell_db, put_back, vm_state, task_state, host):
    row = put_back(vm_state=vm_state, task_state=task_state, host=host)
    done, found, _build = mend(cell_db, [row], {"h1": []})
    assert (done, found) == ([True], None)


def test_nothing_is_buried_that_may_live(put_back):
    row = put_back(vm_state=states.ACTIVE, task_state=None)
    assert actions([row], {"h1": [guest(row.uuid)]}) == []
    assert actions([row], {"h1": []}, mapped=[row.uuid]) == []
    assert actions([row], {"h1": []}, whole=False) == []


def test_a_guest_whose_row_is_lost_is_told_and_left(cell_db):
    (found,) = compare([], {"h1": [guest(a_uuid())]})
    assert (found.action, found.host) == (restore.LEAVE, "h1")
    assert not restore.repair(Cell(cell_db), found)


def asked(uuid, *, locked=False, **spec):
    mapping = InstanceMapping.of(
        instance_uuid=uuid,
        request_uuid=a_uuid(),
        cell_uuid=CELL1,
        project_id="mine",
        user_id="me",
        vcpus=1,
        memory_mb=512,
        queued_for_delete=False,
        created_at=NOW,
    )
    return Asked(mapping, a_spec(**spec), locked)


@pytest.mark.parametrize("locked", [False, True])
def test_a_row_that_is_lost_is_made_anew_of_what_others_know(cell_db, locked):
    uuid, off = a_uuid(), {"power_state": states.SHUTDOWN}
    found = compare([], {"h1": [guest(uuid, **off)]}, asked={uuid: asked(uuid, locked=locked)})
    done = [restore.repair(Cell(cell_db), each) for each in found * 2]
    assert done == [True, False]
    with cell_db.read() as session:
        made = instances.get(session, uuid)
    assert (made.host, made.vm_state, made.task_state) == ("h1", states.STOPPED, None)
    assert (made.project_id, made.user_id, made.attempt) == ("mine", "me", 3)
    assert (made.locked, made.created_at) == (locked, NOW)


def test_nobody_guesses_which_devices_a_server_had():
    uuid = a_uuid()
    spec = {"numa_topology": InstanceNUMATopology(cells=[])}
    (found,) = compare([], {"h1": [guest(uuid)]}, asked={uuid: asked(uuid, **spec)})
    assert found.action == restore.LEAVE


def test_a_guest_whose_row_says_deleted_is_left_to_its_host():
    uuid = a_uuid()
    assert compare([], {"h1": [guest(uuid)]}, buried=[uuid]) == []


def test_halves_of_guests_and_what_is_to_end_are_let_be(put_back):
    building, ending = put_back(task_state=states.SPAWNING), put_back(task_state=states.DELETING)
    guests = {"h1": [guest(building.uuid, announced=False), guest(ending.uuid)]}
    assert actions([building, ending], guests, mapped=[building.uuid, ending.uuid]) == []


def test_a_row_that_has_changed_since_it_was_seen_is_let_be(cell_db, put_back):
    row = put_back(task_state=states.SPAWNING)
    found = compare([row], {"h2": [guest(row.uuid)]})
    with cell_db.begin() as session:
        instances.bury(session, row.uuid)
    assert [restore.repair(Cell(cell_db), each) for each in found] == [False]
