"""Each module of tests is in the suite, or in exactly one part of the soak."""

import collections
import pathlib

import pytest

from tests import parts

ROOT = pathlib.Path(__file__).parents[2]
STAGES = ("unit", "functional", "integration", "simulated")


def test_no_module_is_in_two_parts():
    assert [m for m, count in collections.Counter(parts.IN_PARTS).items() if count > 1] == []


@pytest.mark.parametrize("module", parts.IN_PARTS)
def test_a_module_of_a_part_is_there(module):
    assert (ROOT / module).is_file()


def test_every_module_of_tests_is_in_a_stage():
    """So what is in no part is in the suite."""
    found = {path.relative_to(ROOT / "tests").parts[0] for path in ROOT.glob("tests/**/test_*.py")}
    assert found == set(STAGES)


def test_who_contributes_reads_of_every_part():
    text = (ROOT / "CONTRIBUTING.rst").read_text()
    named = (*parts.MODULES, parts.MODES, parts.STEPS, parts.SEEDS, parts.CLIENTS)
    assert [part for part in named if f"``{part}``" not in text] == []
