"""Who speaks for which cell to the schedulers."""

import pytest

from roost import exception
from roost.callers import Callers, Level, MessageSender
from roost.clock import boot_clock
from roost.scheduler import manager
from roost.scheduler.manager import CellUsers
from tests.builders import CELL1, CELL2, a_context, a_report

CONDUCTORS, HOST = (Callers("api", ["api"]).identify(user) for user in ("cell1", "cell1~h1"))
OTHERS = MessageSender(Level.CELL, "cell2", "cell2")


@pytest.fixture
def users(database):
    return CellUsers(database)


def test_the_first_conductors_that_report_for_a_cell_speak_for_it(users):
    users.check(CONDUCTORS, CELL1)
    users.check(HOST, CELL1)
    assert users.cell_of(HOST) == users.cell_of(CONDUCTORS) == CELL1
    with pytest.raises(exception.Forbidden, match="cell2"):
        users.check(OTHERS, CELL1)


def test_they_speak_for_no_other(users):
    users.check(CONDUCTORS, CELL1)
    with pytest.raises(exception.Forbidden, match=CELL2):
        users.check(CONDUCTORS, CELL2)


def test_a_host_never_is_the_first(users):
    with pytest.raises(exception.Forbidden, match=CELL1):
        users.check(HOST, CELL1)
    with pytest.raises(exception.Forbidden, match="the cell of the bus user"):
        users.cell_of(HOST)


def test_soon_no_scheduler_hears_the_one_that_was_forgotten(users, database, monkeypatch):
    users.check(CONDUCTORS, CELL1)
    other = CellUsers(database)
    assert other.cell_of(HOST) == CELL1
    users.forget(CELL1)
    users.check(OTHERS, CELL1)
    later = boot_clock() + 5
    monkeypatch.setattr(manager, "boot_clock", lambda: later)
    with pytest.raises(exception.Forbidden):
        other.check(CONDUCTORS, CELL1)
    with pytest.raises(exception.Forbidden):
        other.cell_of(HOST)


def test_who_is_confined_to_no_cell_speaks_for_all(users):
    for user in ("api", None):
        caller = Callers(user, ["api"]).identify(user)
        users.check(caller, CELL2)
        assert users.cell_of(caller) is None


def by(caller):
    context = a_context()
    context.caller = caller
    return context


def test_a_cell_does_not_take_a_host_over_from_another(manager):
    for caller, cell_uuid in ((CONDUCTORS, CELL1), (OTHERS, CELL2)):
        manager.check_cell(caller, cell_uuid)
    report = a_report("h1", cell_uuid=CELL1)
    manager.update_resource_stats(by(CONDUCTORS), report=report)
    for node in (report.node, "another"):
        stolen = a_report("h1", cell_uuid=CELL2, node=node)
        with pytest.raises(exception.Forbidden, match="remove-host"):
            manager.update_resource_stats(by(OTHERS), report=stolen)
    (kept,) = manager.list_hosts(a_context())
    assert kept.cell_uuid == CELL1
