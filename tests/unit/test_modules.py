"""Where things are: one name for one class, no crumbs of modules, a map in every package."""

import ast
import collections
import functools
import pathlib
import re

import roost

ROOT = pathlib.Path(roost.__file__).parent
FEW = 40  # lines
REVISIONS = re.compile(r"^migrations/\w+/")  # a file each, found by Alembic
_GROUP = "the options of one group, as operators find them"
_PROCESS = "what a process begins with"
# Small modules that no second one imports, and why each stays.
SEAMS = {
    **{
        f"conf/{name}.py": _GROUP
        for name in ("bus", "cells", "database", "devices", "glance", "network")
    },
    **{f"conf/{name}.py": _GROUP for name in ("pci", "quota", "servicegroup")},
    "cmd/conductor.py": _PROCESS,
    "cmd/scheduler_db_sync.py": _PROCESS,
    "rig/serve.py": _PROCESS,
    "rig/openstack/tables.py": _PROCESS,
    "conductor/super/manager.py": "what super-conductors serve over RPC",
    "migrations/upgrade.py": "keeps Alembic out of the daemons",
    "objects/notification.py": "payloads on the wire",
}


@functools.cache
def _trees():
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for path in ROOT.rglob("*.py")
    }


def test_no_two_public_classes_share_a_name():
    found = collections.defaultdict(list)
    for path, tree in _trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_module_of_few_lines_has_several_callers_or_says_why_not():
    callers = _callers()
    crumbs = {
        path
        for path in _trees()
        if not path.endswith("__init__.py")
        and not REVISIONS.search(path)
        and len((ROOT / path).read_text().splitlines()) < FEW
        and len(callers[path]) < 2
    }
    assert crumbs == {*SEAMS}


def _callers():
    """Return which modules import each, by their paths."""
    found = collections.defaultdict(set)
    for path, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    for name in (node.module, f"{node.module}.{alias.name}"):
                        found[f"{name.removeprefix('roost.').replace('.', '/')}.py"].add(path)
    return found


def test_every_package_has_a_map_of_itself():
    without = [
        path
        for path, tree in _trees().items()
        if path.endswith("__init__.py")
        and not REVISIONS.search(path)
        and len((ast.get_docstring(tree) or "").splitlines()) < 3
    ]
    assert without == []
