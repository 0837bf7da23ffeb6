"""Every transaction that writes is run again when its database loses it, or says why not."""

import ast
import pathlib

import roost

ROOT = pathlib.Path(roost.__file__).parent
# commands are repeated by who gave them, the rig builds from nothing, and db/ is what it is about
OTHERS = ("cmd", "rig", "db", "migrations")
NOT_AGAIN = {
    "api/compute/flavors.py:_add": "done again it would be refused as given",
    "api/compute/flavors.py:_remove": "done again it would be refused as missing",
    "api/compute/flavors.py:create": "done again it would be refused as taken",
    "api/compute/flavors.py:delete": "done again it would be refused as missing",
    "api/compute/flavor_extra_specs.py:delete": "done again it would be refused as missing",
}


def steps(tree):
    """Yield the innermost functions that begin a transaction, with those around them."""
    found = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "begin":
                    found.setdefault(call.lineno, []).append(function)
    yield from found.values()


def is_retried(functions, source):
    """Tell whether one is decorated, or handed to the decorator by its name."""
    decorated = any(
        ast.unparse(decorator).endswith("retried")
        for function in functions
        for decorator in function.decorator_list
    )
    handed = any(f"retried({name}" in source for name in _names(functions))
    return decorated or handed


def _names(functions):
    return [name for each in functions for name in (each.name, f"self.{each.name}")]


def test_every_transaction_that_writes_is_retried_or_says_why_not():
    single = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name.partition("/")[0] in OTHERS:
            continue
        source = path.read_text()
        for functions in steps(ast.parse(source)):
            if not is_retried(functions, source):
                single[f"{name}:{functions[-1].name}"] = functions[-1].lineno
    assert set(single) == set(NOT_AGAIN)
