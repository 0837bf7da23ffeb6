"""Servers that users delete are put away, can be restored, and count against no quota meanwhile."""

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.api.dependencies import ApiOptions
from roost.db.api import models, quota
from roost.db.api import soft_delete as mappings
from roost.db.cell import instances, operations
from roost.objects.mapping import CELL0_UUID
from roost.operations.kinds import OF_TASK
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1
from tests.fakes.lost_commits import lost_answers
from tests.functional.api.test_server_actions import (
    ACTIVE,
    ERROR,
    PAUSED,
    STOPPED,
    act,
    conflict,
    history,
    sent,
)

NOTHING = {"instances": 0, "cores": 0, "ram": 0, "server_groups": 0}
ONE = NOTHING | {"instances": 1, "cores": 1, "ram": 512}
RESTORE = {"restore": None}


@pytest.fixture
def options():
    return ApiOptions(max_limit=5, keeps_deleted=True)


@pytest.fixture
def charged(world):
    """Make a server that is charged for."""

    def charged(cell_uuid=CELL1, **values):
        made = world.place(cell_uuid, **{**ACTIVE, **values})
        with world.api_db.begin() as session:
            quota.charge(session, project_id="project", instances=1, cores=1, ram=512)
        return made.uuid

    return charged


@pytest.fixture
def put_away(world, charged):
    """Make a server that was put away, as its host says by now."""

    def put_away(**values):
        uuid = charged(**values)
        assert delete(world, uuid).status_code == 204
        settle(world, uuid, states.SOFT_DELETED)
        sent(world).clear()
        return uuid

    return put_away


def settle(world, uuid, vm_state):
    with world.databases[CELL1].begin() as session:
        instances.update(session, uuid, {"vm_state": vm_state, "task_state": None}, expected={})
        operations.preempt(session, uuid, "It has ended.")


def unsettled(world):
    """Return the servers whose cells may not have begun what is noted for them."""
    with world.api_db.read() as session:
        return [found.instance_uuid for _, found in mappings.list_unsettled(session)]


def note_restore(world, uuid):
    """Do what a restore does in the API's own database."""
    defaults = {"instances": 1, "cores": 1, "ram": 512}
    with world.api_db.begin() as session:
        assert mappings.restore(session, world.mapping(uuid), defaults=defaults).operation_uuid


def delete(world, uuid, token=ALICE):
    return world.client.delete(f"/v2.1/servers/{uuid}", token=token)


def show(world, uuid):
    return world.client.get(f"/v2.1/servers/{uuid}", token=ALICE).json["server"]


def listed(world, query="", token=ALICE):
    answer = world.client.get(f"/v2.1/servers?{query}", token=token)
    return [found["id"] for found in answer.json["servers"]]


def take_away(world, cell_uuid=CELL1):
    """Let a cell go away between a look at a server and what is done about it."""

    def away():
        raise exception.Unavailable("no answer")

    world.databases[cell_uuid].begin = away


def told(uuid, task):
    return [("h1", "run", uuid, OF_TASK[task].name)]


def runs(world):
    """Return what hosts were sent: host, method, instance and kind of operation."""
    found = [(host, method, told["operation"]) for host, method, told in sent(world)]
    return [(host, method, one.instance_uuid, one.kind) for host, method, one in found]


@pytest.mark.parametrize("values", [ACTIVE, STOPPED, PAUSED])
def test_a_server_is_put_away_its_host_told_and_its_quota_given_back(world, charged, values):
    uuid = charged(**values)
    answer = delete(world, uuid)
    assert (answer.status_code, answer.content) == (204, b"")
    row, mapping = world.instance(uuid), world.mapping(uuid)
    assert (row.vm_state, row.task_state) == (values["vm_state"], states.SOFT_DELETING)
    assert runs(world) == told(uuid, states.SOFT_DELETING)
    assert world.usage() == NOTHING
    assert (mapping.put_away_at is not None, mapping.queued_for_delete) == (True, False)
    (action,) = history(world, uuid)
    assert (action.action, action.user_id, action.finish_time) == ("delete", "alice", None)
    assert action.request_id == answer.headers["x-openstack-request-id"]


