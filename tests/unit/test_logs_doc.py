"""``doc/logs.rst`` lists lines to alert on, as the code logs them; lines name instances alike."""

import ast
import pathlib
import re
from typing import NamedTuple

import pytest

TOP = pathlib.Path(__file__).parents[2]
_ROW = re.compile(r"^   \* - ``(?P<pattern>.+)``\n     - (?P<level>[A-Z]+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"%[-.\d]*[a-z]")
_INSTANCE = re.compile(r"\b(instance_uuid|(instance|task)\.uuid)$")
_LEVELS = {"exception": "ERROR"}


class Call(NamedTuple):
    """A call of a logger: ``.*`` in the text stands for each value."""

    place: str
    level: str
    text: str
    first: str


def _calls():
    for path in sorted((TOP / "roost").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="LOG"), attr=attr),
                    args=[ast.Constant(value=str(text)), *values],
                ):
                    level = _LEVELS.get(attr, attr.upper())
                    first = ast.unparse(values[0]) if values else ""
                    place = f"{path.relative_to(TOP)}:{node.lineno}"
                    yield Call(place, level, _PLACEHOLDER.sub(".*", text), first)


CALLS = list(_calls())
ROWS = [(row["pattern"], row["level"]) for row in _ROW.finditer((TOP / "doc/logs.rst").read_text())]


def test_the_table_has_rows():
    assert 15 <= len(ROWS) <= 35


@pytest.mark.parametrize(("pattern", "level"), ROWS)
def test_each_line_to_alert_on_is_logged_at_its_level(pattern, level):
    levels = {call.level for call in CALLS if pattern in call.text}
    assert levels == {level}


def test_a_line_that_names_an_instance_begins_with_it():
    about = [call for call in CALLS if _INSTANCE.search(call.first)]
    assert [call for call in about if not call.text.startswith("[instance: .*] ")] == []
    assert len(about) > 50
