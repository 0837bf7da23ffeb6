"""How tests are handed out to the processes that run side by side."""

import pathlib

import pytest

from tests import xdist_scheduling

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("module", xdist_scheduling.LONGEST_FIRST)
def test_the_modules_named_are_there(module):
    assert (ROOT / module).is_file()


def test_what_takes_longest_begins_and_the_others_keep_their_order():
    others = ["tests/b.py::one", "tests/a.py::two"]
    longest = [f"{module}::x" for module in xdist_scheduling.LONGEST_FIRST]
    assert sorted([*others, *reversed(longest)], key=xdist_scheduling.turn) == [*longest, *others]


def test_modules_stay_together_but_for_those_that_go_one_by_one():
    split = xdist_scheduling.Scheduling._split_scope
    assert split(None, "tests/a.py::test_b[x::y]") == "tests/a.py"
    alone = f"{xdist_scheduling.ONE_BY_ONE[0]}::test_b[1]"
    assert split(None, alone) == alone
