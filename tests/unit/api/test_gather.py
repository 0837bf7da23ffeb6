import dataclasses
import threading
from concurrent import futures

import pytest

from roost import exception
from roost.api.gather import Gatherer


@dataclasses.dataclass
class NamedCell:
    name: str
    is_readable: bool = True


ONE, TWO = NamedCell("one"), NamedCell("two")


@pytest.fixture
def executor():
    with futures.ThreadPoolExecutor(2) as executor:
        yield executor


def _asked(gatherer, work, *cells):
    return {cell.name: answer for cell, answer in gatherer.from_each(cells, work).answers}


def test_all_cells_are_asked_at_once(executor):
    meet = threading.Barrier(2, timeout=10)  # nobody passes alone
    gatherer = Gatherer(executor, timeout=10)
    assert set(_asked(gatherer, lambda _cell: meet.wait(), ONE, TWO)) == {"one", "two"}


def test_a_cell_that_hangs_costs_one_bounded_wait(executor):
    hang = threading.Event()
    gatherer = Gatherer(executor, timeout=0.05)
    gathered = gatherer.from_each([ONE, TWO], lambda cell: cell is TWO or hang.wait(10))
    assert gathered.answers == [(TWO, True)]
    assert gathered.unavailable == [ONE]
    hang.set()


def test_a_cell_that_is_known_to_be_away_is_not_asked(executor):
    asked = []
    gathered = Gatherer(executor, timeout=10).from_each([NamedCell("three", False)], asked.append)
    assert [cell.name for cell in gathered.unavailable] == ["three"]
    assert asked == []


def test_nobody_waits_on_for_a_cell_that_is_given_up_meanwhile(executor):
    hang, four = threading.Event(), NamedCell("four")

    def abandon(cell):
        cell.is_readable = False
        return hang.wait(60)

    assert Gatherer(executor, timeout=60).from_each([four], abandon).unavailable == [four]
    hang.set()


def test_a_cell_that_fails_is_away(executor):
    def fail(_cell):
        raise exception.Unavailable("no route")

    assert Gatherer(executor, timeout=10).from_each([ONE], fail).unavailable == [ONE]


def test_a_cell_is_not_blamed_for_want_of_threads():
    hang = threading.Event()
    with futures.ThreadPoolExecutor(1) as executor:
        executor.submit(hang.wait, 10)
        gatherer = Gatherer(executor, timeout=0.05)
        assert _asked(gatherer, lambda _cell: True, ONE, TWO) == {"one": True, "two": True}
        hang.set()
