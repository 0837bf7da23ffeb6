"""Rows of an old copy of a cell, beside the guests that its hosts have by now."""

import pytest

from roost import exception, states
from roost.audit import restore
from roost.audit.restore import ApiRecord
from roost.db.api.soft_delete import TakenBack
from roost.db.cell import audits, builds, instances, services, soft_delete
from roost.objects import InstanceMapping, InstanceNUMATopology
from tests.builders import CELL1, NOW, a_selection, a_spec, a_uuid, an_image, an_instance


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


def compare(rows, guests, *, mapped=(), **more):
    return list(restore.compare(rows, guests, mapped=mapped, **more))


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
    row = put_back(vm_state=states.ACTIVE, task_state=None)
    _done, found, _build = mend(cell_db, [row], {"h2": [guest(row.uuid)]}, mapped=[row.uuid])
    assert (found.host, found.node, found.vm_state) == ("h2", "h2", states.ACTIVE)


@pytest.mark.parametrize("row_is", states.WITH_GUEST)
@pytest.mark.parametrize("guest_is", states.AS_FOUND)
@pytest.mark.parametrize("home", ["h1", "h2"])
def test_a_server_that_rests_is_as_its_guest_is(cell_db, put_back, row_is, guest_is, home):
    row = put_back(vm_state=row_is, task_state=None)
    guests = {"h1": [], home: [guest(row.uuid, power_state=guest_is, attempt=1)]}
    _done, found, _build = mend(cell_db, [row], guests)
    assert (found.host, found.vm_state) == (home, states.AS_FOUND[guest_is])
    assert compare([found], guests) == []


def test_a_guest_of_which_nothing_can_be_told_leaves_its_row(put_back):
    row = put_back(vm_state=states.STOPPED, task_state=None)
    assert compare([row], {"h1": [guest(row.uuid, power_state=states.NOSTATE, attempt=1)]}) == []


def test_a_task_that_waits_is_for_an_operator_to_release(cell_db, put_back):
    row = put_back(vm_state=states.ACTIVE, task_state=states.POWERING_OFF)
    guests = {"h1": [guest(row.uuid, power_state=states.SHUTDOWN)]}
    _done, found, _build = mend(cell_db, [row], guests)
    assert (found.vm_state, found.task_state) == (states.ACTIVE, states.POWERING_OFF)
    assert found.attempt == 3


@pytest.mark.parametrize("vm_state", [states.ACTIVE, states.STOPPED, states.ERROR])
@pytest.mark.parametrize("task", [None, *states.REBUILD_TASKS])
def test_a_server_that_was_rebuilt_since_is_what_its_guest_was_made_of(
    cell_db, put_back, vm_state, task
):
    row = put_back(vm_state=vm_state, task_state=task, attempt=2)
    image = an_image(name="new")
    told = guest(row.uuid, attempt=2 if task else 3, image=image.note())
    _done, found, _build = mend(cell_db, [row], {"h1": [told]})
    assert (found.attempt, found.image) == (told["attempt"], image)
    assert (found.vm_state, found.task_state) == (states.ACTIVE, None)


def test_a_server_in_error_that_was_not_rebuilt_since_stays_so(put_back):
    row = put_back(vm_state=states.ERROR, task_state=None)
    assert compare([row], {"h1": [guest(row.uuid, attempt=1)]}) == []


@pytest.mark.parametrize(
    ("turn", "unheard", "power_state", "vm_state"),
    [
        (2, False, states.RUNNING, states.ACTIVE),
        (2, False, states.SHUTDOWN, states.STOPPED),  # and its user has stopped it since
        (2, True, states.RUNNING, states.ACTIVE),
        (2, True, states.SHUTDOWN, states.SOFT_DELETED),  # its cell had not heard of it then
        (1, False, states.RUNNING, states.SOFT_DELETED),  # the cell knows as much: it is to stop
        (None, False, states.RUNNING, states.SOFT_DELETED),  # so it is
    ],
)
def test_a_server_that_its_user_took_back_since_is_back(
    cell_db, put_back, turn, unheard, power_state, vm_state
):
    row = put_back(vm_state=states.SOFT_DELETED, task_state=None)
    with cell_db.begin() as session:
        instances.update(session, row.uuid, {"turns": 1}, expected={})
        (row,) = audits.list_live(session, [row.uuid])
    told, back = guest(row.uuid, attempt=1, power_state=power_state), {}
    if turn is not None:
        back[row.uuid] = TakenBack(turn, unheard)
    _done, found, _build = mend(cell_db, [row], {"h1": [told]}, back=back)
    with cell_db.read() as session:
        heard = soft_delete.find(session, row.uuid)
    assert found.vm_state == vm_state
    assert heard.turn == (1 if vm_state == states.SOFT_DELETED else 2)


def test_a_row_whose_own_host_has_its_guest_stays_there_whoever_else_has_one(put_back):
    row = put_back(vm_state=states.ACTIVE, task_state=None)
    here, there = guest(row.uuid, attempt=1), guest(row.uuid)
    assert compare([row], {"h1": [here], "h2": [there]}) == []


