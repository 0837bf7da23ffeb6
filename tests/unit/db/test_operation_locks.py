"""What may be under way on a server side by side: operations begin at once, in threads."""

from concurrent import futures

import pytest

from roost import exception, states
from roost.db.cell import actions, instances, operations
from roost.objects import NetworkRequest, OperationParams
from roost.operations.kinds import (
    ATTACH_INTERFACE,
    CREATE_IMAGE,
    DETACH_INTERFACE,
    HARD_REBOOT,
    RESIZE,
    STOP,
)
from tests.builders import a_migration, a_uuid, an_image, an_instance
from tests.unit.db.test_cell import an_action

REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


@pytest.fixture
def active(cell_db):
    """A server that does nothing, and its database."""
    made = an_instance(host="h1", vm_state=states.ACTIVE, task_state=None)
    cell_db.write(instances.create, made)
    return cell_db, made.uuid


def begin(active, kind, **params):
    database, uuid = active
    operation_uuid, migration = a_uuid(), None
    if kind is RESIZE:
        migration = a_migration(instance_uuid=uuid)

    def start(session):
        return operations.start(
            session,
            kind,
            an_action(uuid, operation_uuid, action=kind.action),
            uuid=operation_uuid,
            params=OperationParams.of(**params),
            migration=migration,
        )

    return database.write(start)


def attach(active, port_id=None):
    return begin(active, ATTACH_INTERFACE, request=REQUEST, port_id=port_id or a_uuid())


def under_way(active):
    database, uuid = active
    return {one.kind for one in database.query(operations.list_under_way, uuid)}


def blocking(active, kind, **params):
    database, uuid = active
    lock = operations.lock_of(kind, OperationParams.of(**params))
    found = database.query(operations.find_blocking, uuid, lock)
    return found and found.kind


def test_three_attachments_at_once_beside_an_image(active):
    beside = [lambda: begin(active, CREATE_IMAGE, image=an_image()), *[lambda: attach(active)] * 3]
    with futures.ThreadPoolExecutor(4) as threads:
        begun = [each.result(60) for each in [threads.submit(one) for one in beside]]
    assert len({one.uuid for one in begun}) == 4
    assert under_way(active) == {"create_image", "attach_interface"}
    assert active[0].query(operations.find, active[1]).kind == "create_image"


@pytest.mark.parametrize("kind", [STOP, RESIZE])
def test_what_has_the_server_for_itself_does_not_begin_beside_an_attachment(active, kind):
    attach(active)
    with pytest.raises(exception.Conflict):
        begin(active, kind)
    assert under_way(active) == {"attach_interface"}
    assert active[0].query(instances.get, active[1]).task_state is None
    assert blocking(active, kind) == "attach_interface"


@pytest.mark.parametrize("kind", [STOP, RESIZE])
def test_an_attachment_does_not_begin_beside_what_has_the_server_for_itself(active, kind):
    begin(active, kind)
    with pytest.raises(exception.Conflict):
        attach(active)
    assert under_way(active) == {kind.name}
    assert blocking(active, ATTACH_INTERFACE, port_id=a_uuid()) == kind.name


def test_of_two_operations_on_one_port_one_is_refused(active):
    attach(active, port := a_uuid())
    for kind in (ATTACH_INTERFACE, DETACH_INTERFACE):
        with pytest.raises(exception.Conflict):
            begin(active, kind, request=REQUEST, port_id=port)
        assert blocking(active, kind, port_id=port) == "attach_interface"
    assert blocking(active, DETACH_INTERFACE, port_id=a_uuid()) is None


def test_of_all_that_begins_at_once_it_is_either_one_alone_or_those_that_share(active):
    ways = [lambda: begin(active, STOP), lambda: attach(active)] * 4
    with futures.ThreadPoolExecutor(len(ways)) as threads:
        tried = [threads.submit(one) for one in ways]
    refused = [one for one in tried if isinstance(one.exception(60), exception.Conflict)]
    assert under_way(active) in ({"stop"}, {"attach_interface"})
    assert len(refused) == (7 if under_way(active) == {"stop"} else 4)


def test_what_cannot_wait_ends_all_that_is_under_way_and_says_so(active):
    ended = [attach(active).uuid for _ in range(2)]
    begin(active, HARD_REBOOT)
    assert under_way(active) == {"hard_reboot"}
    for uuid in ended:
        told = active[0].query(actions.find_end, uuid)
        assert told == ("It was ended by another action: reboot.", None)


def test_the_same_operation_begun_twice_is_begun_once(active):
    database, uuid = active
    record, operation_uuid = an_action(uuid, action="attach_interface"), a_uuid()
    params = OperationParams.of(request=REQUEST, port_id=a_uuid())
    for _ in range(2):
        with database.begin() as session:
            operations.start(session, ATTACH_INTERFACE, record, uuid=operation_uuid, params=params)
    (one,) = database.query(operations.list_under_way, uuid)
    assert (one.uuid, one.params) == (operation_uuid, params)