def test_what_is_put_away_is_shown_but_not_in_lists_unless_asked_for(world, put_away):
    uuid = put_away()
    shown = show(world, uuid)
    assert (shown["status"], shown["OS-EXT-STS:vm_state"]) == ("SOFT_DELETED", "soft-delete")
    assert shown["OS-EXT-STS:task_state"] is None
    assert listed(world) == []
    assert listed(world, "status=SOFT_DELETED") == [uuid]
    everything = "all_tenants=1&"
    assert listed(world, f"{everything}soft_deleted=true", ADMIN) == [uuid]
    assert listed(world, f"{everything}vm_state=soft-delete", ADMIN) == [uuid]
    assert listed(world, everything, ADMIN) == []
    assert listed(world, f"{everything}deleted=true", ADMIN) == []


def test_a_second_delete_changes_nothing(world, put_away):
    uuid = put_away()
    before = world.mapping(uuid)
    assert delete(world, uuid).status_code == 204
    assert world.mapping(uuid) == before
    assert world.instance(uuid).vm_state == states.SOFT_DELETED
    assert (sent(world), world.usage()) == ([], NOTHING)


@pytest.mark.parametrize(
    "values",
    [
        ERROR,
        ACTIVE | {"task_state": states.DELETING},
        ACTIVE | {"vm_state": states.BUILDING, "task_state": states.SPAWNING},
    ],
)
def test_what_cannot_be_put_away_is_deleted_at_once(world, charged, values):
    uuid = charged(**values)
    assert delete(world, uuid).status_code == 204
    assert world.instance(uuid).task_state == states.DELETING
    assert world.mapping(uuid).queued_for_delete
    assert [method for _, method, _ in sent(world)] == ["run"]
    assert world.usage() == NOTHING


def test_what_has_no_host_is_deleted_at_once(world, charged):
    uuid = charged(CELL0_UUID, vm_state=states.ERROR, host=None, node=None)
    assert delete(world, uuid).status_code == 204
    assert world.instance(uuid, CELL0_UUID).vm_state == states.DELETED
    assert (world.mapping(uuid).queued_for_delete, world.usage()) == (True, NOTHING)


def test_a_wish_is_withdrawn_at_once(world, charged):
    uuid = charged(None)
    assert delete(world, uuid).status_code == 204
    assert (world.mapping(uuid), world.usage()) == (None, NOTHING)


def test_a_locked_server_is_not_put_away_but_by_administrators(world, charged):
    uuid = charged(locked=True)
    assert "locked" in conflict(delete(world, uuid))
    assert (world.instance(uuid).task_state, world.usage()) == (None, ONE)
    assert delete(world, uuid, ADMIN).status_code == 204
    assert world.instance(uuid).task_state == states.SOFT_DELETING


def test_by_force_a_server_is_deleted_at_once_and_given_back_once(world, charged, put_away):
    for uuid in (charged(), put_away()):
        sent(world).clear()
        assert act(world, uuid, {"forceDelete": None}).status_code == 202
        assert world.instance(uuid).task_state == states.DELETING
        assert world.mapping(uuid).queued_for_delete
        assert [method for _, method, _ in sent(world)] == ["run"]
    assert world.usage() == NOTHING


def test_a_delete_while_the_cell_goes_away_is_remembered_as_putting_away(world, charged):
    uuid = charged()
    take_away(world)
    assert delete(world, uuid).status_code == 204
    world.databases[CELL1].read = world.databases[CELL1].begin
    mapping = world.mapping(uuid)
    assert (mapping.put_away_at is not None, mapping.queued_for_delete) == (True, False)
    assert world.usage() == NOTHING
    assert listed(world) == []
    assert unsettled(world) == [uuid]


