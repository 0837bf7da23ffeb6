"""What is reached inside oslo.messaging is there, in the release that is declared."""

import ast
import inspect

import amqp.exceptions
import kombu.exceptions
import oslo_messaging
import pytest
from oslo_messaging._drivers import amqp as oslo_amqp
from oslo_messaging._drivers import common

from roost import conf, exception
from roost.rpc import oslo_driver
from roost.rpc.compute import Compute
from roost.rpc.transport import Bus
from tests.builders import a_context

_LIBRARIES = (amqp.exceptions, kombu.exceptions, oslo_messaging.exceptions, common, oslo_amqp)
THEIRS = sorted(
    {
        kind
        for module in _LIBRARIES
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and not issubclass(kind, Warning)
        if kind.__module__.partition(".")[0] in ("amqp", "kombu", "oslo_messaging")
    },
    key=lambda kind: (kind.__module__, kind.__name__),
)


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


def _one_of(kind, words=()):
    try:
        return kind(*words)
    except TypeError:
        return _one_of(kind, [*words, "no"])


@pytest.mark.parametrize("kind", THEIRS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_whatever_libraries_raise_while_something_is_sent_is_one_kind_of_ours(kind, monkeypatch):
    """As where a virtual host is gone: the first connection fails as it is made."""

    def fail(*_arguments, **_named):
        raise _one_of(kind)

    monkeypatch.setattr(kombu.Connection, "ensure_connection", fail)
    bus = Bus(conf.of({}), "rabbit://u:p@127.0.0.1:1/cell1")
    with pytest.raises(exception.Unavailable):
        Compute(bus).on("h1").refresh_security_groups(a_context(), project_id="p")
    bus.close()
