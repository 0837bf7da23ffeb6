"""Somebody looks at cells before users do."""

import pytest

from roost.cells import CallLimits, Cell
from roost.db.cell import models
from roost.db.engine import Database
from roost.objects import CellMapping
from tests.builders import a_uuid
from tests.fakes.bus import RecordingBus


def a_cell(database, bus=None, *, name="cell1"):
    mapping = CellMapping(uuid=a_uuid(), name=name, database_url=database.url, disabled=False)
    return Cell(mapping, database, bus or RecordingBus(), limits=CallLimits())


@pytest.fixture
def database(make_database):
    return make_database("cell", models.metadata)


def test_a_cell_that_answers_stays_as_it_is(database):
    cell = a_cell(database)
    cell.probe()
    assert not cell.is_unavailable


def test_a_database_that_is_gone_is_known_to_be_away_before_anybody_asks_for_it(tmp_path):
    cell = a_cell(Database(f"sqlite:///{tmp_path}/no/such/folder.sqlite"))
    cell.probe()
    assert cell.is_unavailable
    assert not cell.is_readable
    cell.close()


def test_a_bus_that_is_gone_is_known_to_be_away_before_anybody_sends_something(database):
    bus = RecordingBus()
    bus.away = True
    cell = a_cell(database, bus)
    cell.probe()
    assert cell.is_unavailable
    assert cell.is_readable
    cell.close()
