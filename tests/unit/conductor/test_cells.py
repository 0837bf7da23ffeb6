"""Cells as those above them see them, while operators change them."""

import dataclasses

import pytest

from roost import exception
from roost.db.api import cells
from roost.db.cell import instances, services
from tests.builders import CELL1, CELL2


def let_time_pass(world):
    world.cells._known = dataclasses.replace(world.cells._known, at=float("-inf"))


def test_a_host_that_moved_is_found_in_its_new_cell_within_seconds(world):
    world.cells.all()
    assert world.cells.of_host("h1").uuid == CELL1
    with world.api_db.begin() as session:
        cells.unmap_host(session, "h1")
        cells.map_host(session, "h1", CELL2)
    let_time_pass(world)
    assert world.cells.of_host("h1").uuid == CELL2


def test_a_host_that_is_not_mapped_yet_is_searched_in_the_cells_and_mapped(world):
    with world.cells.get(CELL2).database.begin() as session:
        services.report(session, host="new", binary="roost-compute")
        services.report(session, host="c2", binary="roost-cell-conductor")
    assert world.cells.search("new").uuid == CELL2
    assert world.cells.of_host("new").uuid == CELL2
    for no_compute in ("c2", "nobody"):
        with pytest.raises(exception.NotFound, match=no_compute):
            world.cells.search(no_compute)


def test_a_cell_that_does_not_answer_a_probe_is_known_to_be_away(world):
    world.cells.probe()
    assert world.cells.unavailable() == []
    world.buses["fake://cell2/"].away = True
    world.cells.probe()
    assert [cell.uuid for cell in world.cells.unavailable()] == [CELL2]


def test_an_instance_that_somebody_else_ends_meanwhile_is_gone(world, monkeypatch):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    look = instances.find_state

    def look_and_lose(session, uuid):
        found = look(session, uuid)
        instances.mark_deleted(session, uuid)
        return found

    monkeypatch.setattr(instances, "find_state", look_and_lose)
    assert not world.cells.get(CELL1).end_instance(world.context, uuid)
