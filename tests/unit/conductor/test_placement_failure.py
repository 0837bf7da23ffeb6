"""Why there is no host: in the fault, the history, the notifications and the log."""

import json
import logging

import pytest

from roost.conductor.cell.operations import builds
from roost.conductor.failures import PlacementFailure
from roost.conductor.super import boot
from roost.db.cell import actions, faults
from roost.objects.explanation import plain
from roost.objects.instance import counted_message
from tests.builders import NOW, an_instance
from tests.unit.conductor.test_reschedule import fail, under_way

UNCOUNTED = "No valid host was found. no room"
COUNTED = "No valid host was found. 3 hosts: no room"
NEAREST = {"host": "h1", "node": "h1", "lacks": "none free"}
TABLE = [
    {"filter": "enabled", "asked": 3, "refused": 0, "reasons": {}, "nearest": None},
    {"filter": "ram", "asked": 3, "refused": 3, "reasons": {"no room": 3}, "nearest": NEAREST},
]


def refused_by_all(world):
    world.scheduler.room = {"h1": 0}
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    return uuid


def fault_of(database, uuid):
    with database.read() as session:
        return faults.latest(session, [uuid])[uuid]


def test_the_fault_tells_users_why_and_administrators_how_many(world):
    fault = fault_of(world.cell0, refused_by_all(world))
    assert fault.message == UNCOUNTED
    assert counted_message(fault) == COUNTED
    assert json.loads(fault.details)["filters"] == TABLE


def test_the_history_tells_users_no_numbers(world):
    uuid = refused_by_all(world)
    with world.cell0.read() as session:
        (action,) = actions.list_actions(session, uuid)
        asked = actions.get(session, uuid, action.request_id).events[-1]
    assert action.message == UNCOUNTED
    assert (asked.event, asked.details) == ("scheduler.select_destinations", COUNTED)


def test_the_notification_says_what_every_filter_said(world):
    refused_by_all(world)
    event, payload = world.notifier.sent[-1]
    assert event == "scheduler.select_destinations.error"
    assert payload.reason == COUNTED
    assert [plain(verdict) for verdict in payload.refusals] == TABLE


def test_the_log_says_it_in_one_line(world, caplog):
    caplog.set_level(logging.INFO, logger=boot.__name__)
    uuid = refused_by_all(world)
    assert [record.getMessage() for record in caplog.records] == [
        f"[instance: {uuid}] build failed for good: {COUNTED}; nearest: ram on h1 (none free)"
    ]


@pytest.fixture
def stranded(cell):
    """A build without alternates, in a cell without room."""
    cell.scheduler.room = {"h1": 0}
    return under_way(cell, alternates=(), availability_zone="nova").uuid


def test_a_cell_without_another_host_tells_the_same(cell, stranded, caplog):
    caplog.set_level(logging.WARNING, logger=builds.__name__)
    fail(cell, stranded)

    tried, plain_tried = ". Hosts tried: h1: disk on fire", ". 1 host was tried before."
    fault = fault_of(cell.database, stranded)
    assert (fault.message, counted_message(fault)) == (UNCOUNTED + plain_tried, COUNTED + tried)
    event, payload = cell.notifier.sent[-1]
    assert (event, payload.reason) == ("instance.create.error", COUNTED + tried)
    nearest = "ram on h1 (none free)"
    assert [record.getMessage() for record in caplog.records] == [
        f"[instance: {stranded}] build (attempt 1) failed on h1: disk on fire",
        f"[instance: {stranded}] build failed for good: {COUNTED}{tried}; nearest: {nearest}",
    ]


@pytest.mark.parametrize("details", ["Traceback: 1/0", "[]", "7", '{"a": 1}'])
def test_details_in_other_words_are_not_mistaken(details):
    fault = PlacementFailure("x", "x").fault(an_instance().uuid, host=None)
    fault.details, fault.created_at = details, NOW
    assert counted_message(fault) is None