def test_a_guest_that_may_be_elsewhere_too_moves_no_row(put_back):
    row = put_back(vm_state=states.ACTIVE, task_state=None, attempt=2)
    (twice,) = compare([row], {"h1": [], "h2": [guest(row.uuid)], "h3": [guest(row.uuid)]})
    assert (twice.action, twice.uuid) == (restore.LEAVE, row.uuid)
    assert "h2 and h3" in twice.why
    same, later = guest(row.uuid, attempt=2), guest(row.uuid, attempt=3)
    down, unknown = compare([row], {"h2": [same]}, silent=["h1"])
    assert (down.action, down.host, down.uuid) == (restore.LEAVE, "h1", None)
    assert (unknown.action, unknown.uuid) == (restore.LEAVE, row.uuid)
    _down, proven = compare([row], {"h2": [later]}, silent=["h1"])
    assert proven.action == restore.SETTLE


def test_a_row_stays_whose_host_cannot_say_how_its_guest_is(put_back):
    row = put_back(vm_state=states.ACTIVE, task_state=None)
    unclear = guest(row.uuid, attempt=None, announced=False, power_state=states.NOSTATE)
    (found,) = compare([row], {"h1": [unclear], "h2": [guest(row.uuid, attempt=99)]})
    assert (found.action, found.uuid, found.host) == (restore.LEAVE, row.uuid, "h1")


GOOD = guest(a_uuid())


@pytest.mark.parametrize(
    "guests",
    [
        None,
        "text",
        [{}],
        [{**GOOD, "uuid": "x"}],
        [{name: value for name, value in GOOD.items() if name != "announced"}],
        [{**GOOD, "attempt": "99"}],
        [{**GOOD, "image": "{"}],
        [{**GOOD, "power_state": None}],
    ],
)
def test_what_cannot_be_read_of_a_hosts_answer_is_refused(guests):
    restore.check_told([GOOD], {})
    with pytest.raises(exception.Invalid, match="cannot be read"):
        restore.check_told(guests, {})


@pytest.mark.parametrize("state", [{"state_id": a_uuid()}, ["x"], {"starts": 1}])
def test_what_cannot_be_read_of_which_daemon_a_host_is_is_refused(state):
    restore.check_told([], a_state())
    with pytest.raises(exception.Invalid, match="cannot be read"):
        restore.check_told([], state)


def test_a_row_that_is_lost_is_not_made_for_one_of_two_guests():
    uuid = a_uuid()
    guests = {"h1": [guest(uuid)], "h2": [guest(uuid)]}
    (found,) = compare([], guests, asked={uuid: asked(uuid)})
    assert (found.action, found.uuid) == (restore.LEAVE, uuid)


def test_a_host_whose_machine_was_replaced_since_goes_on(cell_db):
    before, now = a_state(), a_state()
    with cell_db.begin() as session:
        for host in ("h1", "h2"):
            services.report(session, host=host, binary=restore.COMPUTE, state=before)
        known = services.states_of(session, binary=restore.COMPUTE)
    told = {"h1": now, "h2": before, "h3": now, "h4": {}}
    found = list(restore.strangers(known, told))
    assert [(each.action, each.host) for each in found] == [(restore.KNOW, "h1")]
    assert [restore.repair(Cell(cell_db), each) for each in found * 2] == [True, False]
    with cell_db.begin() as session:
        services.report(session, host="h1", binary=restore.COMPUTE, state=now)
        with pytest.raises(exception.Conflict):
            services.report(session, host="h1", binary=restore.COMPUTE, state=before)


def a_state():
    return {"state_id": a_uuid(), "starts": 1, "run_id": a_uuid()}


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
    assert actions([row], {"h1": [guest(row.uuid, attempt=1)]}) == []
    assert actions([row], {"h1": []}, mapped=[row.uuid]) == []
    assert actions([row], {"h1": []}, silent=["h2"]) == [restore.LEAVE]  # the host, that is


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
    return ApiRecord(mapping, a_spec(**spec), locked)


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


def test_a_row_that_is_gone_since_it_was_seen_is_let_be(cell_db, put_back):
    row = put_back(task_state=states.SPAWNING)
    found = compare([row], {"h2": [guest(row.uuid)]})
    with cell_db.begin() as session:
        instances.mark_deleted(session, row.uuid)
    assert [restore.repair(Cell(cell_db), each) for each in found] == [False]


@pytest.mark.parametrize("change", [{"host": "h2"}, {"attempt": 2}, {"task_state": "powering-off"}])
@pytest.mark.parametrize("there", [True, False])
def test_a_row_that_has_changed_since_it_was_seen_is_let_be(cell_db, put_back, there, change):
    row = put_back(vm_state=states.ACTIVE, task_state=None)
    found = compare([row], {"h1": [], "h3": [guest(row.uuid)] if there else []})
    assert len(found) == 1
    with cell_db.begin() as session:
        instances.update(session, row.uuid, change, expected={})
        changed = instances.get(session, row.uuid)
    assert [restore.repair(Cell(cell_db), each) for each in found] == [False]
    with cell_db.read() as session:
        assert instances.get(session, row.uuid) == changed
