"""What is imported is declared: no package is there only because another one happens to need it."""

import ast
import configparser
import pathlib
import re
import sys
from importlib import metadata

TOP = pathlib.Path(__file__).parents[2]
_OPTIONAL = {"libvirt-python", "os-vif", "matplotlib", "redis", "supervisor"}  # as extras


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def _declared():
    config = configparser.ConfigParser(inline_comment_prefixes=("#",))
    config.read(TOP / "setup.cfg")
    lines = config["options"]["install_requires"].splitlines()
    return {_normal(re.match(r"[\w.-]+", line)[0]) for line in lines if line.strip()} | _OPTIONAL


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _modules():
    """Return our modules; but those of services that run in an environment of their own."""
    apart = TOP / "roost" / "rig" / "openstack"
    return [path for path in (TOP / "roost").rglob("*.py") if apart not in path.parents]


def test_every_package_that_is_imported_is_declared():
    modules = {name for path in _modules() for name in _imports(path)}
    outside = modules - sys.stdlib_module_names - {"roost", "__future__"}
    packages = metadata.packages_distributions()
    unknown = {name for name in outside if name not in packages}
    assert unknown == set()
    declared = _declared()
    undeclared = {name for name in outside if declared.isdisjoint(map(_normal, packages[name]))}
    assert undeclared == set()
