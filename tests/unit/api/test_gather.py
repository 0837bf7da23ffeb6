import dataclasses
import threading
from concurrent import futures

import pytest

from roost import exception
from roost.api.gather import Gatherer


@dataclasses.dataclass(frozen=True)
class NamedCell:
    name: str

    @property
    def uuid(self):
        return self.name


ONE, TWO = NamedCell("one"), NamedCell("two")


@pytest.fixture
def executor():
    with futures.ThreadPoolExecutor(2) as executor:
        yield executor


def _asked(gatherer, work, *cells):
    return {cell.name: answer for cell, answer in gatherer.from_each(cells, work)}


def test_all_cells_are_asked_at_once(executor):
    meet = threading.Barrier(2, timeout=10)  # nobody passes alone
    gatherer = Gatherer(executor, timeout=10, pause=10)
    assert set(_asked(gatherer, lambda _cell: meet.wait(), ONE, TWO)) == {"one", "two"}


def test_a_cell_that_hangs_costs_one_bounded_wait_then_none(executor):
    hang = threading.Event()
    asked = []

    def work(cell):
        asked.append(cell.name)
        return hang.wait(10) if cell is ONE else True

    gatherer = Gatherer(executor, timeout=0.05, pause=60)
    assert _asked(gatherer, work, ONE, TWO) == {"two": True}
    assert _asked(gatherer, work, ONE, TWO) == {"two": True}
    assert asked.count("one") == 1
    hang.set()


def test_a_cell_is_asked_again_after_the_pause(executor):
    away = [exception.Unavailable("no route")]

    def work(_cell):
        if away:
            raise away.pop()
        return True

    gatherer = Gatherer(executor, timeout=10, pause=0)
    assert _asked(gatherer, work, ONE) == {}
    assert _asked(gatherer, work, ONE) == {"one": True}


def test_a_cell_is_not_blamed_for_want_of_threads():
    hang = threading.Event()
    with futures.ThreadPoolExecutor(1) as executor:
        executor.submit(hang.wait, 10)
        gatherer = Gatherer(executor, timeout=0.05, pause=60)
        assert _asked(gatherer, lambda _cell: True, ONE, TWO) == {"one": True, "two": True}
        hang.set()


def test_our_own_mistakes_are_not_hidden(executor):
    gatherer = Gatherer(executor, timeout=10, pause=60)
    with pytest.raises(ZeroDivisionError):
        gatherer.from_each([ONE], lambda _cell: 1 // 0)
