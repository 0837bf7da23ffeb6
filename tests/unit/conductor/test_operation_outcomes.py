"""What hosts say of their guests' power, written down; and power tasks that nobody works on."""

import pytest

from roost import exception, states
from roost.conductor.cell.guest_reports import GuestReports
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.db.cell import actions, faults, instances, left_behind, operations, services
from roost.objects import HostFinding, InstanceActionEvent, Operation
from roost.operations.kinds import OF_TASK
from tests.builders import NOW, a_uuid, an_instance
from tests.fakes.service_groups import force_down
from tests.operation_rows import a_report, put_under

EVENT = InstanceActionEvent(
    event="compute.power_off",
    host="h1",
    start_time=NOW,
    finish_time=NOW,
    result="Success",
    details=None,
)


@pytest.fixture
def power(cell):
    return cell.outcomes


@pytest.fixture
def server(cell):
    """Make an instance on h1; one under a task has an action that began with it."""

    def server(vm_state=states.ACTIVE, task_state=None, **values):
        made = an_instance(host="h1", vm_state=vm_state, task_state=task_state, **values)
        with cell.database.begin() as session:
            instances.create(session, made)
            if task_state is not None:
                put_under(session, made)
        return made.uuid

    return server


def _get(cell, uuid):
    with cell.database.read() as session:
        return instances.get(session, uuid)


def _history(cell, uuid):
    with cell.database.read() as session:
        brief = actions.list_actions(session, uuid)
        return [actions.get(session, uuid, one.request_id) for one in brief]


def _fault(cell, uuid):
    with cell.database.read() as session:
        return faults.latest(session, [uuid]).get(uuid)


def _operation(cell, uuid):
    with cell.database.read() as session:
        return operations.find(session, uuid)


def _states(cell, uuid):
    found = _get(cell, uuid)
    return found.vm_state, found.task_state, found.power_state


def _end(power, cell, uuid, found, task):
    if task is None:
        _settle(power, cell, uuid, found, states.ACTIVE)
    else:
        kind = OF_TASK[task].name
        names = {"uuid": _operation(cell, uuid).uuid, "instance_uuid": uuid, "kind": kind}
        operation = Operation.of(**names, host=found.host, step=kind)
        power.end(cell.context, operation, a_report(found))


def _settle(power, cell, uuid, found, vm_state):
    GuestReports(cell.database, cell.notifier).settle(cell.context, uuid, found, seen=vm_state)


@pytest.mark.parametrize("vm_state", [states.ACTIVE, states.ERROR])
def test_a_stopped_guest_makes_a_stopped_server_and_ends_the_action(cell, power, server, vm_state):
    uuid = server(vm_state, states.POWERING_OFF)
    found = ObservedGuest("h1", states.SHUTDOWN, states.STOPPED, [EVENT])
    _end(power, cell, uuid, found, states.POWERING_OFF)
    assert _states(cell, uuid) == (states.STOPPED, None, states.SHUTDOWN)
    (action,) = _history(cell, uuid)
    assert action.finish_time is not None
    assert action.message is None
    assert [event.event for event in action.events] == ["compute.power_off"]


def test_a_failed_stop_leaves_a_server_that_runs_and_says_why(cell, power, server):
    uuid = server(states.ACTIVE, states.POWERING_OFF)
    found = ObservedGuest("h1", states.RUNNING, states.ACTIVE, [EVENT], "It does not want to.")
    _end(power, cell, uuid, found, states.POWERING_OFF)
    assert _states(cell, uuid) == (states.ACTIVE, None, states.RUNNING)
    assert _history(cell, uuid)[0].message == "It does not want to."
    assert _fault(cell, uuid) is None


@pytest.mark.parametrize("vm_state", [states.ACTIVE, states.STOPPED, states.ERROR])
def test_of_a_guest_whose_power_nobody_knows_only_the_task_ends(cell, power, server, vm_state):
    uuid = server(vm_state, states.REBOOTING_HARD)
    found = ObservedGuest("h1", states.NOSTATE, None, [], "The hypervisor is away.")
    _end(power, cell, uuid, found, states.REBOOTING_HARD)
    assert _states(cell, uuid) == (vm_state, None, states.NOSTATE)


@pytest.mark.parametrize("task", [states.POWERING_OFF, None])
def test_a_guest_that_is_gone_is_an_error_with_a_fault(cell, power, server, task):
    uuid = server(states.ACTIVE, task)
    found = ObservedGuest("h1", None, None, [], "It is gone.")
    _end(power, cell, uuid, found, task)
    assert _states(cell, uuid) == (states.ERROR, None, states.NOSTATE)
    fault = _fault(cell, uuid)
    assert (fault.message, fault.host, fault.code) == ("It is gone.", "h1", 500)


