"""Ports that a network service keeps are let go when their instance ends, or it does not end."""

import contextlib
import dataclasses

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.db.cell import models, operations
from tests.operation_rows import a_report, begin_delete
from tests.unit.conductor.test_reschedule import end_leases, get, give_up, under_way


class Ports:
    """Notes whose ports were let go; ``away``: none can be."""

    def __init__(self):
        self.freed = []
        self.away = False

    def free(self, instance_uuid):
        if self.away:
            raise exception.Unavailable("not now")
        self.freed.append(instance_uuid)
        return 1


@pytest.fixture
def ports():
    return Ports()


def bury(cell, ports, uuid):
    cell.outside_ports = ports
    operation = begin_delete(cell.database, uuid)
    cell.outcomes.end(cell.context, operation, a_report(ObservedGuest("h1", None)))


def bury_alone(cell, ports, uuid):
    cell.outside_ports = ports
    begin_delete(cell.database, uuid)
    end_leases(cell)
    cell.down = {"h1"}
    cell.sweep()


def abandon(cell, ports, uuid):
    give_up(dataclasses.replace(cell, outside_ports=ports), uuid, "no such network")


def bury_what_is_on_no_host(cell, ports, uuid):
    cell.outside_ports = ports
    nowhere = {"host": None, "vm_state": states.SHELVED_OFFLOADED, "task_state": None}
    with cell.database.begin() as session:
        operations.preempt(session, uuid, "it has ended")
        session.execute(sa.update(models.instances).values(**nowhere))
    assert begin_delete(cell.database, uuid) is None
    cell.sweep()
    assert cell.bus.sent == []


ENDS = [bury, bury_alone, bury_what_is_on_no_host, abandon]


@pytest.mark.parametrize("end", ENDS)
def test_ports_go_with_their_instance(cell, ports, end):
    made = under_way(cell)
    end(cell, ports, made.uuid)
    assert ports.freed == [made.uuid]
    left = get(cell, made.uuid)
    assert left is None or left.vm_state == states.ERROR


@pytest.mark.parametrize("end", ENDS)
def test_an_instance_whose_ports_cannot_be_let_go_does_not_end_yet(cell, ports, end):
    made, ports.away = under_way(cell), True
    with contextlib.suppress(exception.Unavailable):  # the sweep logs it
        end(cell, ports, made.uuid)
    nowhere = end is bury_what_is_on_no_host
    state = states.SHELVED_OFFLOADED if nowhere else states.BUILDING
    assert get(cell, made.uuid).vm_state == state