def test_a_restore_counts_the_server_again_and_tells_its_host(world, put_away):
    uuid = put_away(vm_state=states.STOPPED)
    answer = act(world, uuid, RESTORE)
    assert (answer.status_code, answer.content) == (202, b"")
    row, mapping = world.instance(uuid), world.mapping(uuid)
    assert (row.vm_state, row.task_state) == (states.SOFT_DELETED, states.RESTORING)
    assert runs(world) == told(uuid, states.RESTORING)
    assert (world.usage(), mapping.put_away_at) == (ONE, None)
    assert [action.action for action in history(world, uuid)] == ["restore", "delete"]
    settle(world, uuid, states.ACTIVE)
    assert world.instance(uuid).soft_deleted_at is None
    assert (listed(world), show(world, uuid)["status"]) == ([uuid], "ACTIVE")
    assert unsettled(world) == []


def test_what_was_restored_can_be_put_away_and_restored_again(world, put_away):
    uuid = put_away()
    for _ in range(2):
        assert act(world, uuid, RESTORE).status_code == 202
        settle(world, uuid, states.ACTIVE)
        assert (delete(world, uuid).status_code, world.usage()) == (204, NOTHING)
        settle(world, uuid, states.SOFT_DELETED)
    made = [action.action for action in history(world, uuid)]
    assert made == ["delete", "restore", "delete", "restore", "delete"]


def test_a_server_may_be_put_away_while_it_is_restored(world, put_away):
    uuid = put_away()
    act(world, uuid, RESTORE)
    assert delete(world, uuid).status_code == 204
    row = world.instance(uuid)
    assert (row.vm_state, row.task_state) == (states.SOFT_DELETED, states.SOFT_DELETING)
    assert world.usage() == NOTHING


def test_without_room_in_the_quota_nothing_is_restored(world, put_away):
    uuid = put_away()
    with world.api_db.begin() as session:
        quota.set_for_project(session, "project", {"instances": 0})
    answer = act(world, uuid, RESTORE)
    assert answer.status_code == 403
    assert "Quota exceeded" in answer.json["forbidden"]["message"]
    row = world.instance(uuid)
    assert (row.vm_state, row.task_state) == (states.SOFT_DELETED, None)
    assert (world.mapping(uuid).put_away_at is not None, world.usage()) == (True, NOTHING)
    assert sent(world) == []


@pytest.mark.parametrize(
    ("values", "state"),
    [
        (ACTIVE, "vm_state active"),
        (ERROR, "vm_state error"),
        (ACTIVE | {"task_state": states.REBOOTING}, "vm_state active"),
        (ACTIVE | {"task_state": states.SOFT_DELETING}, "vm_state active"),
    ],
)
def test_what_is_not_put_away_cannot_be_restored(world, charged, values, state):
    uuid = charged(**values)
    message = conflict(act(world, uuid, RESTORE))
    assert message == f"Cannot 'restore' instance {uuid} while it is in {state}"
    assert world.usage() == ONE


def test_what_is_being_restored_or_deleted_for_good_cannot_be_restored(world, put_away):
    uuid = put_away()
    act(world, uuid, RESTORE)
    assert "task_state restoring" in conflict(act(world, uuid, RESTORE))
    assert world.usage() == ONE
    act(world, uuid, {"forceDelete": None})
    assert "task_state deleting" in conflict(act(world, uuid, RESTORE))
    assert world.usage() == NOTHING


def test_what_is_reclaimed_this_moment_cannot_be_restored(world, put_away):
    uuid = put_away()
    with world.api_db.begin() as session:
        session.exec_driver_sql("UPDATE instance_mappings SET queued_for_delete = true")
    assert act(world, uuid, RESTORE).status_code == 404
    assert (world.usage(), sent(world)) == (NOTHING, [])


def test_a_restore_of_which_the_cell_did_not_hear_is_accepted_again(world, put_away):
    """Whoever served the first one died between the databases."""
    uuid = put_away()
    note_restore(world, uuid)
    assert act(world, uuid, RESTORE).status_code == 202
    assert (world.instance(uuid).task_state, world.usage()) == (states.RESTORING, ONE)


