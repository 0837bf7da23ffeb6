"""Somebody looks at cells before users do."""

import threading

import pytest

from roost import exception
from roost.cells import CallLimits, Cell, Watch
from roost.db.cell import models
from roost.db.engine import Database
from roost.objects import CellMapping
from tests.builders import a_uuid
from tests.fakes.bus import RecordingBus

PATIENCE = 10


def a_cell(database, bus=None, *, name="cell1"):
    mapping = CellMapping(uuid=a_uuid(), name=name, database_url=database.url, disabled=False)
    return Cell(mapping, database, bus or RecordingBus(), limits=CallLimits())


@pytest.fixture
def database(make_database):
    return make_database("cell", models.metadata)


class Mute(RecordingBus):
    """A bus that answers nobody, until it is told to refuse."""

    def __init__(self):
        super().__init__()
        self.asked = 0
        self.refuse = threading.Event()

    def ping(self, *, seconds):
        self.asked += 1
        self.refuse.wait(PATIENCE)
        raise exception.Unavailable("it has never answered")


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
    bus = Mute()
    bus.refuse.set()
    cell = a_cell(database, bus)
    cell.probe()
    assert cell.is_unavailable
    assert cell.is_readable
    cell.close()


def test_one_that_does_not_answer_is_waited_for_once_and_keeps_nobody_else_waiting(
    database, tmp_path
):
    mute = Mute()
    gone = a_cell(Database(f"sqlite:///{tmp_path}/no/such/folder.sqlite"), name="gone")
    silent = a_cell(database, mute, name="silent")
    watch = Watch(lambda: [silent, gone], interval=0.01)
    watch.start()
    assert _comes_true(lambda: gone.is_unavailable and mute.asked)
    watch.probe()
    assert not silent.is_unavailable
    assert mute.asked == 1
    mute.refuse.set()
    assert _comes_true(lambda: silent.is_unavailable)
    watch.close()
    for cell in (silent, gone):
        cell.close()


def test_it_goes_on_when_nobody_can_say_which_cells_there_are(database):
    answers = [exception.Unavailable("the API database is away"), KeyError("a bug")]
    seen = threading.Event()

    def cells():
        if answers:
            raise answers.pop(0)
        seen.set()
        return []

    watch = Watch(cells, interval=0.01)
    watch.start()
    assert seen.wait(PATIENCE)
    watch.close()


def _comes_true(what):
    pause = threading.Event()
    return any(what() or pause.wait(0.01) for _ in range(100 * PATIENCE))