def test_what_failed_on_the_host_is_in_the_details_of_a_fault(cell, power, server):
    uuid = server(states.ACTIVE, states.REBUILDING)
    told = {name: getattr(EVENT, name) for name in ("event", "host", "start_time", "finish_time")}
    failed = InstanceActionEvent(**told, result="Error", details="/var/lib is full")
    found = ObservedGuest("h1", None, None, [EVENT, failed], "It failed.")
    _end(power, cell, uuid, found, states.REBUILDING)
    fault = _fault(cell, uuid)
    assert (fault.message, fault.details) == (
        "It failed.",
        f"{NOW:%Y-%m-%dT%H:%M:%SZ} {EVENT.host}: /var/lib is full",
    )


@pytest.mark.parametrize(
    ("found", "power_state"),
    [
        (ObservedGuest("h1", states.SHUTDOWN, states.STOPPED, [EVENT]), states.SHUTDOWN),
        (ObservedGuest("h1", states.NOSTATE, None, [EVENT]), states.NOSTATE),
        (ObservedGuest("h1", None, None, [EVENT], "There is none."), states.NOSTATE),
        (ObservedGuest("h1", states.SHUTDOWN, states.RESCUED, [EVENT]), states.SHUTDOWN),
    ],
)
def test_a_stopped_guest_makes_a_server_that_is_put_away(cell, power, server, found, power_state):
    uuid = server(states.ACTIVE, states.SOFT_DELETING)
    _end(power, cell, uuid, found, states.SOFT_DELETING)
    assert _states(cell, uuid) == (states.SOFT_DELETED, None, power_state)
    assert _get(cell, uuid).soft_deleted_at is not None
    (action,) = _history(cell, uuid)
    assert action.finish_time is not None


def test_what_could_not_be_put_away_stays_to_be_until_its_host_is_told_again(cell, power, server):
    uuid = server(states.ACTIVE, states.SOFT_DELETING)
    found = ObservedGuest("h1", states.RUNNING, states.ACTIVE, [EVENT], "It does not want to.")
    _end(power, cell, uuid, found, states.SOFT_DELETING)
    assert _states(cell, uuid)[:2] == (states.ACTIVE, states.SOFT_DELETING)
    (action,) = _history(cell, uuid)
    assert (action.finish_time, len(action.events)) == (None, 1)


@pytest.mark.parametrize(
    ("found", "vm_state"),
    [
        (ObservedGuest("h1", states.RUNNING, states.ACTIVE), states.ACTIVE),
        (ObservedGuest("h1", states.RUNNING, states.RESCUED), states.RESCUED),
        (
            ObservedGuest("h1", states.SHUTDOWN, states.STOPPED, [], "It does not want to."),
            states.STOPPED,
        ),
        (ObservedGuest("h1", states.NOSTATE, None, [], "Nobody can tell."), states.ACTIVE),
        (ObservedGuest("h1", None, None, [], "It is gone."), states.ERROR),
    ],
)
def test_a_restored_server_is_as_its_guest_is_found(cell, power, server, found, vm_state):
    uuid = server(states.SOFT_DELETED, states.RESTORING, soft_deleted_at=NOW)
    _end(power, cell, uuid, found, states.RESTORING)
    assert _states(cell, uuid)[:2] == (vm_state, None)
    assert _get(cell, uuid).soft_deleted_at is None
    assert (_fault(cell, uuid) is not None) == (vm_state == states.ERROR)
    assert _history(cell, uuid)[0].message == found.reason


def test_what_is_put_away_follows_its_guest_in_nothing_but_the_power_state(cell, power, server):
    uuid = server(states.SOFT_DELETED, soft_deleted_at=NOW)
    found = ObservedGuest("h1", states.SHUTDOWN, states.STOPPED)
    _settle(power, cell, uuid, found, states.SOFT_DELETED)
    assert _states(cell, uuid) == (states.SOFT_DELETED, None, states.SHUTDOWN)
    assert (_get(cell, uuid).soft_deleted_at, _history(cell, uuid)) == (NOW, [])


def test_a_server_that_waits_for_its_user_may_be_reverted_when_its_guest_is_gone(
    cell, power, server
):
    uuid = server(states.RESIZED, power_state=states.RUNNING)
    _settle(power, cell, uuid, ObservedGuest("h1", None), states.RESIZED)
    assert _states(cell, uuid) == (states.RESIZED, None, states.NOSTATE)
    assert (_fault(cell, uuid), _history(cell, uuid)) == (None, [])


def test_a_server_at_rest_whose_guest_stopped_by_itself_has_that_in_its_history(
    cell, power, server
):
    uuid = server(states.ACTIVE, power_state=states.RUNNING)
    found = ObservedGuest("h1", states.SHUTDOWN, states.STOPPED, [], "It had stopped by itself.")
    _settle(power, cell, uuid, found, states.ACTIVE)
    assert _states(cell, uuid) == (states.STOPPED, None, states.SHUTDOWN)
    (action,) = _history(cell, uuid)
    assert (action.action, action.message) == ("stop", "It had stopped by itself.")
    assert action.finish_time is not None