def test_a_restore_of_which_the_cell_did_not_hear_is_begun_before_the_next_delete(world, put_away):
    uuid = put_away()
    note_restore(world, uuid)
    assert delete(world, uuid).status_code == 204
    assert runs(world) == [*told(uuid, states.RESTORING), *told(uuid, states.SOFT_DELETING)]
    assert [action.action for action in history(world, uuid)] == ["delete", "restore", "delete"]
    assert (world.usage(), unsettled(world)) == (NOTHING, [])


def test_nothing_is_put_away_before_its_cell_can_hear_of_the_restore_before(world, put_away):
    uuid = put_away()
    note_restore(world, uuid)
    take_away(world)
    answer = delete(world, uuid)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert (world.mapping(uuid).put_away_at, world.usage()) == (None, ONE)
    assert unsettled(world) == [uuid]


def test_what_was_put_away_is_restored_though_nobody_noted_that_its_cell_had_heard(world, charged):
    """Whoever served the delete died after the cell had begun it."""
    uuid = charged()
    with world.api_db.begin() as session:
        noted = mappings.soft_delete(session, uuid)
    assert delete(world, uuid).status_code == 204
    settle(world, uuid, states.SOFT_DELETED)
    with world.api_db.begin() as session:
        table = models.instance_mappings
        session.execute(sa.update(table).values(operation_uuid=noted.operation_uuid))
    assert act(world, uuid, RESTORE).status_code == 202
    assert (world.instance(uuid).task_state, world.usage()) == (states.RESTORING, ONE)
    assert [action.action for action in history(world, uuid)] == ["restore", "delete"]
    assert unsettled(world) == []


def test_an_administrator_cannot_declare_what_is_put_away(world, put_away, charged):
    being = charged(task_state=states.SOFT_DELETING)
    for uuid in (put_away(), being):
        body = {"os-resetState": {"state": "active"}}
        conflict(act(world, uuid, body, ADMIN))


@pytest.mark.parametrize("action", [{"os-start": None}, {"reboot": {"type": "HARD"}}])
def test_nothing_else_is_done_to_what_is_put_away(world, put_away, action):
    assert "vm_state soft-delete" in conflict(act(world, put_away(), action))


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "not-committed"])
def test_both_are_done_once_though_commits_go_unheard(world, charged, committed):
    uuid = charged()
    stores = (world.api_db, *world.databases.values())
    with lost_answers(*stores, committed=committed):
        assert delete(world, uuid).status_code == 204
    assert (world.usage(), unsettled(world)) == (NOTHING, [])
    settle(world, uuid, states.SOFT_DELETED)
    with lost_answers(*stores, committed=committed):
        assert act(world, uuid, RESTORE).status_code == 202
    assert (world.usage(), unsettled(world)) == (ONE, [])
    assert [action.action for action in history(world, uuid)] == ["restore", "delete"]


class TestWithoutTheOption:
    @pytest.fixture
    def options(self):
        return ApiOptions()

    def test_a_server_is_deleted_at_once(self, world, charged):
        uuid = charged()
        assert delete(world, uuid).status_code == 204
        assert world.instance(uuid).task_state == states.DELETING

    def test_what_was_put_away_before_can_be_restored_or_deleted_for_good(self, world, charged):
        uuid = charged()
        with world.api_db.begin() as session:
            noted = mappings.soft_delete(session, uuid)
            mappings.settle(session, noted.operation_uuid)
        with world.databases[CELL1].begin() as session:
            session.exec_driver_sql("UPDATE instances SET vm_state = 'soft-delete'")
        assert act(world, uuid, RESTORE).status_code == 202
        assert world.usage() == ONE
        assert delete(world, uuid).status_code == 204
        assert (world.instance(uuid).task_state, world.usage()) == (states.DELETING, NOTHING)
