"""What is reached inside oslo.messaging is there, in the release that is declared."""

import ast
import inspect

import pytest

from roost import conf, exception
from roost.rpc import oslo_driver
from roost.rpc.transport import Bus


def _private_names(module):
    """Return what a module reaches of others by private names, of itself not."""
    tree = ast.parse(inspect.getsource(module))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and node.attr[1] != "_":
            base = node.value
            if not (isinstance(base, ast.Name) and base.id == "self" and node.attr in own):
                yield node.attr


def test_all_is_there():
    assert oslo_driver.missing() == []


def test_what_is_reached_is_listed():
    listed = {name for names in oslo_driver.REACHED.values() for name in names}
    assert set(_private_names(oslo_driver)) <= listed


def test_a_daemon_does_not_start_with_another_oslo_messaging(monkeypatch):
    reached = {oslo_driver.impl_rabbit.Connection: ("_publish", "_no_more")}
    monkeypatch.setattr(oslo_driver, "REACHED", reached)
    oslo_driver.check.cache_clear()
    with pytest.raises(exception.Unsupported, match=r"18\.3.* lacks Connection\._no_more: install"):
        Bus(conf.of({}), "fake://nowhere/")
    monkeypatch.undo()
    oslo_driver.check()