def test_at_rest_the_power_state_alone_may_be_news(cell, power, server):
    uuid = server(states.ACTIVE, power_state=states.NOSTATE)
    found = ObservedGuest("h1", states.RUNNING, states.ACTIVE)
    _settle(power, cell, uuid, found, states.ACTIVE)
    assert _states(cell, uuid) == (states.ACTIVE, None, states.RUNNING)
    assert _history(cell, uuid) == []


@pytest.mark.parametrize(
    ("host", "task"), [("h2", states.POWERING_OFF), ("h1", states.REBOOTING), ("h1", None)]
)
def test_what_is_not_as_expected_stays_as_it_is(cell, power, server, host, task):
    uuid, found = (
        server(states.ACTIVE, states.POWERING_OFF),
        ObservedGuest(host, states.SHUTDOWN, states.STOPPED, [EVENT]),
    )
    with pytest.raises(exception.Conflict):
        _end(power, cell, uuid, found, task)
    assert _states(cell, uuid)[:2] == (states.ACTIVE, states.POWERING_OFF)
    assert _history(cell, uuid)[0].events == []


def _overdue(cell):
    """What the sweeper takes, once the first leases are over at once."""
    with cell.database.begin() as session:
        (found,) = operations.take_overdue(session, seconds=-1)
    return found


def test_a_late_copy_of_a_report_does_not_end_the_next_operation_of_the_kind(cell, power, server):
    uuid = server(states.ACTIVE, states.REBOOTING)
    first, found = (
        _operation(cell, uuid),
        ObservedGuest("h1", states.RUNNING, states.ACTIVE, [EVENT]),
    )
    power.end(cell.context, first, a_report(found))
    with cell.database.begin() as session:
        instances.update(session, uuid, {"task_state": states.REBOOTING}, expected={})
        put_under(session, instances.get(session, uuid), request_id="req-2")
    with pytest.raises(exception.Conflict, match=first.uuid):
        power.end(cell.context, first, a_report(found))
    assert _get(cell, uuid).task_state == states.REBOOTING
    power.end(cell.context, _operation(cell, uuid), a_report(found))
    assert _get(cell, uuid).task_state is None
    assert [len(action.events) for action in _history(cell, uuid)] == [1, 1]


@pytest.mark.parametrize("vm_state", [states.ACTIVE, states.STOPPED, states.ERROR])
def test_a_task_whose_host_is_down_ends_and_says_so(cell, power, server, vm_state):
    uuid = server(vm_state, states.REBOOTING_HARD)
    power.overdue(cell.context, _overdue(cell), is_down=True)
    assert _states(cell, uuid)[:2] == (vm_state, None)
    (action,) = _history(cell, uuid)
    assert action.finish_time is not None
    assert "went down" in action.message
    assert [(event.event, event.result) for event in action.events] == [
        ("cell-conductor.give_up", "Error")
    ]


def test_a_task_that_its_host_goes_on_with_is_not_given_up(cell, power, server):
    uuid = server(states.ACTIVE, states.POWERING_OFF)
    overdue = _overdue(cell)
    with cell.database.begin() as session:
        assert operations.renew(session, [overdue.uuid], host="h1", seconds=60) == set()
    with pytest.raises(exception.Conflict):
        power.overdue(cell.context, overdue, is_down=True)
    assert _states(cell, uuid)[:2] == (states.ACTIVE, states.POWERING_OFF)


def test_a_host_that_is_forced_down_takes_up_no_operation(cell, power, server):
    operation = _operation(cell, server(states.ACTIVE, states.POWERING_OFF))
    force_down(cell.database, "h1")
    assert power.take_up(cell.context, operation, seconds=30) is None


def test_what_a_host_finds_amiss_is_told_to_those_who_listen(cell, power):
    finding = HostFinding(
        host="h1", instance_uuid=a_uuid(), kind="guest_left", reason="nobody knows it"
    )
    GuestReports(cell.database, cell.notifier).notify(cell.context, finding)
    assert cell.notifier.sent == [("compute.reconcile.guest_left", finding)]


def test_what_a_host_that_is_forced_down_says_is_from_before_that_and_forgets_nothing(cell):
    guests, uuid = GuestReports(cell.database, cell.notifier), a_uuid()
    with cell.database.begin() as session:
        service = services.report(session, host="h1", binary="roost-compute")
        services.update(session, service.uuid, forced_down=True)
        left_behind.note(session, uuid, "h1")
    guests.locate("h1", [], and_others_here=True)
    assert cell.database.query(left_behind.on_host, "h1") == {uuid}
    with cell.database.begin() as session:
        services.update(session, service.uuid, forced_down=False)
    guests.locate("h1", [], and_others_here=True)
    assert cell.database.query(left_behind.on_host, "h1") == set()
