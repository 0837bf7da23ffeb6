"""Rows of an old copy of a cell, beside the guests that its hosts have by now."""

import dataclasses

import pytest

from roost import states
from roost.audit import restore
from tests.builders import a_uuid


@dataclasses.dataclass(frozen=True)
class Row:
    uuid: str = dataclasses.field(default_factory=a_uuid)
    host: str | None = "h1"
    vm_state: str = states.ACTIVE
    task_state: str | None = None


def compare(rows, guests, *, mapped=None, **more):
    """Compare, where somebody has all of it unless said otherwise."""
    mapped = [row.uuid for row in rows] if mapped is None else mapped
    return list(restore.compare(rows, guests, mapped=mapped, **more))


def told(*arguments, **more):
    return [(each.uuid, each.host, each.found) for each in compare(*arguments, **more)]


@pytest.mark.parametrize("vm_state", [*states.WITH_GUEST, states.SOFT_DELETED, states.BUILDING])
def test_a_row_whose_guest_is_where_it_says_is_as_it_should_be(vm_state):
    row = Row(vm_state=vm_state)
    assert compare([row], {"h1": [row.uuid], "h2": []}, mapped=[]) == []


def test_a_guest_elsewhere_and_one_of_two_are_for_people_to_decide():
    moved, twice = Row(), Row()
    guests = {"h2": [moved.uuid, twice.uuid], "h1": [twice.uuid]}
    assert told([moved, twice], guests) == [
        (moved.uuid, "h1", "its guest is on h2"),
        (twice.uuid, "h1", "there are guests on h1 and h2"),
    ]


@pytest.mark.parametrize(
    ("vm_state", "task_state"), [(states.ACTIVE, None), (states.BUILDING, states.SPAWNING)]
)
def test_what_has_neither_guest_nor_owner_was_deleted_since(vm_state, task_state):
    row = Row(vm_state=vm_state, task_state=task_state)
    assert told([row], {"h1": []}, mapped=[]) == [
        (row.uuid, "h1", "it has neither guest nor mapping: it was deleted since")
    ]
    in_cell0 = Row(host=None, vm_state=states.ERROR)
    assert [uuid for uuid, *_ in told([in_cell0], {}, mapped=[])] == [in_cell0.uuid]


def test_a_guest_that_is_gone_is_told_of_servers_at_rest():
    resting, building = Row(), Row(vm_state=states.BUILDING, task_state=states.SPAWNING)
    failed, ending = Row(vm_state=states.ERROR), Row(task_state=states.DELETING)
    rows = [resting, building, failed, ending]
    assert told(rows, {"h1": []}) == [(resting.uuid, "h1", "its guest is missing")]


def test_a_host_that_does_not_answer_is_told_and_nothing_concluded_from_it():
    row = Row()
    for mapped in ([], [row.uuid]):
        assert told([row], {"h2": []}, mapped=mapped, silent=["h1"]) == [
            (None, "h1", "it does not answer: its guests are unknown")
        ]


def test_one_silent_host_hides_nothing_of_the_others():
    row = Row()
    found = told([row], {"h1": []}, mapped=[], silent=["h2"])
    assert (row.uuid, "h1", "it has neither guest nor mapping: it was deleted since") in found


def test_a_guest_without_a_row_is_told_unless_its_row_says_deleted():
    lost, buried = a_uuid(), a_uuid()
    (found,) = compare([], {"h1": [lost, buried]}, deleted=[buried])
    assert (found.uuid, found.found) == (lost, "there is a guest on h1, and no row")
    assert "save what its user needs" in found.advice
