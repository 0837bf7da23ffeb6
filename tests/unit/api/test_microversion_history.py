"""The history says of each microversion what is so, and the stories show it."""

import ast
import importlib.util
import pathlib
import re
import sys

import pytest

from roost.api import microversions
from roost.api.placement.microversions import is_below
from roost.api.servers.schemas import CREATE, UPDATE
from roost.standalone.tables import ROUTES

COMPUTE = [route for route in ROUTES if not is_below(route.path)]
_spec = importlib.util.spec_from_file_location(
    "microversion_history", pathlib.Path(__file__).parents[3] / "doc/ext/microversion_history.py"
)
history = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(history)
_STORIES = pathlib.Path(__file__).parents[2] / "functional" / "api"


def _stories():
    """Return the microversions that have stories, by the names of the tests."""
    found = set()
    for path in _STORIES.glob("test_microversions_*.py"):
        first, last = map(int, re.findall(r"\d+", path.stem))
        for node in ast.parse(path.read_text()).body:
            named = isinstance(node, ast.FunctionDef) and re.match(r"test_2_(\d+)_", node.name)
            if named:
                assert first <= int(named[1]) <= last, f"{node.name} is not in {path.name}"
                found.add(int(named[1]))
    return found


def test_every_microversion_that_is_offered_is_there_once_and_no_other():
    minors = [difference.minor for difference in history.HISTORY]
    assert minors == [*range(microversions.MINIMUM, microversions.MAXIMUM + 1)]


def test_what_is_served_has_a_story_and_what_is_not_has_none():
    served = {difference.minor for difference in history.HISTORY if difference.served}
    assert served == _stories()


@pytest.mark.parametrize(
    ("needs", "served"),
    [
        ("", True),
        ("action os-stop", True),
        ("action fly", False),
        ("path /os-keypairs", True),
        ("path /moon", False),
        ("field tags", True),
        ("field moon", False),
        ("filter tags-any", True),
        ("filter moon", False),
        ("feature moon", False),
    ],
)
def test_what_is_needed_is_looked_for_where_it_would_be(needs, served):
    assert history.MicroversionChange(1, "", needs).served is served


def test_every_difference_is_told_and_says_what_it_needs():
    for difference in history.HISTORY:
        assert difference.what.endswith(".")
        assert difference.needs.partition(" ")[0] in history.KINDS


def test_routes_come_and_go_with_microversions_that_are_served():
    turns = {route.since for route in COMPUTE} | {route.until + 1 for route in COMPUTE}
    served = {difference.minor for difference in history.HISTORY if difference.served}
    assert turns - {microversions.MAXIMUM + 1} <= served


def test_bodies_and_queries_change_with_microversions_that_are_served():
    served = {difference.minor for difference in history.HISTORY if difference.served}
    for route in COMPUTE:
        for schema in filter(None, (route.query, route.body)):
            before = None
            for minor, document in sorted(schema.documents.items()):
                if document != before and minor <= microversions.MAXIMUM:
                    assert minor in served, (route.path, minor)
                before = document


@pytest.mark.parametrize("schema", [CREATE, UPDATE])
def test_what_a_server_may_have_since_2_96_it_has_at_the_newest(schema):
    def names(minor):
        return set(schema.document(minor)["properties"]["server"]["properties"])

    assert names(96) <= names(microversions.MAXIMUM)


def test_since_2_102_every_query_of_compute_is_strict():
    for route in ROUTES:
        if route.path.startswith("/v2.1") and route.until >= 102:
            strict = route.query.document(microversions.MAXIMUM)["additionalProperties"]
            assert strict is False, route.path
