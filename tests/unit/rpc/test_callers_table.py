"""The document's table of who may call what has all interfaces."""

import ast
import pathlib

from tests.rpc_methods import INTERFACES

DOCUMENT = pathlib.Path(__file__).parents[3] / "doc/ext/callers.py"


def test_the_table_of_callers_has_every_interface():
    """Read as it is written: what makes documents need not be installed."""
    (named,) = [
        node.value.elts
        for node in ast.parse(DOCUMENT.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INTERFACES"
    ]
    assert sorted(each.id for each in named) == sorted(each.__name__ for each in INTERFACES)
