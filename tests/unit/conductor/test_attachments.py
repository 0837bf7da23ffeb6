"""Attachments in their cell: how they end, with their hosts and without them."""

import dataclasses

import pytest

from roost import states
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.db.cell import actions, instances, operations
from roost.objects import InstanceActionEvent, NetworkRequest, OperationParams
from roost.operations import kinds
from roost.operations.kinds import ATTACH_INTERFACE, DETACH_INTERFACE
from tests.builders import NOW, a_uuid, an_instance
from tests.operation_rows import a_report
from tests.unit.conductor.test_expired_tasks import events, told
from tests.unit.conductor.test_reschedule import end_leases
from tests.unit.db.test_cell import an_action

REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


@pytest.fixture(params=[ATTACH_INTERFACE, DETACH_INTERFACE], ids=str)
def begun(cell, request):
    """Begin it, as the API does that then dies: nobody waits for the end."""
    made = an_instance(host="h1", vm_state=states.PAUSED, task_state=None)
    with cell.database.begin() as session:
        instances.create(session, made)
        return operations.start(
            session,
            request.param,
            an_action(made.uuid, action=request.param.action),
            uuid=a_uuid(),
            params=OperationParams.of(request=REQUEST, port_id=a_uuid()),
        )


def outcome(cell, operation):
    return cell.database.query(actions.find_end, operation.uuid)


def states_of(cell, operation):
    found = cell.database.query(instances.get, operation.instance_uuid)
    return found.vm_state, found.task_state, found.power_state


def end(cell, operation, **values):
    event = InstanceActionEvent(
        event=f"compute.{operation.kind}",
        host="h1",
        start_time=NOW,
        finish_time=NOW,
        result="Error" if values else "Success",
        details=values.get("reason"),
    )
    found = ObservedGuest("h1", None, None, [event], values.pop("reason", None))
    cell.outcomes.end(cell.context, operation, a_report(found, **values))


def test_its_host_gets_what_it_needs_and_its_end_leaves_the_server_in_its_state(cell, begun):
    outcomes = cell.outcomes
    taken = outcomes.take_up(cell.context, begun, seconds=30)
    assert (taken.params, taken.instance.uuid) == (begun.params, begun.instance_uuid)
    before = states_of(cell, begun)
    assert outcome(cell, begun) is None
    end(cell, begun)
    assert outcome(cell, begun) == (None, None)
    assert states_of(cell, begun) == before
    assert cell.database.query(operations.list_under_way, begun.instance_uuid) == []


def test_it_fails_with_the_error_of_its_host_and_the_server_goes_on(cell, begun):
    before = states_of(cell, begun)
    end(cell, begun, reason="The address is in use.", code="address_in_use")
    assert outcome(cell, begun) == ("The address is in use.", "address_in_use")
    assert states_of(cell, begun) == before


def test_one_for_which_nobody_waits_is_sent_again_and_ends(cell, begun, monkeypatch):
    kind = dataclasses.replace(kinds.get(begun.kind), tries=2)
    monkeypatch.setitem(kinds.KINDS, begun.kind, kind)
    before = states_of(cell, begun)
    for _ in range(4):
        end_leases(cell)
        cell.sweep()
    assert told(cell) == [("h1", "run")] * 2
    why = "The host of the server did not do it: it was sent there 3 times."
    assert outcome(cell, begun) == (why, None)
    assert states_of(cell, begun) == before
    assert events(cell, begun.instance_uuid)[-1] == ("cell-conductor.give_up", "Error", why)


def test_one_whose_host_is_down_ends_with_that_reason(cell, begun):
    end_leases(cell)
    cell.down = {"h1"}
    cell.sweep()
    assert outcome(cell, begun).message.startswith("The host of the server went down")
    assert cell.database.query(operations.list_under_way, begun.instance_uuid) == []
