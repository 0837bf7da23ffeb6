"""What a distribution of a part of the tree imports is in it, or in one that it needs."""

import ast
import importlib.metadata
import pathlib
import re
import runpy
import sys

import pytest

SUBSET = runpy.run_path(str(pathlib.Path(__file__).parents[2] / "packages" / "subset.py"))
DISTRIBUTIONS = SUBSET["DISTRIBUTIONS"]
# Imported in functions that a scheduler does not call: for samples of all options, for Keystone.
ELSEWHERE = {
    "roost.api",
    "roost.api.keystone_auth",
    "roost.cmd._wsgi_middleware",
    "roost.conf.identity",
}


def chain(name):
    """A distribution, and what it stands on."""
    above = DISTRIBUTIONS[name].above
    return [name, *(chain(above) if above else [])]


def imports(path):
    """Yield all names that a module imports, anywhere: ``a.b`` or, of ``from a import b``, both."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported(name):
    """What the modules of a distribution import, by name: the modules that do."""
    found = {}
    for module, path in DISTRIBUTIONS[name].files():
        for one in imports(path):
            found.setdefault(one, set()).add(module)
    return found


def modules_of(name):
    return {module for one in chain(name) for module, _path in DISTRIBUTIONS[one].files()}


TREE = {module for module, _path in SUBSET["Subset"]("", ("roost", "roost.*"), ()).files()}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_no_module_is_missing(name):
    there = modules_of(name) | ELSEWHERE
    missing = {one: who for one, who in imported(name).items() if one in TREE and one not in there}
    assert missing == {}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_libraries_that_are_imported_are_those_that_are_required(name):
    providers = importlib.metadata.packages_distributions()
    used = {one.partition(".")[0] for one in imported(name)} - {"roost", *sys.stdlib_module_names}
    needed = {dist.lower().replace("_", "-") for one in used for dist in providers[one]}
    stated = {
        re.split(r"[\[<>=]", one)[0].lower()
        for each in chain(name)
        for one in SUBSET["described"](each)["install_requires"]
    }
    assert needed - stated == set()


def test_no_module_is_in_two_distributions():
    first, second = ({module for module, _ in each.files()} for each in DISTRIBUTIONS.values())
    assert first & second == set()


def test_every_plug_in_of_the_scheduler_is_there():
    points = SUBSET["described"]("roost-scheduler")["entry_points"]
    assert {"roost.scheduler.drivers", "roost.scheduler.filters"} < set(points)
    classes = [point.partition("= ")[2] for group in points.values() for point in group]
    assert {one.partition(":")[0] for one in classes} <= modules_of("roost-scheduler")
